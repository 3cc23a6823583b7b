package library

import (
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// copied is what a call's window kernels need copied where the buffers as called are in no window, as
// parts of its bytes: into windows before, and out of them after.
type copied struct{ in, out func(ranks int) float64 }

func whole(int) float64       { return 1 }
func share(ranks int) float64 { return 1 / float64(ranks) }
func nothing(int) float64     { return 0 }
func (c copied) of(n int) (count int, parts float64) {
	for _, part := range []func(int) float64{c.in, c.out} {
		if x := part(n); x > 0 {
			count, parts = count+1, parts+x
		}
	}
	return count, parts
}

// From 2.29 on, one window is enough for an all-gather and for a reduce-scatter.
const oneWindow = 22900

// copiesOf is what a release needs copied for a collective.
func (r Release) copiesOf(collective string) copied {
	one := r.number() >= oneWindow
	switch {
	case collective == "allgather" && one:
		return copied{nothing, whole}
	case collective == "allgather":
		return copied{share, whole}
	case collective == "reducescatter" && one:
		return copied{whole, nothing}
	case collective == "reducescatter":
		return copied{whole, share}
	}
	return copied{whole, whole}
}

// copiesUS is what the copies of a call take, in microseconds: each is launched, reads and writes.
func (r Release) copiesUS(t *topologies.Topology, collective string, bytes int64) float64 {
	count, parts := r.copiesOf(collective).of(len(t.Ranks))
	us := float64(count) * float64(t.Protocols[topologies.Simple].Launch)
	slowest := t.Ranks[0].Memory
	for _, rank := range t.Ranks {
		slowest = min(slowest, rank.Memory)
	}
	if slowest > 0 { // else the file does not say
		us += 2 * parts * float64(bytes) / slowest.PerMicro()
	}
	return us
}

// copies reports whether a call's buffers are copied for a state: not where the user's are in windows
// as called, nor where the programs beside the library need them there, too.
func (o *Options) copies(state nccl.Registered) bool {
	return state == nccl.Window && o.Registered != nccl.Window && !o.Windows
}
