package msccl

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// rule is a reason why a runtime would not load a file, never use it, or
// compute a wrong result. It returns the first violation with its place, or "".
type rule struct {
	name  string
	check func(f *File, rt *Runtime) string
}

// rules are checked for every file and runtime. Readers check some of them;
// violations of the others make them hang or compute wrong results.
var rules = []rule{
	{"reader of XML", func(f *File, _ *Runtime) string {
		if len(f.Notes) > 0 {
			return fmt.Sprintf("line %d: %s", f.Notes[0].Line, f.Notes[0].Message)
		}
		return ""
	}},
	{"attributes", func(f *File, rt *Runtime) string {
		var lacks []string
		for _, a := range f.Missing {
			if rt.needs(a) {
				lacks = append(lacks, a)
			}
		}
		if len(lacks) > 0 {
			return "attribute " + strings.Join(lacks, ", ") + " of algo missing"
		}
		return ""
	}},
	{"collective", func(f *File, rt *Runtime) string {
		for _, name := range rt.Collectives {
			if name == f.Coll {
				return ""
			}
		}
		if name, ok := rt.Collectives[canonical(f.Coll)]; ok {
			return fmt.Sprintf("collective %s, which it calls %s", f.Coll, name)
		}
		return fmt.Sprintf("collective %s, which it does not have", f.Coll)
	}},
	{"placement", func(f *File, rt *Runtime) string {
		if !rt.OnePlacement && isZero(f.InPlace) && isZero(f.OutOfPlace) {
			return "neither for in-place nor for out-of-place calls"
		}
		return ""
	}},
	{"size range", func(f *File, rt *Runtime) string {
		s := rt.serves(f)
		// The smallest element is a byte.
		g := f.granularity(1)
		if s.min > s.max {
			return fmt.Sprintf("its sizes, from %d bytes to %d, are none", s.min, s.max)
		}
		if s.max < g || s.max-s.max%g < s.min {
			return fmt.Sprintf("no size of %d to %d bytes divides into %d chunks", s.min, s.max, f.NChunksPerLoop)
		}
		return ""
	}},
	{"threads", func(f *File, rt *Runtime) string {
		if !rt.OnePlacement || f.NThreads == nil {
			return ""
		}
		n := *f.NThreads
		if n < 0 || n%32 != 0 {
			return fmt.Sprintf("nthreads %d: want a multiple of 32", n)
		}
		// Simple keeps 32 threads for the connections; the others move 8 bytes each.
		if turn := 8 * (n - 32); f.Proto == "Simple" && n < maxThreads && (turn <= 0 || rt.Tiles["Simple"]%turn != 0) {
			return fmt.Sprintf("nthreads %d: Simple moves a tile of %d bytes in turns of 8 bytes for each thread but 32, which do not divide it", n, rt.Tiles["Simple"])
		}
		return ""
	}},
	{"channels", func(f *File, rt *Runtime) string {
		if f.NChannels > rt.MaxChannels {
			return fmt.Sprintf("%d channels: at most %d", f.NChannels, rt.MaxChannels)
		}
		return f.eachThreadblock(func(_ int, tb *Threadblock) string {
			if tb.Chan < 0 || tb.Chan >= f.NChannels {
				return fmt.Sprintf("channel %d: nchannels is %d", tb.Chan, f.NChannels)
			}
			return ""
		})
	}},
	{"threadblocks", func(f *File, rt *Runtime) string {
		for g := range f.GPUs {
			if n := len(f.GPUs[g].Threadblocks); n > rt.MaxThreadblocks {
				return tooManyThreadblocks(g, n, rt)
			}
		}
		return ""
	}},
	{"peers", func(f *File, _ *Runtime) string {
		return f.eachThreadblock(func(g int, tb *Threadblock) string {
			for _, peer := range [...]int{tb.Send, tb.Recv} {
				if peer < -1 || peer >= f.NGPUs || peer == g {
					return fmt.Sprintf("peer %d: want another rank below %d, or -1", peer, f.NGPUs)
				}
			}
			return ""
		})
	}},
	{"peers of a channel", peersOfChannel},
	{"steps", func(f *File, rt *Runtime) string {
		return f.eachThreadblock(func(_ int, tb *Threadblock) string {
			if n := len(tb.Steps); n > rt.MaxSteps {
				return fmt.Sprintf("%d steps: at most %d", n, rt.MaxSteps)
			}
			return ""
		})
	}},
	{"elements", func(f *File, _ *Runtime) string {
		if len(f.GPUs) > maxChildren {
			return tooManyGPUs(len(f.GPUs))
		}
		for g := range f.GPUs {
			n := 1 + len(f.GPUs)
			for t := range f.GPUs[g].Threadblocks {
				n += 1 + len(f.GPUs[g].Threadblocks[t].Steps)
			}
			if n > maxNodes {
				return fmt.Sprintf("gpu %d: %d elements to keep: at most %d", g, n, maxNodes)
			}
		}
		return ""
	}},
	{"count", func(f *File, _ *Runtime) string {
		return f.eachStep(func(_ int, _ *Threadblock, _ int, s *Step) string {
			if s.Op != ir.Nop && (s.Count < 1 || s.Count > maxCount) {
				return fmt.Sprintf("cnt %d: want 1 to %d", s.Count, maxCount)
			}
			return ""
		})
	}},
	{"step numbers", func(f *File, _ *Runtime) string {
		return f.eachStep(func(_ int, _ *Threadblock, i int, s *Step) string {
			if int(s.S) != i {
				return fmt.Sprintf("s %d of the step that is number %d", s.S, i)
			}
			return ""
		})
	}},
	{"dependency", func(f *File, _ *Runtime) string {
		return f.eachStep(func(_ int, _ *Threadblock, _ int, s *Step) string {
			if s.DepID > maxDepID {
				return fmt.Sprintf("depid %d: at most %d fits where it is kept", s.DepID, maxDepID)
			}
			return ""
		})
	}},
	{"nop", nops},
	{"reduction", func(f *File, _ *Runtime) string {
		return f.eachStep(func(_ int, tb *Threadblock, i int, s *Step) string {
			if i > 0 && tb.Steps[i-1].mergesWith(s) && tb.Steps[i-1].Count != s.Count {
				return fmt.Sprintf("re of %d chunks right after one of %d to the same place: made in one go, of %d", s.Count, tb.Steps[i-1].Count, s.Count)
			}
			return ""
		})
	}},
	{"places", places},
	{"chunks of a buffer", func(f *File, rt *Runtime) string {
		if !rt.ChecksChunks {
			return ""
		}
		perIn, perOut := 1, 1
		switch canonical(f.Coll) {
		case "allgather":
			perIn = f.NGPUs
		case "reducescatter":
			perOut = f.NGPUs
		}
		for g := range f.GPUs {
			gpu := &f.GPUs[g]
			if gpu.In != 0 && gpu.In*perIn != f.NChunksPerLoop {
				return fmt.Sprintf("gpu %d: i_chunks %d does not make nchunksperloop %d", g, gpu.In, f.NChunksPerLoop)
			}
			if gpu.Out != 0 && gpu.Out*perOut != f.NChunksPerLoop {
				return fmt.Sprintf("gpu %d: o_chunks %d does not make nchunksperloop %d", g, gpu.Out, f.NChunksPerLoop)
			}
		}
		return ""
	}},
}

func (r *Runtime) needs(attribute string) bool {
	switch attribute {
	case "name":
		return r.NeedsName
	case "outofplace":
		return !r.OnePlacement
	case "minBytes", "maxBytes":
		return r.Ranges
	}
	return true
}

func isZero(n *int64) bool { return n == nil || *n == 0 }

// peersOfChannel checks the number of connections that a GPU has on one channel.
func peersOfChannel(f *File, _ *Runtime) string {
	for g := range f.GPUs {
		sends, receives := map[int]int{}, map[int]int{}
		for t := range f.GPUs[g].Threadblocks {
			tb := &f.GPUs[g].Threadblocks[t]
			if tb.Send >= 0 {
				sends[tb.Chan]++
			}
			if tb.Recv >= 0 {
				receives[tb.Chan]++
			}
			if n := max(sends[tb.Chan], receives[tb.Chan]); n > maxPerChannel {
				return fmt.Sprintf("gpu %d: more than %d threadblocks send, or receive, on channel %d", g, maxPerChannel, tb.Chan)
			}
		}
	}
	return ""
}

// nops checks that a nop carries a dependency for the step after it, which must
// have a dependency itself. A nop has no other effect, and posts no flag.
func nops(f *File, _ *Runtime) string {
	return f.eachStep(func(_ int, tb *Threadblock, i int, s *Step) string {
		switch {
		case s.Op != ir.Nop:
			if i > 0 && tb.Steps[i-1].Op == ir.Nop && s.DepID < 0 {
				return "waits for nothing itself, after a nop"
			}
		case s.DepID < 0:
			return "nop that waits for nothing: the steps after it are counted wrong"
		case s.HasDep:
			return "nop with hasdep: it posts no flag"
		case i == len(tb.Steps)-1:
			return "nop after the last step"
		}
		return ""
	})
}

// places checks a step's places against the chunks that the file gives the GPU.
func places(f *File, _ *Runtime) string {
	return f.eachStep(func(g int, _ *Threadblock, _ int, s *Step) string {
		gpu := &f.GPUs[g]
		size := [...]int{gpu.In, gpu.Out, gpu.Scratch}
		if s.Op.ReadsSrc() && int(s.SrcOff)+int(s.Count) > size[s.SrcBuf] {
			return fmt.Sprintf("srcoff %d and cnt %d: %c_chunks is %d", s.SrcOff, s.Count, letters[s.SrcBuf], size[s.SrcBuf])
		}
		if s.Op.WritesDst() && int(s.DstOff)+int(s.Count) > size[s.DstBuf] {
			return fmt.Sprintf("dstoff %d and cnt %d: %c_chunks is %d", s.DstOff, s.Count, letters[s.DstBuf], size[s.DstBuf])
		}
		return ""
	})
}

// eachThreadblock returns the first complaint about a threadblock, naming it.
func (f *File) eachThreadblock(check func(gpu int, tb *Threadblock) string) string {
	for g := range f.GPUs {
		for t := range f.GPUs[g].Threadblocks {
			if why := check(g, &f.GPUs[g].Threadblocks[t]); why != "" {
				return fmt.Sprintf("gpu %d threadblock %d: %s", g, t, why)
			}
		}
	}
	return ""
}

// eachStep returns the first complaint about a step, naming it.
func (f *File) eachStep(check func(gpu int, tb *Threadblock, i int, s *Step) string) string {
	for g := range f.GPUs {
		for t := range f.GPUs[g].Threadblocks {
			tb := &f.GPUs[g].Threadblocks[t]
			for i := range tb.Steps {
				if why := check(g, tb, i, &tb.Steps[i]); why != "" {
					return fmt.Sprintf("gpu %d threadblock %d step %d: %s", g, t, i, why)
				}
			}
		}
	}
	return ""
}

// Accepts reports whether a runtime would load the file and use it at some
// size, and if not, why: one reason for each rule.
func (f *File) Accepts(rt *Runtime) (ok bool, why []string) {
	for _, r := range rules {
		if reason := r.check(f, rt); reason != "" {
			why = append(why, reason)
		}
	}
	return len(why) == 0, why
}

// Accepts reports whether a runtime would load and use a program, written for all
// sizes under a protocol, and if not, why.
func Accepts(p *ir.Program, runtime, protocol string) (ok bool, why []string) {
	rt, err := Lookup(runtime)
	if err != nil {
		return false, []string{err.Error()}
	}
	if why := tooLarge(p, rt); len(why) > 0 {
		return false, why // without lowering it, which takes seconds for thousands of ranks
	}
	f, err := Lower(p, rt.allSizes(protocol))
	if err != nil {
		return false, []string{err.Error()}
	}
	return f.Accepts(rt)
}

// Readers returns the runtimes that would load and use a program, as Accepts says it of each
// under any of ir.Protocols, but lowers the program once for all of them.
func Readers(p *ir.Program) (names []string) {
	var steps *File
	for _, rt := range runtimes {
		if len(tooLarge(p, rt)) > 0 {
			continue
		}
		if steps == nil {
			var err error
			if steps, err = lowerSteps(p); err != nil {
				return nil
			}
		}
		f := *steps
		if err := f.header(p, rt, rt.allSizes("Simple")); err != nil {
			continue
		}
		if ok, _ := f.Accepts(rt); ok {
			names = append(names, rt.Name)
		}
	}
	return names
}

func (r *Runtime) allSizes(protocol string) WriteOptions {
	o := WriteOptions{Runtime: r.Name, Protocol: protocol}
	if r.MaxExclusive {
		o.MaxBytes = unlimited - 1
	}
	return o
}

// tooLarge returns the limits that a program exceeds before any of its steps is split.
func tooLarge(p *ir.Program, rt *Runtime) (why []string) {
	if n := len(p.GPUs); n > maxChildren {
		why = append(why, tooManyGPUs(n))
	}
	for g := range p.GPUs {
		if n := len(p.GPUs[g].Threadblocks); n > rt.MaxThreadblocks {
			return append(why, tooManyThreadblocks(g, n, rt))
		}
	}
	return why
}

func tooManyGPUs(n int) string { return fmt.Sprintf("%d GPUs: at most %d", n, maxChildren) }

func tooManyThreadblocks(gpu, n int, rt *Runtime) string {
	return fmt.Sprintf("gpu %d: %d threadblocks: at most %d", gpu, n, rt.MaxThreadblocks)
}
