package mscclpp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// Name is the runtime's name.
const Name = "mscclpp"

// Limits of the runtime's executor, as numbers of operations, channels, and so on.
const (
	MaxOperations  = 64   // of a threadblock and type; the same for remote buffers
	MaxChannels    = 16   // of a threadblock and type; the same for remote buffers
	MaxOpChannels  = 8    // of an operation
	MaxOpPlaces    = 10   // sources of an operation, and destinations
	MaxBarriers    = 16   // of a GPU
	MaxSemaphores  = 16   // of an operation
	MaxThreads     = 1024 // of a threadblock
	protocolSimple = "Simple"
	protocolLL     = "LL"
)

// rule is a reason why the runtime would not load a plan, or not run it as
// intended. It returns the first violation, or "".
type rule struct {
	name  string
	check func(p *Plan) string
}

var rules = []rule{
	{"keys", func(p *Plan) string {
		if len(p.Missing) > 0 {
			return "no key " + strings.Join(p.Missing, ", ")
		}
		for _, n := range p.Notes {
			if n.Refused {
				return fmt.Sprintf("line %d: %s", n.Line, n.Message)
			}
		}
		return ""
	}},
	{"chunks of a buffer", func(p *Plan) string {
		for g := range p.GPUs {
			in, out := p.GPUs[g].In, p.GPUs[g].Out
			if in == 0 {
				return fmt.Sprintf("gpu %d: input_chunks 0, which it divides by", g)
			}
			if out == 0 {
				return fmt.Sprintf("gpu %d: output_chunks 0, which it divides by", g)
			}
			ratio := 1 // bytes of output for each byte of input, times the ranks below
			over := 1
			switch p.Collective {
			case "allgather":
				ratio = len(p.GPUs)
			case "reducescatter":
				over = len(p.GPUs)
			case "allreduce", "alltoall", "sendrecv":
			default:
				continue
			}
			if in*ratio != out*over {
				return fmt.Sprintf("gpu %d: %d chunks of input and %d of output: they are of different sizes", g, in, out)
			}
		}
		return ""
	}},
	{"size range", func(p *Plan) string {
		if p.MinBytes > p.MaxBytes {
			return fmt.Sprintf("its sizes, from %d bytes to %d, are none", p.MinBytes, p.MaxBytes)
		}
		chunks := uint64(1)
		if len(p.GPUs) > 0 {
			chunks = uint64(max(p.GPUs[0].In, 1))
			if p.Collective == "allgather" {
				chunks = uint64(max(p.GPUs[0].Out, 1))
			}
		}
		step := chunks * uint64(p.Alignment)
		if last := p.MaxBytes / step * step; last < p.MinBytes || last == 0 {
			return fmt.Sprintf("no size of %d to %d bytes is a multiple of %d, its chunks of %d bytes", p.MinBytes, p.MaxBytes, step, p.Alignment)
		}
		return ""
	}},
	{"threads", func(p *Plan) string {
		if p.Threads > MaxThreads {
			return fmt.Sprintf("%d threads in a threadblock: at most %d", p.Threads, MaxThreads)
		}
		return ""
	}},
	{"operations", func(p *Plan) string {
		return p.eachThreadblock(func(tb *Threadblock) string {
			n := 0
			tb.each(func(int, *Op) { n++ })
			if n > MaxOperations {
				return fmt.Sprintf("%d operations: at most %d", n, MaxOperations)
			}
			return ""
		})
	}},
	{"channels", connected},
	{"channels of an operation", func(p *Plan) string {
		return p.eachOp(func(op *Op) string {
			if n := len(op.Channels); n > MaxOpChannels {
				return fmt.Sprintf("%d channels: at most %d", n, MaxOpChannels)
			}
			if n := max(len(op.Src), len(op.Dst)); n > MaxOpPlaces {
				return fmt.Sprintf("%d places: at most %d", n, MaxOpPlaces)
			}
			return ""
		})
	}},
	{"barriers", func(p *Plan) string {
		return p.eachOp(func(op *Op) string {
			if op.Barrier >= MaxBarriers {
				return fmt.Sprintf("barrier %d: want 0 to %d", op.Barrier, MaxBarriers-1)
			}
			return ""
		})
	}},
	{"semaphores", func(p *Plan) string {
		return p.eachOp(func(op *Op) string {
			if n := len(op.Semaphores); n > MaxSemaphores {
				return fmt.Sprintf("%d semaphores: at most %d", n, MaxSemaphores)
			}
			return ""
		})
	}},
	{"get", func(p *Plan) string {
		return p.eachOp(func(op *Op) string {
			for i := range op.Src {
				if op.Kind.Name == "get" && i < len(op.Dst) && op.Src[i].Index != op.Dst[i].Index {
					return fmt.Sprintf("from chunk %d to chunk %d: its kernel mixes the two up where they differ", op.Src[i].Index, op.Dst[i].Index)
				}
			}
			return ""
		})
	}},
	{"sources of put", func(p *Plan) string {
		return p.eachOp(func(op *Op) string {
			for i := range op.Src {
				if op.Kind.effect == pairs && op.Type == Memory && op.Src[i].Place == Local && op.Src[i].Buffer != op.Src[0].Buffer {
					return "from more than one buffer: its kernel takes all from the first's"
				}
			}
			return ""
		})
	}},
}

// connected finds a threadblock with too many channels or remote buffers.
func connected(p *Plan) string {
	return p.eachThreadblock(func(tb *Threadblock) string {
		channels, buffers := joined(tb.Channels), joined(tb.Buffers)
		for t, name := range channelTypes {
			if n := len(channels[t]); n > MaxChannels {
				return fmt.Sprintf("%d %s channels: at most %d", n, name, MaxChannels)
			}
			if n := len(buffers[t]); n > MaxChannels {
				return fmt.Sprintf("%d remote buffers over %s channels: at most %d", n, name, MaxChannels)
			}
		}
		return ""
	})
}

// eachThreadblock returns the first complaint about a threadblock, naming it.
func (p *Plan) eachThreadblock(check func(*Threadblock) string) string {
	for g := range p.GPUs {
		for t := range p.GPUs[g].Threadblocks {
			if why := check(&p.GPUs[g].Threadblocks[t]); why != "" {
				return fmt.Sprintf("gpu %d threadblock %d: %s", g, t, why)
			}
		}
	}
	return ""
}

// eachOp returns the first complaint about an operation, naming it.
func (p *Plan) eachOp(check func(*Op) string) string {
	return p.eachThreadblock(func(tb *Threadblock) (why string) {
		tb.each(func(at int, op *Op) {
			if why != "" {
				return
			}
			if why = check(op); why != "" {
				why = fmt.Sprintf("op %d: %s: %s", at, op.Kind.Name, why)
			}
		})
		return why
	})
}

// misreadSource returns a source of a sum that the runtime's kernel misplaces,
// or 0: it decides wrongly whether the source is in scratch, by the destination
// with the same index, by the number of a remote buffer, or without any test.
func (o *Op) misreadSource() int {
	if o.Kind.Name != "re" && o.Kind.Name != "res" {
		return 0
	}
	const scratch = 2 // the runtime's number for scratch
	for i := 1; i < len(o.Src); i++ {
		taken := i < len(o.Dst) && o.Dst[i].ID == scratch
		if is := o.Src[i].Buffer == collective.Scratch; is != taken {
			return i
		}
	}
	return 0
}

// lints are warnings about plans that the runtime accepts.
var lints = []func(p *Plan) string{
	func(p *Plan) string {
		if p.link(); len(p.GPUs) == 0 {
			return ""
		}
		if _, judged, err := p.collective(1); err == nil && !judged {
			return fmt.Sprintf("not followed: %s over these buffers is no collective known here, so its result is not judged", p.Collective)
		}
		return ""
	},
	func(p *Plan) string {
		return p.eachOp(func(op *Op) string {
			if op.Reduction != "" && op.Reduction != "sum" {
				return fmt.Sprintf("reduce_op %s, which the runtime does not read: it sums", op.Reduction)
			}
			return ""
		})
	},
	func(p *Plan) string {
		return p.eachOp(func(op *Op) string {
			if op.Kind.effect == flushes && len(op.Dst) == 0 {
				return "the runtime's kernel flushes as many channels as there are dst_buff: none"
			}
			return ""
		})
	},
	func(p *Plan) string {
		away := false // packets are put into others' scratch
		p.each(func(op *Op) {
			for i := range op.Dst {
				letter := op.target(i)
				away = away || packet(letter) && place(letter) != Local
			}
		})
		if away && !p.DoubleScratch {
			return "not followed: packets without use_double_scratch_buffer, which the next launch may overwrite before they are read"
		}
		return ""
	},
	func(p *Plan) string {
		if p.Protocol != protocolSimple && p.Protocol != protocolLL {
			return fmt.Sprintf("protocol %q, which the runtime takes for %s", p.Protocol, protocolSimple)
		}
		return ""
	},
	func(p *Plan) string {
		room := p.room()
		if !p.ReuseResources || room <= 0 || p.MaxBytes/uint64(max(p.GPUs[0].In, 1)) <= uint64(room) {
			return ""
		}
		return p.eachOp(func(op *Op) string {
			for i := range op.Ops {
				if at := op.Ops[i].misreadSource(); at > 0 {
					return fmt.Sprintf("source %d of %s: its kernel goes by destination %d for whether that is scratch, which is used over and over from %d bytes a chunk on", at, op.Ops[i].Kind.Name, at, room)
				}
			}
			return ""
		})
	},
	func(p *Plan) string {
		room := p.room()
		if !p.ReuseResources || room <= 0 || len(p.GPUs) == 0 {
			return ""
		}
		plain := false
		for g := range p.GPUs {
			for t := range p.GPUs[g].Threadblocks {
				for i := range p.GPUs[g].Threadblocks[t].Ops {
					op := &p.GPUs[g].Threadblocks[t].Ops[i]
					for _, ref := range slices.Concat(op.Src, op.Dst) {
						plain = plain || ref.Place == Local && ref.Buffer == collective.Scratch
					}
				}
			}
		}
		if plain && p.MaxBytes/uint64(max(p.GPUs[0].In, 1)) > uint64(room) {
			return fmt.Sprintf("a chunk of scratch has %d bytes of the runtime's 64 MiB, and larger ones are not refused", room)
		}
		return ""
	},
}
