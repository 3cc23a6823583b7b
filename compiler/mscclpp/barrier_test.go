package mscclpp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// TestBarriers has GPU 0 of the example reduce in a second threadblock, which
// hears at a barrier that the first one has waited.
func TestBarriers(t *testing.T) {
	const (
		reduce  = `   {"name": "re", "src_buff": [{"type": "i", "index": 0, "size": 2}, {"type": "s", "index": 0, "size": 2}], "dst_buff": [{"type": "i", "index": 0, "size": 2}], "reduce_op": "sum"}`
		barrier = `   {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}`
	)
	plan := func(first, second string) string {
		return change(t, reduce, first+`]},
 {"id": 1, "channels": [], "remote_buffer_refs": [], "ops": [`+second)
	}
	for _, c := range []struct {
		name          string
		first, second string
		kind          verify.Kind // "" where right
		want          string
	}{
		{"meet", barrier, barrier + "," + reduce, "", ""},
		{"meet twice", barrier + "," + barrier, barrier + "," + barrier + "," + reduce, "", ""},
		{"reduce too soon", barrier, reduce + "," + barrier, verify.Race, "both access"},
		{"one does not come again", barrier + "," + barrier, barrier + "," + reduce, verify.Deadlock, "(barrier) waits for barrier 0, and nobody is left to bring it"},
		{"one alone reduces before both meet again", barrier + "," + barrier, barrier + "," + reduce + "," + barrier, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Verify(read(t, plan(c.first, c.second)), verify.Options{})
			switch {
			case c.kind == "" && !v.OK():
				t.Error(v.Report.Err())
			case c.kind != "" && (!v.Report.Has(c.kind) || !strings.Contains(fmt.Sprint(v.Report.Err()), c.want)):
				t.Errorf("found %v; want %s: … %s …", v.Report.Err(), c.kind, c.want)
			}
		})
	}
}
