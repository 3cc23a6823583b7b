package lang

import "testing"

// BenchmarkRing traces a ring AllReduce over 512 ranks, half a million
// operations, and checks its result.
func BenchmarkRing(b *testing.B) {
	const R = 512
	c := coll(b, "allreduce", R, R, true)
	ops := 0
	for b.Loop() {
		t := NewTrace("ring", c)
		for r := range R {
			arrived, err := t.Chunk((r+1)%R, in, r, 1, 1)
			for step := 1; step < R && err == nil; step++ {
				var own *Ref
				if own, err = t.Chunk((r+step+1)%R, in, r, 1, 1); err == nil {
					arrived, err = own.Reduce(arrived, 0)
				}
			}
			for step := 1; step < R && err == nil; step++ {
				arrived, err = arrived.Copy((r+step)%R, in, r, 0)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		p, err := t.Finish()
		if err != nil {
			b.Fatal(err)
		}
		ops += len(p.Ops)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/op-traced")
}
