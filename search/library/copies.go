package library

import (
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/library/symmetric"
	"github.com/colltune/colltune/topologies"
)

// copiesUS is what it takes to copy a call's buffers into windows and out of them, as far as a release
// asks for windows, in microseconds: each copy is launched, reads and writes.
func (r Release) copiesUS(t *topologies.Topology, collective string, bytes int64) float64 {
	send, recv := true, true
	if asks := symmetric.Of(r.number()); asks != nil {
		send, recv = asks.Asks(collective, t.Nodes > 1)
	}
	in, out := float64(bytes), float64(bytes)
	switch collective {
	case "allgather":
		in /= float64(len(t.Ranks))
	case "reducescatter":
		out /= float64(len(t.Ranks))
	}
	launches, copied := 0, 0.
	if send {
		launches, copied = launches+1, copied+in
	}
	if recv {
		launches, copied = launches+1, copied+out
	}
	us := float64(launches) * float64(t.Protocols[topologies.Simple].Launch)
	slowest := t.Ranks[0].Memory
	for _, rank := range t.Ranks {
		slowest = min(slowest, rank.Memory)
	}
	if slowest > 0 { // else the file does not say
		us += 2 * copied / slowest.PerMicro()
	}
	return us
}

// copies reports whether a call's buffers are copied for a state: not where the user's are in windows
// as called, nor where the programs beside the library need them there, too.
func (o *Options) copies(state nccl.Registered) bool {
	return state == nccl.Window && o.Registered != nccl.Window && !o.Windows
}
