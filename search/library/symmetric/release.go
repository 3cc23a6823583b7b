package symmetric

// Release is what a release of NCCL does with windows.
type Release struct {
	number int // as ncclGetVersion gives it
	// multicastFrom is how many GPUs the switches copy to at least.
	multicastFrom int
	cells         bool // calls are rounded up to cells before kernels are compared
	// half says that one window is enough for some: all-gather's receive buffer, reduce-scatter's send buffer, and
	// either for LL where the library would run LL anyway.
	half    bool
	average bool  // averages, too, as sums that are divided in the end
	tma     bool  // by default
	even    bool  // an even number of threadblocks, or one
	last    bool  // of equal scores, the last kernel's
	copies  int64 // elements above which an all-gather takes copy engines, on Blackwell; 0: never
}

// releases by rising number.
var releases = [...]Release{
	{number: 22707, multicastFrom: 3},
	{number: 22809, multicastFrom: 2, cells: true},
	{number: 22907, multicastFrom: 3, cells: true, half: true, copies: 8 << 20},
	{number: 23007, multicastFrom: 3, cells: true, half: true, copies: 8 << 20, average: true},
	{number: 23102, multicastFrom: 3, cells: true, half: true, copies: 8 << 20, average: true, tma: true, even: true, last: true},
	{number: 23203, multicastFrom: 3, cells: true, half: true, copies: 8 << 20, average: true, tma: true, even: true, last: true},
}

// Of returns the row of a release by its number (ncclGetVersion): 23007 is 2.30.7. Later ones than the last
// row take that, those between rows the one before. nil: older than windows.
func Of(number int) (r *Release) {
	for i := range releases {
		if releases[i].number <= number {
			r = &releases[i]
		}
	}
	return r
}

// mayServe reports whether a kernel can do a call at all (ncclSymkAvailable, ncclSymkMask).
func (r *Release) mayServe(k *Kernel, s *System, c *Call) bool {
	multicasts := s.Multicast && s.Team >= r.multicastFrom
	switch {
	case k.Collective != c.Collective || k.since > r.number,
		k.is(network) != (s.Team < s.Ranks),
		k.is(tma) && !(r.tma && s.Capability >= blackwell && !c.Misaligned),
		k.is(multicast|reduction) && !multicasts,
		k.is(reduction) && is8Bit(c.DType) && s.Capability < blackwell,
		c.Collective != "allgather" && !r.reduces(c):
		return false
	}
	bus := c.bytes()
	if r.cells {
		bus = (bus + cell - 1) / cell * cell
	}
	if c.Collective != "allreduce" {
		bus *= int64(s.Ranks)
	}
	return bus < 2<<30 || !k.is(ll) && bus < 64<<30
}

// reduces reports whether the kernels sum what a call has.
func (r *Release) reduces(c *Call) bool {
	switch c.DType {
	case "f32", "f16", "bf16", "f8e4m3", "f8e5m2":
		return c.Op == "sum" || c.Op == "avg" && r.average
	}
	return false
}

func is8Bit(dtype string) bool { return dtype == "f8e4m3" || dtype == "f8e5m2" }

// registered reports whether windows leave a kernel to a call: all its buffers, or those that it needs.
func (r *Release) registered(k *Kernel, c *Call) bool {
	switch {
	case c.Send && c.Recv:
		return true
	case !r.half:
		return false
	case k.is(ll):
		return c.Send || c.Recv
	case c.Collective == "allgather":
		return c.Recv && !k.is(network)
	case c.Collective == "reducescatter":
		return c.Send
	}
	return false
}

// Asks is which buffers of a call a release wants in windows at least, over several nodes or one.
func (r *Release) Asks(collective string, several bool) (send, recv bool) {
	switch {
	case r.half && collective == "allgather" && !several:
		return false, true
	case r.half && collective == "reducescatter":
		return true, false
	}
	return true, true
}
