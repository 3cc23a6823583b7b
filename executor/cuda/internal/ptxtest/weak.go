package ptxtest

// A block's view of weak global memory: its own stores at once, those of others when they
// have arrived, and lines that it has read before as they were then.
//
//	plain store      waits with the block, and arrives when it is drawn
//	strong store     arrives at once, before plain ones that do not overlap it
//	plain load       from a cached line, if there is one
//	strong load      from memory
//	acquiring load   the same, and drops all cached lines
//	fence            all waiting stores arrive, and cached lines are dropped
//
// A fence of one thread counts for all of its block, as on the hardware after a barrier: a
// missing barrier is found by the scheduler, not here.

// late is a plain store that is not yet visible to others.
type late struct {
	at    uint64
	bytes [16]byte
	n     int
}

// maxLate is the most such stores of a block.
const maxLate = 48

func (l *late) overlaps(at uint64, n int) bool { return at < l.at+uint64(l.n) && l.at < at+uint64(n) }

// arrive makes a store visible to all, after the earlier ones that it overlaps.
func (b *block) arrive(k int) {
	for i := 0; i < k; {
		if !b.late[i].overlaps(b.late[k].at, b.late[k].n) {
			i++
			continue
		}
		before := len(b.late)
		b.arrive(i)
		k -= before - len(b.late)
		i = 0
	}
	b.grid.machine.put(b.late[k].at, b.late[k].bytes[:b.late[k].n])
	b.late = append(b.late[:k], b.late[k+1:]...)
}

// own overlays bytes that were read with the block's own stores.
func (b *block) own(at uint64, into []byte) {
	for k := range b.late { // in their order
		one := &b.late[k]
		if !one.overlaps(at, len(into)) {
			continue
		}
		for i := range one.n {
			if x := one.at + uint64(i); x >= at && x < at+uint64(len(into)) {
				into[x-at] = one.bytes[i]
			}
		}
	}
}

func (b *block) fence() {
	for len(b.late) > 0 {
		b.arrive(0)
	}
	clear(b.lines)
}

// drift makes some of the held stores visible, in any order.
func (b *block) drift() {
	random := b.grid.machine.random
	for len(b.late) > 0 && random.IntN(8) == 0 {
		b.arrive(random.IntN(len(b.late)))
	}
	if len(b.lines) > 0 && random.IntN(64) == 0 {
		clear(b.lines)
	}
}

func (m *Machine) put(at uint64, bytes []byte) {
	r := m.memory.find(at, uint64(len(bytes)))
	copy(r.bytes[at-r.at:], bytes)
}

// write is a store to global memory.
func (b *block) write(a *access, at uint64, bytes []byte) {
	m := b.grid.machine
	if !m.Weak {
		m.put(at, bytes)
		return
	}
	if line := b.lines[at/lineBytes]; line != nil {
		copy(line[at%lineBytes:], bytes)
	}
	if a.strength == "" {
		one := late{at: at, n: len(bytes)}
		copy(one.bytes[:], bytes)
		b.late = append(b.late, one)
		if len(b.late) > maxLate {
			b.arrive(m.random.IntN(len(b.late)))
		}
		return
	}
	for k := 0; k < len(b.late); k++ {
		if b.late[k].overlaps(at, len(bytes)) {
			b.arrive(k)
			k = -1
		}
	}
	m.put(at, bytes)
}

// read is a load from global memory.
func (b *block) read(a *access, at uint64, into []byte) []byte {
	m := b.grid.machine
	r := m.memory.find(at, uint64(len(into)))
	from := r.bytes[at-r.at:][:len(into)]
	if !m.Weak {
		return from
	}
	if a.strength == "acquire" {
		clear(b.lines)
	}
	if a.strength == "" {
		line := b.lines[at/lineBytes]
		if line == nil && m.random.IntN(2) == 0 && r.at%lineBytes == 0 {
			line = new([lineBytes]byte)
			copy(line[:], r.bytes[(at-r.at)/lineBytes*lineBytes:])
			b.own(at/lineBytes*lineBytes, line[:])
			b.lines[at/lineBytes] = line
		}
		if line != nil {
			from = line[at%lineBytes:][:len(into)]
		}
	}
	copy(into, from)
	b.own(at, into)
	return into
}
