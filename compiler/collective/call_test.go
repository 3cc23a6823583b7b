package collective

import (
	"strings"
	"testing"
)

func TestCallOver(t *testing.T) {
	halo := &Table{In: []int{1, 1}, Out: []int{1, 1}, Want: [][]Want{{{Kind: WantInput, Rank: 1}}, {{Kind: WantInput}}}}
	for _, c := range []struct {
		call    Call
		inPlace bool
		loop    int    // chunks that the size is divided into
		says    string // the error
	}{
		{Call{Collective: "allreduce", Op: "sum", DType: "f32"}, true, 1, ""},
		{Call{Collective: "broadcast", Root: 1, DType: "u8"}, false, 1, ""},
		{Call{Collective: "allgatherv", Counts: []int{2, 1}, DType: "f16"}, false, 3, ""},
		{Call{Collective: "halo", Custom: halo, DType: "f64"}, false, 1, ""},
		{Call{Collective: "allreduce", Op: "custom", DType: "f32"}, true, 1, ""},
		{Call{}, false, 0, "unknown collective"},
		{Call{Collective: "halo", DType: "f64"}, false, 0, "unknown collective"},
		{Call{Collective: "halo", Custom: halo, DType: "f64"}, true, 0, "no in-place form"},
		{Call{Collective: "broadcast", Root: 2, DType: "u8"}, false, 0, "root 2"},
		{Call{Collective: "allgatherv", Counts: []int{2}, DType: "f16"}, false, 0, "1 counts for 2 ranks"},
		{Call{Collective: "allreduce", DType: "f8"}, true, 0, `unknown dtype "f8"`},
		{Call{Collective: "allreduce"}, true, 0, "unknown dtype"},
	} {
		got, err := c.call.Over(2, c.inPlace)
		switch {
		case c.says != "":
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: error %v, want %q", c.call, err, c.says)
			}
		case err != nil:
			t.Errorf("%+v: %v", c.call, err)
		case got.LoopChunks() != c.loop || got.InPlace != c.inPlace || got.Root != c.call.Root:
			t.Errorf("%+v: %+v in %d chunks, want %d", c.call, got.Spec, got.LoopChunks(), c.loop)
		}
	}
}

func TestCallElemBytes(t *testing.T) {
	for dtype, want := range map[string]int64{"i8": 1, "bf16": 2, "f64": 8, "f8": 0, "": 0} {
		if n := (Call{DType: dtype}).ElemBytes(); n != want {
			t.Errorf("%q: %d bytes, want %d", dtype, n, want)
		}
	}
}
