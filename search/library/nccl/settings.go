package nccl

import (
	"math"
	"slices"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/topologies"
)

// Setting is what variables make the library run for a call: an algorithm, by NCCL_ALGO and NCCL_PROTO, over a number
// of channels, by NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS; or one of its kernels for windows.
type Setting struct {
	Channels int // 0: as many as the library takes by itself
	// Choices are what it comes to, as those of Choices: with as many different routings as there are, then fewer.
	Choices []Choice
}

// ChannelCounts are the numbers of channels that are tried: no more than programs have, by which their times are
// simulated.
var ChannelCounts = []int{1, 2, 4, 8, 16, 24, compiler.DefaultMaxChannels}

// SettingsOf are the settings of a call on a system, of a number of bytes, with its buffers as f says, over as many channels as the library takes
// by itself and over each of some numbers. There are none where the library takes
// something else before its own algorithms (Fork.Before), nor of sends and receives.
//
// Of numbers of channels those are left that rings and trees share evenly, as the library's own do: a program of other numbers would be
// another one.
//
// The library takes no protocol here that it would not take by itself, such as LL128 over PCIe, which may be wrong.
// A call takes no more channels than its bytes fill, whatever the variables say.
func SettingsOf(s *System, c collective.Collective, bytes int64, f Forced, channels []int) (all []Setting) {
	if f.Registered == Window {
		for _, x := range (windows{s}).settings(c, bytes, f) {
			all = append(all, Setting{Choices: []Choice{x}})
		}
		return all
	}
	call := Call{c.Name, c.InPlace, bytes, f.Op, f.DType, f.Registered}
	if _, peers := directs[c.Name]; peers || s.fork != nil && len(s.fork.Before(call, f, func(topologies.Proto) bool { return true })) > 0 {
		return nil
	}
	for _, a := range algorithms {
		if !a.runs(c.Name) {
			continue
		}
		for _, p := range topologies.AllProtocols {
			us := settable{s}.us(a, p, call)
			if !f.allows(a.Algo, p, s) || math.IsInf(us, 1) {
				continue
			}
			var seen []int // channels
			for _, n := range slices.Concat([]int{0}, channels, (settable{s}).copied(a)) {
				filled := settable{s}.filled(n, a, p, call)
				if slices.Contains(seen, filled) || n > 0 && a.clock != nil { // closed forms are of the library's own
					continue
				}
				seen = append(seen, filled)
				programs := programsOf(s, Selected{Algo: a.Algo, Protocol: p, Channels: filled, US: us}, call, f)
				if n == 0 || (settable{s}).even(a, &programs[0], filled) {
					all = append(all, Setting{n, programs})
				}
			}
		}
	}
	return all
}

// settable is a system that is asked for an algorithm, a protocol or a number of channels.
type settable struct{ *System }

// even reports whether a program has the number of channels asked for, in each of the ways to make that number.
func (s settable) even(a *algorithm, c *Choice, channels int) bool {
	each := 1
	if a.Algo == Tree { // up and down
		each = 2
	}
	return each*c.Ways()*c.Channels == channels && c.Ways() == min(s.graph.ways, channels/each)
}

// us is the library's own estimate of a call with an algorithm and a protocol, in microseconds; infinite where it has
// none.
func (s settable) us(a *algorithm, p topologies.Proto, c Call) float64 {
	if s.fork != nil {
		return s.fork.Time(a.forFork(), p, c.Collective, c.Bytes)
	}
	return float64(s.tuning.US(a.Algo, p, c))
}

// copied are the numbers of channels of one copy of all rings or trees, of two, and of more.
func (s settable) copied(a *algorithm) (all []int) {
	most, n := compiler.DefaultMaxChannels, s.graph.ways
	if s.fork != nil {
		most = s.fork.Channels(a.forFork(), topologies.Simple, "allreduce", math.MaxInt64)
	}
	for ; n <= most; n *= 2 {
		all = append(all, n)
	}
	return all
}

// filled is how many channels of n a call takes, 0 being those of the communicator.
func (s settable) filled(n int, a *algorithm, p topologies.Proto, c Call) int {
	if s.fork != nil {
		if n == 0 {
			n = s.fork.Channels(a.forFork(), p, c.Collective, c.Bytes)
		}
		return fill(n, s.fork.Threads(), s.tuning.each(a.Algo, p), c.Bytes)
	}
	if n == 0 {
		n = s.tuning.Channels
	}
	n, _ = s.tuning.fill(n, a.Algo, p, c)
	return n
}
