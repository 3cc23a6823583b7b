package symmetric

import "math"

// fitted is a row of the fitted model of all-gather (fitted.tsv): rates in 10^9 B/s, times in microseconds.
type fitted struct {
	us, rankUS            float64
	cta, ll, peak         float64
	c8, c32               float64 // of LL
	overlap               float64 // of LLMC
	peakRank              bool
	troughUS, trough, few float64
}

const (
	aloneGains = 1.1445 // of TmaSTMC with one threadblock
	troughFrom = 14     // threadblocks
)

// time of bytes a rank: latency, that of each other rank, and the longer of the threadblocks' copies and the link's.
func (f *fitted) time(k *Kernel, ranks int, bytes float64, inPlace bool, ctas int) float64 {
	cells := math.Ceil(bytes / cell)
	active := math.Ceil(cells / math.Ceil(cells/float64(ctas)))
	n := float64(ranks)
	copies := n
	switch {
	case k.is(multicast) && !k.is(ll):
		copies = 1
	case inPlace && !k.is(multicast):
		copies = n - 1
	}
	peak, trough := f.peak, 0.
	if f.peakRank {
		peak *= (n - 1) / n
	}
	if f.trough > 0 && active >= troughFrom && math.Mod(active, 4) == 2 {
		peak, trough = min(peak, f.trough), f.troughUS
	}
	if f.few > 0 && active < n {
		peak = min(peak, f.few)
	}
	moved := copies * bytes / (f.efficient(k, n, active) * f.cta * 1000)
	if f.ll > 0 {
		moved += bytes / (f.efficient(k, n, active) * f.ll * 1000)
	}
	data, latency := max(moved, (n-1)*bytes/(peak*1000)), (n-1)*f.rankUS
	if k.is(ll) && k.is(multicast) {
		hidden := min(1, f.overlap/active)
		return f.us + max(latency, data) + (1-hidden)*min(latency, data)
	}
	return f.us + latency + trough + data
}

// efficient is how many threadblocks the active ones count for.
func (f *fitted) efficient(k *Kernel, n, active float64) float64 {
	switch {
	case k.is(tma) && k.is(multicast) && active == 1:
		return aloneGains
	case !k.is(ll) || k.is(multicast) || n <= 4 || active <= 4 || active >= maxCTAs:
		return active
	}
	x, at := math.Log2(active), [...]struct{ log, scale float64 }{{2, 1}, {3, f.c8}, {5, f.c32}, {6, 1}}
	for i := range at[1:] {
		if a, b := at[i], at[i+1]; x <= b.log {
			return active * (a.scale + (x-a.log)/(b.log-a.log)*(b.scale-a.scale))
		}
	}
	return active
}
