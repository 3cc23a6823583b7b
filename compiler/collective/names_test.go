package collective_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

func ExampleNaming() {
	fmt.Println(collective.Anyone.Collective("All-Reduce"), collective.Anyone.DType("MPI_FLOAT"))
	fmt.Println(collective.NCCLTests.OfCollective("allreduce"), collective.NCCLTests.OfDType("f16"))
	fmt.Println(collective.PyTorch.Collective("_allgather_base"), collective.PyTorch.DType("Long"))
	// Output:
	// allreduce f32
	// all_reduce half
	// allgather i64
}

// What a naming calls something it also reads, and no two things have one name.
func TestNamesReadBack(t *testing.T) {
	for _, n := range []collective.Naming{collective.NCCLTests, collective.PyTorch, collective.NumPy, collective.MPI, collective.MCRDL} {
		for _, c := range collective.Names() {
			if theirs := n.OfCollective(c); theirs != "" && n.Collective(theirs) != c {
				t.Errorf("naming %d: %s is %q, which is read as %q", n, c, theirs, n.Collective(theirs))
			}
		}
		for _, d := range collective.MeasuredDTypes() {
			if theirs := n.OfDType(d); theirs != "" && n.DType(theirs) != d {
				t.Errorf("naming %d: %s is %q, which is read as %q", n, d, theirs, n.DType(theirs))
			}
		}
	}
	for _, c := range collective.Names() {
		if collective.Anyone.Collective(c) != c {
			t.Errorf("%s is not read", c)
		}
	}
	for _, unknown := range []string{"", "allreducee", "long", "byte", "_"} {
		if c, d := collective.Anyone.Collective(unknown), collective.Anyone.DType(unknown); c != "" || d != "" {
			t.Errorf("%q is read as %q and %q", unknown, c, d)
		}
	}
	if slices.Contains(collective.DTypes(), "f8e4m3") || collective.MeasuredBytes("f8e4m3") != 1 {
		t.Error("f8e4m3 is a type of measured times alone, of a byte")
	}
}
