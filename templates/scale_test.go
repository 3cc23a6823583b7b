package templates

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/topologies"
)

// BenchmarkScale traces, compiles and verifies the families that make sense
// there for 256 nodes of 8 GPUs, and reports seconds of processor time: all of
// them as cpu-s, and what the trace and the verification have of it.
//
//	go test ./templates -run - -bench Scale -benchtime 1x
func BenchmarkScale(b *testing.B) {
	top, err := topologies.Resolve("dgx-a100", topologies.Options{Nodes: 256})
	if err != nil {
		b.Fatal(err)
	}
	m := machineOf(top)
	for _, c := range []struct {
		family, coll string
		given        map[string]any
	}{
		{"multi-level", "allgather", nil},
		{"multi-level", "allgather", map[string]any{"cross": "ring"}},
		{"multi-level", "allgather", map[string]any{"groups": 16, "top": "ring"}},
		{"multi-level", "reducescatter", nil},
		{"multi-level", "allreduce", nil},
		{"hierarchical", "allreduce", nil},
		{"recursive-halving-doubling", "allreduce", nil},
		{"recursive-doubling", "allreduce", nil},
		{"ring", "allgather", nil},
		{"ring", "reducescatter", nil},
		{"ring", "allreduce", nil},
		{"bruck", "allgather", nil},
		{"recursive-halving-doubling", "allgather", nil},
		{"recursive-halving-doubling", "reducescatter", map[string]any{"first": "far"}},
		{"double-binary-tree", "allreduce", nil},
		{"chain", "broadcast", nil},
		{"k-nomial", "broadcast", nil},
		{"k-nomial", "reduce", nil},
		{"k-nomial", "gather", nil},
		{"k-nomial", "scatter", nil},
		{"k-nomial", "gatherv", nil},
		{"bruck", "alltoall", nil},
		{"two-step", "alltoall", nil},
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
				start := processorSeconds(b)
				q := script.Request{Collective: c.coll, InPlace: collective.DefaultInPlace(c.coll)}
				if yes, why, err := f.Admits(m, q, c.given); !yes {
					b.Fatal(why, err)
				}
				p, err := f.Trace(m, q, c.given)
				if err != nil {
					b.Fatal(err)
				}
				traced, ops := processorSeconds(b), len(p.Ops)
				r, err := compiler.Compile(p, compiler.Options{})
				if err != nil {
					b.Fatal(err)
				}
				compiled := processorSeconds(b)
				if err := verify.Check(r.Program, verify.Options{Slots: 2}).Err(); err != nil {
					b.Fatal(err)
				}
				end := processorSeconds(b)
				b.ReportMetric(traced-start, "trace-s")
				b.ReportMetric(end-compiled, "verify-s")
				b.ReportMetric(end-start, "cpu-s")
				b.ReportMetric(float64(ops), "ops")
			}
		})
	}
}

// processorSeconds returns what the process has used so far.
func processorSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// TestTooManyMessages: what takes a message, or several moves, for every two of
// 2,048 ranks is refused with their number.
func TestTooManyMessages(t *testing.T) {
	for _, c := range []struct{ family, coll, want string }{
		{"direct", "alltoall", "4192256 messages, one for every two ranks: want at most 1048576"},
		{"all-pairs", "allreduce", "4192256 messages, one for every two ranks: want at most 1048576"},
		{"bruck", "alltoallv", "50331648 parts to be moved: want at most 16777216"},
	} {
		f, err := Find(Builtin(), c.family, c.coll)
		if err != nil {
			t.Fatal(err)
		}
		for ranks, want := range map[int]string{300: "", 2048: c.want} {
			if _, why, err := f.Applies(script.Even(1, ranks), c.coll, 0); why != want || err != nil {
				t.Errorf("%s of %d ranks: %q, %v; want %q", c.family, ranks, why, err, want)
			}
		}
	}
}
