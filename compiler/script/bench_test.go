package script

import "testing"

// ringText is the ring AllReduce as users write it.
const ringText = `
family(name = "ring", collectives = ["allreduce"])
def chunks(topo, p):
    return topo.ranks
def program(topo, p):
    R = topo.ranks
    for r in range(R):
        c = chunk((r + 1) % R, "in", r)
        for step in range(1, R):
            c = chunk((r + 1 + step) % R, "in", r).reduce(c, ch = r % 8)
        for step in range(1, R):
            c = c.copy((r + step) % R, "in", r, ch = r % 8)
`

// BenchmarkTraceRing traces a ring AllReduce over 256 ranks: 130,560
// operations.
func BenchmarkTraceRing(b *testing.B) {
	t, err := Load("ring.star", []byte(ringText), Options{})
	if err != nil {
		b.Fatal(err)
	}
	ops := 0
	for b.Loop() {
		p, err := t.Trace(Even(32, 8), Request{Collective: "allreduce", InPlace: true}, nil)
		if err != nil {
			b.Fatal(err)
		}
		ops += len(p.Ops)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/op-traced")
}
