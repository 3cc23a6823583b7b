package export

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results/resultstest"
)

func TestLoads(t *testing.T) {
	for _, tc := range []struct {
		runtime, op, dtype, protocol string
		why                          string // empty: it loads the program
	}{
		{"msccl", "sum", "f32", "LL", ""},
		{"msccl", "max", "f32", "LL128", ""},
		{"msccl", "avg", "f32", "LL", "avg"},
		{"rccl", "avg", "bf16", "Simple", "avg"},
		{"executor-nccl", "prod", "f16", "Simple", ""},
		{"mscclpp", "sum", "f32", "LL", ""},
		{"mscclpp", "max", "f32", "LL", "sum"},
		{"mscclpp", "sum", "f64", "LL", "f64"},
		{"mscclpp", "sum", "f32", "LL128", "LL128"},
	} {
		runtime, err := RuntimeNamed(tc.runtime)
		if err != nil {
			t.Fatal(err)
		}
		p := resultstest.Plan()
		p.Op, p.DType = tc.op, tc.dtype
		why := runtime.Loads(irtest.Ring(4, 1, 0, true), tc.protocol, p)
		if (why == "") != (tc.why == "") || !strings.Contains(why, tc.why) {
			t.Errorf("%s of %s by %s with %s: %q, want %q in it", tc.op, tc.dtype, tc.runtime, tc.protocol, why, tc.why)
		}
	}
}

// A collective without a reduction has no operation, whatever the plan says.
func TestOperationIsIgnoredWithoutReduction(t *testing.T) {
	gather := irtest.Ring(4, 1, 0, true)
	gather.Collective.Name = "allgather"
	if op := operation(gather.Collective, "avg"); op != "sum" {
		t.Errorf("an allgather of %s", op)
	}
	if op := operation(irtest.Ring(4, 1, 0, true).Collective, "avg"); op != "avg" {
		t.Errorf("an allreduce of %s", op)
	}
}
