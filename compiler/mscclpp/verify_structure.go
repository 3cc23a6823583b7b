package mscclpp

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
)

// structure checks that every number of a plan is within the range of what it
// counts or refers to. Later stages then index without checking.
type structure struct {
	p      *Plan
	r      *verify.Report
	linked func(a, b int) bool // nil: all are
	sizes  [][3]int            // chunks of in, out and scratch, by GPU
	places int                 // examined so far
}

func (s *structure) bad(gpu, tb, op int, format string, args ...any) {
	s.r.Add(verify.Finding{Kind: verify.Malformed, Severity: verify.Error, GPU: gpu, Threadblock: tb, Step: op, Message: fmt.Sprintf(format, args...)})
}

func (s *structure) check() {
	if n := len(s.p.GPUs); n == 0 || n > maxRanks {
		s.bad(-1, -1, -1, "%d gpus: want 1 to %d", n, maxRanks)
		return
	}
	chunks := 0
	for g := range s.p.GPUs {
		gpu := &s.p.GPUs[g]
		if chunks += gpu.In + gpu.Out + gpu.Scratch; chunks > maxCells {
			s.r.Add(verify.Finding{Kind: verify.Limit, Severity: verify.Error, GPU: -1, Threadblock: -1, Step: -1,
				Message: fmt.Sprintf("more than %d chunks in all buffers: no more are verified", maxCells)})
			return
		}
	}
	s.p.link()
	plain, judged, err := s.p.collective(1)
	if err != nil {
		s.bad(-1, -1, -1, "%v", err)
		return
	}
	for g := range s.p.GPUs {
		gpu := &s.p.GPUs[g]
		size := [3]int{gpu.In, gpu.Out, gpu.Scratch}
		if judged {
			// A plan declares 0 chunks for a buffer that it does not use under its
			// own name.
			size[collective.In] = max(gpu.In, plain.InChunks(g))
			size[collective.Out] = max(gpu.Out, plain.OutChunks(g))
		}
		s.sizes = append(s.sizes, size)
		if gpu.ID != g {
			s.bad(g, -1, -1, "id %d: want %d, its place in the list", gpu.ID, g)
		}
		s.gpu(g)
	}
	if !s.r.OK() {
		return
	}
	for g := range s.p.GPUs {
		for t := range s.p.GPUs[g].Threadblocks {
			s.threadblock(g, t)
		}
	}
	if s.r.OK() {
		s.barriers()
	}
}

func (s *structure) gpu(g int) {
	gpu := &s.p.GPUs[g]
	rank := func(what string, n int) {
		if n >= len(s.p.GPUs) || n == g {
			s.bad(g, -1, -1, "%s %d: want another rank below %d", what, n, len(s.p.GPUs))
		}
	}
	for i := range gpu.Channels {
		c := &gpu.Channels[i]
		for _, peer := range c.Peers {
			rank(fmt.Sprintf("%s channel to rank", c.Type), peer)
			if s.linked != nil && s.r.OK() && !s.linked(g, peer) {
				s.bad(g, -1, -1, "%s channel to rank %d: it has no link there", c.Type, peer)
			}
		}
		for _, group := range c.Groups {
			own := false
			seen := map[int]bool{}
			for _, r := range group.Ranks {
				if r >= len(s.p.GPUs) || seen[r] {
					s.bad(g, -1, -1, "switch channel over rank %d: want each rank once, below %d", r, len(s.p.GPUs))
					return
				}
				seen[r], own = true, own || r == g
			}
			if !own {
				s.bad(g, -1, -1, "switch channel over ranks %v, of which it is none", group.Ranks)
			}
		}
	}
	for i := range gpu.RemoteBuffers {
		rank("remote buffer of rank", gpu.RemoteBuffers[i].Rank)
	}
}

func (s *structure) threadblock(g, t int) {
	gpu := &s.p.GPUs[g]
	tb := &gpu.Threadblocks[t]
	if tb.ID != t {
		s.bad(g, t, -1, "id %d: want %d, its place in the list", tb.ID, t)
	}
	for _, refs := range tb.Channels {
		n := len(gpu.switches)
		if refs.Type != Switch {
			n = len(gpu.peers[refs.Type])
		}
		for _, id := range refs.IDs {
			if id >= n {
				s.bad(g, t, -1, "%s channel %d: gpu %d has %d", refs.Type, id, g, n)
				return
			}
		}
	}
	for _, refs := range tb.Buffers {
		for _, id := range refs.IDs {
			if id >= len(gpu.RemoteBuffers) {
				s.bad(g, t, -1, "remote buffer %d: gpu %d has %d", id, g, len(gpu.RemoteBuffers))
				return
			}
			if !slices.Contains(gpu.RemoteBuffers[id].Access, refs.Type) {
				s.bad(g, t, -1, "remote buffer %d over %s channels: it is not for them", id, refs.Type)
				return
			}
		}
	}
	at := 0
	for i := range tb.Ops {
		op := &tb.Ops[i]
		s.op(g, t, at, op)
		at++
		for j := range op.Ops {
			if op.Ops[j].Kind.moving() && op.Ops[j].Slices == 1 {
				for _, ref := range slices.Concat(op.Ops[j].Src, op.Ops[j].Dst) {
					if ref.Size < op.Chunks {
						s.bad(g, t, at, "%s of %d chunks in a pipeline over %d: its last passes lie beyond", op.Ops[j].Kind.Name, ref.Size, op.Chunks)
						break
					}
				}
			}
			s.op(g, t, at, &op.Ops[j])
			at++
		}
	}
}

// op checks one operation: what it refers to, and what its kind requires.
func (s *structure) op(g, t, at int, op *Op) {
	tb := &s.p.GPUs[g].Threadblocks[t]
	k := op.Kind
	bad := func(format string, args ...any) {
		s.bad(g, t, at, "%s: %s", k.Name, fmt.Sprintf(format, args...))
	}
	if k.effect == unknown {
		bad("unknown operation")
		return
	}
	if k.port && op.Type != Port {
		bad("%s channels: want port", op.Type)
		return
	}
	channels := len(tb.channels[op.Type])
	for _, c := range op.Channels {
		if c >= channels {
			bad("channel_ids %d: the threadblock has %d %s channels", c, channels, op.Type)
			return
		}
	}
	switch k.effect {
	case signals, waits, flushes:
		if op.Type != Memory && op.Type != Port {
			bad("%s channels: want memory or port", op.Type)
		}
		if len(op.Channels) == 0 {
			bad("no channel")
		}
	case acquires, releases:
		if len(op.Semaphores) == 0 {
			bad("no semaphore")
		}
		for _, id := range op.Semaphores {
			if n := len(s.p.GPUs[g].Semaphores); id >= n {
				bad("semaphore %d: gpu %d has %d", id, g, n)
			}
		}
	case meets:
		if op.Members == 0 {
			bad("no num_threadblocks")
		}
	case pairs, moves:
		s.moving(g, t, at, op, bad)
	}
}

// moving checks the places of an operation that moves data.
func (s *structure) moving(g, t, at int, op *Op, bad func(string, ...any)) {
	k := op.Kind
	for _, side := range [...]struct {
		name    string
		pattern string
		refs    []Ref
		of      func(int) byte
	}{{"src_buff", k.src, op.Src, op.source}, {"dst_buff", k.dst, op.Dst, op.target}} {
		if len(side.refs) < patternLength(side.pattern) {
			bad("%d places in %s: want %d", len(side.refs), side.name, patternLength(side.pattern))
			return
		}
		for i := range side.refs {
			letter := side.of(i)
			if letter == 0 {
				bad("%d places in %s: want %d", len(side.refs), side.name, patternLength(side.pattern))
				return
			}
			if !s.place(g, t, op, &side.refs[i], side.name, i, letter, bad) {
				return
			}
		}
	}
	if k.effect == pairs && len(op.Src) != len(op.Dst) {
		bad("%d sources and %d destinations: want as many", len(op.Src), len(op.Dst))
		return
	}
	n := op.moved()
	for _, ref := range slices.Concat(op.Src, op.Dst) {
		if ref.Size != n {
			bad("places of %d and of %d chunks: want one size", n, ref.Size)
			return
		}
	}
	if n == 0 {
		bad("no chunks")
	}
	if op.Type == Port && len(op.Channels) != len(op.Dst) {
		bad("%d port channels for %d destinations: want as many", len(op.Channels), len(op.Dst))
	}
}

// place checks that one place is of the kind that its letter requires, and lies
// within its buffer.
func (s *structure) place(g, t int, op *Op, ref *Ref, side string, i int, letter byte, bad func(string, ...any)) bool {
	gpu := &s.p.GPUs[g]
	tb := &gpu.Threadblocks[t]
	if want := place(letter); ref.Place != want {
		bad("%s %d is %s: want %s", side, i, placeNames[ref.Place], placeNames[want])
		return false
	}
	switch ref.Place {
	case Remote:
		if op.Type != Memory && op.Type != Port {
			bad("a remote buffer over %s channels: want memory or port", op.Type)
			return false
		}
		if n := len(tb.buffers[op.Type]); ref.ID >= n {
			bad("buffer_id %d: the threadblock has %d remote buffers over %s channels", ref.ID, n, op.Type)
			return false
		}
	case OnSwitch:
		if n := len(tb.channels[Switch]); ref.ID >= n {
			bad("switch_channel_id %d: the threadblock has %d switch channels", ref.ID, n)
			return false
		}
	}
	buffer, ranks := s.p.place(g, t, op, ref)
	if packet(letter) {
		if buffer != collective.Scratch {
			bad("packets in %s: want scratch", buffer)
			return false
		}
		if s.p.Protocol != "LL" {
			bad("packets under protocol %s: only LL has room for them in scratch", s.p.Protocol)
			return false
		}
	}
	if s.p.DoubleScratch && buffer == collective.Scratch && !s.half(g, op, ref, letter, ranks, bad) {
		return false
	}
	if s.places += len(ranks); s.places > maxPlaces {
		bad("more than %d places: no more are verified", maxPlaces)
		return false
	}
	for _, rank := range ranks {
		n := s.sizes[rank][buffer]
		if buffer == collective.Scratch && s.p.Protocol == "LL" && !packet(letter) {
			n *= 2 // packets take twice the room, for their flags
		}
		if ref.Index+ref.Size > n {
			bad("%s[%d:%d] of gpu %d, which holds %d chunks", buffer, ref.Index, ref.Index+ref.Size, rank, n)
			return false
		}
	}
	return true
}

// half checks a place in scratch for launches that alternate between two halves:
// it must be in the launch's own half. A rank computes the half of another from
// the size of its own scratch, and does so only for packets. Anything else that is
// put into remote scratch, or handed to a port from its own, is in the first half.
func (s *structure) half(g int, op *Op, ref *Ref, letter byte, ranks []int, bad func(string, ...any)) bool {
	if !packet(letter) {
		if ref.Place == Local && op.Type != Port {
			return true
		}
		bad("scratch in two halves: the runtime finds the second of packets alone")
		return false
	}
	for _, rank := range ranks {
		if own, there := s.p.GPUs[g].Scratch, s.p.GPUs[rank].Scratch; own != there {
			bad("packets in the scratch of gpu %d, which holds %d chunks: the runtime finds its second half by gpu %d's own, which holds %d", rank, there, g, own)
			return false
		}
	}
	return true
}

var placeNames = [...]string{Local: "of its own buffers", Remote: "a remote buffer", OnSwitch: "on a switch channel"}

// barriers checks that a barrier is for as many threadblocks as contain it.
func (s *structure) barriers() {
	for g := range s.p.GPUs {
		in := map[int]map[int]bool{}
		each := func(f func(t, at int, op *Op)) {
			for t := range s.p.GPUs[g].Threadblocks {
				s.p.GPUs[g].Threadblocks[t].each(func(at int, op *Op) {
					if op.Kind.effect == meets {
						f(t, at, op)
					}
				})
			}
		}
		each(func(t, _ int, op *Op) {
			if in[op.Barrier] == nil {
				in[op.Barrier] = map[int]bool{}
			}
			in[op.Barrier][t] = true
		})
		each(func(t, at int, op *Op) {
			if n := len(in[op.Barrier]); op.Members != n && op.Members > 1 {
				s.bad(g, t, at, "barrier %d of %d threadblocks, and %d come to it", op.Barrier, op.Members, n)
			}
		})
	}
}
