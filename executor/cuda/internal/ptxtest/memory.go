package ptxtest

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Spaces other than global memory begin where no offset of another leads.
const (
	parameterBase = 1 << 16
	sharedBase    = 1 << 20
	localBase     = 1 << 24
	localSpace    = 1 << 16
	localWindow   = 1 << 40 // from a local address to the generic one
)

// region is an allocation of a device or of the host.
type region struct {
	at     uint64
	size   uint64
	bytes  []byte // to the end of the last line
	device int    // -1: the host's
}

// lineBytes is the size of a cache line.
const lineBytes = 128

// memory is all allocations, by address.
type memory struct {
	regions []*region
	next    uint64
	last    *region
}

// alloc returns a region with a gap around it.
func (m *memory) alloc(size uint64, device int) *region {
	const apart = 1 << 16
	if m.next == 0 {
		m.next = 0x7f1000000000
	}
	r := &region{at: m.next, size: size, device: device, bytes: make([]byte, (size+lineBytes-1)/lineBytes*lineBytes)}
	for i := range r.bytes {
		r.bytes[i] = 0xee
	}
	m.next += (size + 2*apart) / apart * apart
	m.regions = append(m.regions, r)
	return r
}

func (m *memory) free(at uint64) bool {
	i := slices.IndexFunc(m.regions, func(r *region) bool { return r.at == at })
	if i < 0 {
		return false
	}
	m.regions = slices.Delete(m.regions, i, i+1)
	m.last = nil
	return true
}

// find returns the region that contains n bytes; nil if none does.
func (m *memory) find(at, n uint64) *region {
	inside := func(r *region) bool { return at >= r.at && at-r.at < r.size && n <= r.size-(at-r.at) }
	if m.last != nil && inside(m.last) {
		return m.last
	}
	i, exact := slices.BinarySearchFunc(m.regions, at, func(r *region, at uint64) int {
		switch {
		case r.at < at:
			return -1
		case r.at > at:
			return 1
		}
		return 0
	})
	if !exact {
		i--
	}
	if i < 0 || i == len(m.regions) || !inside(m.regions[i]) {
		return nil
	}
	m.last = m.regions[i]
	return m.last
}

// aligned faults if an address is not a multiple of the access's size.
func (t *thread) aligned(at uint64, n int) {
	if at%uint64(n) != 0 {
		panic(fault(fmt.Sprintf("%d bytes at %#x, which is not aligned to them", n, at)))
	}
}

// own returns bytes of the local, shared and parameter spaces; known is nil if all of them
// were written.
func (t *thread) own(space string, at uint64, n int) (b, known []byte) {
	var base uint64
	switch space {
	case "param":
		base, b = parameterBase, t.block.grid.parameter
	case "shared":
		base, b, known = sharedBase, t.block.shared, t.block.sharedKnown
	case "local":
		base, b, known = localBase, t.local, t.localKnown
	}
	if at < base || at-base > uint64(len(b)) || uint64(n) > uint64(len(b))-(at-base) {
		panic(fault(fmt.Sprintf("%d bytes at %#x of %s memory, which has %d from %#x on", n, at, space, len(b), base)))
	}
	from := at - base
	if known != nil {
		known = known[from:][:n]
	}
	return b[from:][:n], known
}

// spaceOf returns the space and offset of a generic address.
func spaceOf(a *access, at uint64) (string, uint64) {
	switch {
	case a.space != "":
		return a.space, at
	case at >= localWindow+localBase && at < localWindow+localBase+localSpace:
		return "local", at - localWindow
	}
	return "global", at
}

func (t *thread) load(a *access, slots []int, at uint64) {
	n := a.bytes()
	t.aligned(at, n)
	var b, known []byte
	var held [16]byte
	space, at := spaceOf(a, at)
	if space == "global" {
		t.globally(a, at, n)
		b = t.block.read(a, at, held[:n])
	} else {
		b, known = t.own(space, at, n)
	}
	size := a.t.bits / 8
	for k, d := range slots {
		t.r[d] = a.wide[k].cut(a.t.wide(word(b[k*size:], size)))
		t.known[d] = 1
		if known != nil {
			for _, one := range known[k*size:][:size] {
				t.known[d] &= one
			}
		}
	}
}

func (t *thread) store(a *access, slots []int, at uint64) {
	n := a.bytes()
	t.aligned(at, n)
	space, at := spaceOf(a, at)
	size := a.t.bits / 8
	if space != "global" {
		b, known := t.own(space, at, n)
		for k, s := range slots {
			putWord(b[k*size:], size, t.r[s])
			for i := range known[k*size:][:size] {
				known[k*size+i] = t.known[s]
			}
		}
		return
	}
	var held [16]byte
	for k, s := range slots {
		if t.known[s] == 0 {
			panic(fault("what was never written is stored where others read it"))
		}
		putWord(held[k*size:], size, t.r[s])
	}
	t.globally(a, at, n)
	t.block.write(a, at, held[:n])
}

// globally faults if a device may not access the region, or if the scope of the access's
// order does not include it.
func (t *thread) globally(a *access, at uint64, n int) *region {
	g := t.block.grid
	r := g.machine.memory.find(at, uint64(n))
	if r == nil {
		panic(fault(fmt.Sprintf("%d bytes at %#x, which were not allocated", n, at)))
	}
	if r.device >= 0 && r.device != g.device {
		if !g.machine.reaches[[2]int{g.device, r.device}] {
			panic(fault(fmt.Sprintf("memory of device %d, which device %d does not reach", r.device, g.device)))
		}
		if a.strength != "" && !a.system {
			panic(fault(fmt.Sprintf("an access of scope gpu to memory of device %d from device %d", r.device, g.device)))
		}
	}
	return r
}

func word(b []byte, size int) uint64 {
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}

func putWord(b []byte, size int, v uint64) {
	switch size {
	case 1:
		b[0] = byte(v)
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, v)
	}
}
