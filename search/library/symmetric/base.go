package symmetric

import "math"

// base is a row of the base model (base.tsv).
type base struct {
	us        float64 // latency
	cta, peak float64 // bytes a microsecond, of a threadblock and of all
	times     float64 // a threadblock's rate, for each rank if perRank
	perRank   bool
	rise      float64 // e^(peak/cta) - 1
}

// time is the latency, and bytes at the rate of the threadblocks as far as the peak lets them: a smooth minimum, whose
// softness is a threadblock's rate; bytes of the first microsecond or so do not count.
func (b *base) time(bus float64, ranks, ctas int) float64 {
	times := b.times
	if b.perRank {
		times *= float64(ranks)
	}
	rate := b.peak - b.cta*math.Log1p(b.rise*math.Exp(-(float64(ctas)*b.cta*times)/b.cta))
	return b.us + softplus(bus/rate-1)
}

// softplus is a smooth maximum of z and 0.
func softplus(z float64) float64 {
	if z >= 100 {
		return z
	}
	return math.Log1p(math.Exp(z))
}

// llBus is what a byte of LL counts: flags beside data, and no unrolled loops.
const llBus = 9

// busBytes is the most bytes that a rank sends or receives, as the base model has it.
func busBytes(k *Kernel, ranks int, bytes int64) float64 {
	n := int64(ranks)
	switch {
	case k.is(ll):
		return float64(n * bytes * llBus)
	case k.Collective != "allreduce":
		return float64((n - 1) * bytes)
	case k.is(reduction):
		return float64(bytes/n + bytes)
	}
	return float64(2 * bytes * (n - 1) / n)
}
