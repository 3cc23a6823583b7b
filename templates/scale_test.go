package templates

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// BenchmarkScale traces, compiles and verifies the families that make sense
// there for 256 nodes of 8.
//
//	go test ./templates -run - -bench Scale -benchtime 1x
func BenchmarkScale(b *testing.B) {
	m := script.Even(256, 8)
	for _, c := range []struct {
		family, coll string
		given        map[string]any
	}{
		{"multi-level", "allgather", nil},
		{"multi-level", "allgather", map[string]any{"cross": "ring"}},
		{"multi-level", "allgather", map[string]any{"groups": 16}},
		{"multi-level", "reducescatter", nil},
		{"multi-level", "allreduce", nil},
		{"hierarchical", "allreduce", nil},
		{"recursive-halving-doubling", "allreduce", nil},
		{"recursive-doubling", "allreduce", nil},
		{"double-binary-tree", "allreduce", nil},
		{"chain", "broadcast", nil},
		{"k-nomial", "broadcast", nil},
		{"k-nomial", "reduce", nil},
		{"k-nomial", "gather", nil},
		{"k-nomial", "scatter", nil},
		{"scatter-allgather", "broadcast", map[string]any{"gather": "recursive"}},
		{"multi-nic", "alltonext", nil},
		{"direct", "sendrecv", nil},
	} {
		f, err := Find(Builtin(), c.family, c.coll)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s/%s/%v", c.family, c.coll, c.given), func(b *testing.B) {
			for range b.N {
				q := script.Request{Collective: c.coll, InPlace: c.coll == "allreduce" || c.coll == "broadcast" || c.coll == "reduce"}
				if yes, why, err := f.Admits(m, q, c.given); !yes {
					b.Fatal(why, err)
				}
				p, err := f.Trace(m, q, c.given)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(b.Elapsed().Seconds(), "traced-s")
				r, err := compiler.Compile(p, compiler.Options{})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(b.Elapsed().Seconds(), "compiled-s")
				if err := verify.Check(r.Program, verify.Options{Slots: 2}).Err(); err != nil {
					b.Fatal(err)
				}
				var memory runtime.MemStats
				runtime.ReadMemStats(&memory)
				b.ReportMetric(float64(memory.Sys>>20), "MiB")
				b.ReportMetric(float64(len(p.Ops)), "ops")
			}
		})
	}
}
