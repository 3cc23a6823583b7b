package verify

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

var (
	allreduce2   = collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 2, InPlace: true}
	broadcast2   = collective.Spec{Name: "broadcast", Ranks: 2, Chunks: 2, InPlace: true}
	allgather2   = collective.Spec{Name: "allgather", Ranks: 2, Chunks: 1}
	allgatherIn2 = collective.Spec{Name: "allgather", Ranks: 2, Chunks: 1, InPlace: true}
	allreduce1   = collective.Spec{Name: "allreduce", Ranks: 1, Chunks: 2, InPlace: true}
	alltonext2   = collective.Spec{Name: "alltonext", Ranks: 2, Chunks: 1}
	sums         = collective.Spec{Name: "sums", Ranks: 1, Chunks: 1, Custom: &collective.Table{In: []int{10}, Out: []int{2}, Want: [][]collective.Want{{
		{Kind: collective.WantSum, Of: places0(2)}, {Kind: collective.WantSum, Of: places0(10)},
	}}}}
	sendrecv2 = collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 3}
)

// places0 returns the first chunks of rank 0.
func places0(n int) []collective.Place {
	all := make([]collective.Place, n)
	for i := range all {
		all[i] = collective.Place{Rank: 0, Index: i}
	}
	return all
}

// A right program of each test's collective, for the findings to be made in.
const exchange = `
	0 >1 <1 | s in0 | rrc in1 | s in1 | r in0
	1 >0 <0 | s in1 | rrc in0 | s in0 | r in1`

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name    string
		spec    collective.Spec
		scratch int
		o       Options
		text    string
		kind    Kind   // "" for none
		want    string // in the finding's text
	}{
		{name: "right", spec: allreduce2, text: exchange},
		{name: "right with two slots", spec: allreduce2, o: Options{Slots: 2}, text: exchange},

		{name: "no such rank", spec: allreduce2, kind: Malformed, want: "sends to rank 2: want 0 to 1",
			text: `0 >2 | s in0`},
		{name: "own rank", spec: allreduce2, kind: Malformed, want: "receives from its own rank",
			text: `0 <0 | r in0`},
		{name: "no link", spec: allreduce2, o: Options{Linked: func(a, b int) bool { return a == 0 }}, text: exchange,
			kind: Malformed, want: "rank 1 has no link to rank 0"},
		{name: "nobody to send to", spec: allreduce2, kind: Malformed, want: "s in a threadblock that sends to nobody",
			text: `0 <1 | s in0`},
		{name: "nobody to receive from", spec: allreduce2, kind: Malformed, want: "rcs in a threadblock that receives from nobody",
			text: `0 >1 | rcs in0`},
		{name: "offset", spec: allreduce2, kind: Malformed, want: "reads in[2], which holds 2 chunks",
			text: `0 >1 | s in2`},
		{name: "offset and count", spec: allreduce2, kind: Malformed, want: "writes in[1:3], which holds 2 chunks",
			text: `0 <1 | r in1 *2`},
		{name: "negative offset", spec: allreduce2, kind: Malformed, want: "reads in[-1]",
			text: `0 >1 | s in-1`},
		{name: "largest offset and count", spec: allreduce2, kind: Malformed, want: "reads in[2147483647:4294967294]",
			text: `0 >1 | s in2147483647 *2147483647`},
		{name: "aliased buffer", spec: allreduce2, kind: Malformed, want: "writes out[0], which an in-place allreduce does not have",
			text: `0 <1 | r out0`},
		{name: "no scratch", spec: allreduce2, kind: Malformed, want: "writes sc[0], which holds 0 chunks",
			text: `0 <1 | r sc0`},
		{name: "no chunks", spec: allreduce2, kind: Malformed, want: "s of 0 chunks: want at least 1",
			text: `0 >1 | s in0 *0`},
		{name: "channel", spec: allreduce2, kind: Malformed, want: "channel -1",
			text: `0 >1 c-1 | s in0`},
		{name: "no such threadblock", spec: allreduce2, kind: Malformed, want: "waits for threadblock 1, which does not exist",
			text: `0 >1 | s in0 @1.0`},
		{name: "no such step", spec: allreduce2, kind: Malformed, want: "waits for step 4 of threadblock 0, which has 1 steps",
			text: `0 >1 | s in0 @0.4`},
		{name: "own later step", spec: allreduce2, kind: Malformed, want: "of its own threadblock, which comes no earlier",
			text: "0 >1 | s in0 @0.1 | s in0 !"},
		{name: "no flag", spec: allreduce2, kind: Malformed, want: "posts no flag (hasdep), nor does a later step",
			text: "0 >1 | s in0\n0 | cpy in0,in1 @0.0"},
		{name: "shifted onto itself", spec: sendrecv2, scratch: 3, kind: Race, want: "reads what it writes, shifted",
			text: "0 | cpy sc0,sc1 *2"},
		{name: "from where it writes another", spec: sendrecv2, scratch: 5, kind: Race, want: "cpy sc[0:3] → sc[0:5:2] reads what it writes, shifted",
			text: "0 | cpy sc0,sc0/2 *3"},
		{name: "stride", spec: allreduce2, kind: Malformed, want: "reads chunks -2 apart: want a stride of at least 1",
			text: "0 >1 | s in0/-2 *2"},
		{name: "last chunk", spec: sendrecv2, scratch: 6, kind: Malformed, want: "reads sc[0:7:3], which holds 6 chunks",
			text: "0 >1 | s sc0/3 *3"},

		{name: "chunks nobody moves", spec: collective.Spec{Name: "alltoall", Ranks: 2, Chunks: 1 << 24}, kind: Limit, want: "134217728 chunks in all buffers, of which at most 1 are ever moved",
			text: "0 >1 | s in0"},
		{name: "scratch beyond memory", spec: alltonext2, scratch: 1 << 40, kind: Limit, want: "more than 268435456 chunks in all buffers",
			text: "0 >1 | s in0"},
		{name: "chunks beyond numbers", spec: collective.Spec{Name: "alltoall", Ranks: 2, Chunks: 1 << 62}, kind: Limit, want: "4611686018427387904 chunks over 2 ranks",
			text: "0 >1 | s in0"},

		{name: "too few receives", spec: broadcast2, kind: Malformed, want: "sends message 1 on connection 0 → 1 on channel 0, which nobody receives",
			text: "0 >1 | s in0 | s in1\n1 <0 | r in0"},
		{name: "too few sends", spec: broadcast2, kind: Malformed, want: "receives message 1 on connection 0 → 1 on channel 3, which nobody sends",
			text: "0 >1 c3 | s in0\n1 <0 c3 | r in0 | r in1"},
		{name: "another channel", spec: broadcast2, kind: Malformed, want: "which nobody receives",
			text: "0 >1 c0 | s in0 *2\n1 <0 c1 | r in0 *2"},
		{name: "counts differ", spec: broadcast2, kind: Malformed, want: "receives 1 chunks as message 0 on connection 0 → 1 on channel 0, where gpu 0 threadblock 0 step 0 (s in[0:2]) sends 2",
			text: "0 >1 | s in0 *2\n1 <0 | r in0 | r in1"},
		{name: "two senders", spec: broadcast2, kind: SharedConnection, want: "sends on connection 0 → 1 on channel 0, as threadblock 0 does",
			text: "0 >1 | s in0\n0 >1 | s in1\n1 <0 | r in0 | r in1"},
		{name: "two receivers", spec: broadcast2, kind: SharedConnection, want: "receives on connection 0 → 1 on channel 0, as threadblock 0 does",
			text: "0 >1 | s in0 | s in1\n1 <0 | r in0\n1 <0 | r in1"},

		{name: "missing contribution", spec: allreduce2, kind: WrongResult, want: "out[0] ends as the reduction of input chunk 0 without rank 1; want the reduction of input chunk 0 of every rank",
			text: "0 >1 <1 | s in0 | rrc in1 | s in1\n1 >0 <0 | s in1 | rrc in0 | r in1"},
		{name: "double reduction", spec: allreduce1, scratch: 2, kind: WrongResult, want: "more than once with rank 0",
			text: "0 | cpy in0,sc0 *2 | re sc0,in0 *2"},
		{name: "double reduction among right ones", spec: allreduce2, scratch: 2, kind: WrongResult,
			want: "gpu 0: wrong-result: out[1] ends as the reduction of input chunk 1 more than once with rank 1",
			text: "0 >1 <1 | s in0 | r sc0 | re sc0,in1 | re sc0,in1 | s in1 | r in0\n1 >0 <0 | s in1 | rrc in0 | s in0 | r in1"},
		{name: "other index", spec: broadcast2, kind: WrongResult, want: "out[0] ends as input chunk 1 of rank 0; want input chunk 0 of rank 0",
			text: "0 >1 | s in1 | s in0\n1 <0 | r in0 | r in1"},
		{name: "no sum of two", spec: sums, kind: WrongResult, want: "out[0] ends as input chunk 0 of rank 0; want the reduction of input chunks 0 of rank 0, 1 of rank 0",
			text: "0 | cpy in0,out0 *2"},
		{name: "no sum of ten", spec: sums, kind: WrongResult, want: "want the reduction of input chunks 0 of rank 0, 1 of rank 0, 2 of rank 0, 3 of rank 0, 4 of rank 0, 5 of rank 0, 6 of rank 0, 7 of rank 0, 2 more",
			text: "0 | cpy in0,out0 *2"},
		{name: "never written", spec: allgather2, kind: WrongResult, want: "gpu 1: wrong-result: out[1] ends as uninitialised memory",
			text: "0 >1 <1 | s in0 | r out1 | cpy in0,out0\n1 >0 <0 | s in0 | r out0"},
		{name: "uninitialised", spec: alltonext2, scratch: 1, kind: WrongResult, want: "out[0] ends as uninitialised memory; want input chunk 0 of rank 0",
			text: "0 >1 | s sc0\n1 <0 | r out0"},
		{name: "wanted by nobody", spec: alltonext2, text: "0 >1 | s in0\n1 <0 | r out0"},
		{name: "in place allgather", spec: allgatherIn2, text: "0 >1 <1 | s out0 | r out1\n1 >0 <0 | s out1 | r out0"},
		{name: "any result", spec: broadcast2, o: Options{AnyResult: true}, text: "0 >1 | s in1 | s in0\n1 <0 | r in0 | r in1"},

		{name: "circle of messages", spec: allreduce2, kind: Deadlock,
			want: "gpu 0 threadblock 0 step 0 (rrc in[0] → in[0]) waits for a message of gpu 1 threadblock 0; gpu 1 threadblock 0 step 0 (r in[0]) waits for a message of gpu 0 threadblock 0",
			text: "0 >1 <1 | rrc in0 | s in0\n1 >0 <0 | r in0 | s in0"},
		{name: "circle of flags", spec: broadcast2, kind: Deadlock, want: "waits for step 0 of threadblock 1",
			text: "0 | cpy in0,in1 @1.0 !\n0 | cpy in0,in1 @0.0 !"},
		{name: "flag after its waiter", spec: broadcast2, kind: Deadlock, want: "waits for step 1 of threadblock 1",
			text: "0 | nop @1.0 | cpy in0,in1 !\n0 | nop | nop @0.1 !"},
		{name: "slots", spec: sendrecv2, o: Options{Slots: 2}, kind: Deadlock,
			want: "needs 3 slots a connection where there are 2 (with a call for each step): gpu 0 threadblock 0 step 2 (s in[2]) waits for a slot that gpu 1 threadblock 0 must free",
			text: "0 >1 <1 | s in0 | s in1 | s in2 | r out0 | r out1 | r out2\n1 >0 <0 | s in0 | s in1 | s in2 | r out0 | r out1 | r out2"},
		{name: "slots split", spec: sendrecv2, o: Options{Slots: 2}, kind: Deadlock, want: "needs 3 slots a connection where there are 2 (with a call for each chunk)",
			text: "0 >1 <1 | s in0 *3 | r out0 *3\n1 >0 <0 | s in0 *3 | r out0 *3"},
		{name: "slots with larger calls", spec: sendrecv2, o: Options{Slots: 2, CallChunks: 2},
			text: "0 >1 <1 | s in0 *3 | r out0 *3\n1 >0 <0 | s in0 *3 | r out0 *3"},

		{name: "write and write", spec: alltonext2, scratch: 1, kind: Race, want: "cpy in[0] → sc[0] and cpy in[0] → sc[0] of threadblock 0 step 1 both access sc[0]",
			text: "0 >1 | s in0 | cpy in0,sc0\n0 | cpy in0,sc0\n1 <0 | r out0"},
		{name: "read and write", spec: broadcast2, kind: Race, want: "both access in[1]",
			text: "0 >1 | s in0 *2\n1 <0 | r in0 *2\n0 | cpy in0,in1"},
		{name: "ordered by a flag", spec: alltonext2, scratch: 1,
			text: "0 | cpy in0,sc0 !\n0 >1 | s sc0 @0.0\n1 <0 | r out0"},
		{name: "ordered by a later flag", spec: alltonext2, scratch: 2,
			text: "0 | cpy in0,sc0 | cpy in0,sc1 !\n0 >1 | s sc0 @0.0\n1 <0 | r out0"},
		{name: "ordered by two flags", spec: alltonext2, scratch: 2,
			text: "0 | cpy in0,sc0 !\n0 | cpy in0,sc1 @0.0 !\n0 >1 | s sc0 @1.0\n1 <0 | r out0"},
		{name: "ordered by messages", spec: alltonext2, scratch: 1,
			text: "0 >1 c0 | s in0\n1 >0 <0 c0 | rcs out0\n0 <1 c0 | r in0"},
		{name: "not ordered by back-pressure", spec: alltonext2, scratch: 1, kind: Race, want: "both access in[0]",
			text: "0 >1 | s in0\n1 <0 | r out0\n1 >0 c1 | s in0\n0 <1 c1 | r in0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Check(program(t, c.spec, c.scratch, c.text), c.o)
			if c.kind == "" {
				if !r.OK() {
					t.Fatalf("found: %v", r.Err())
				}
				return
			}
			for _, f := range r.Findings {
				if f.Kind == c.kind && f.Severity == Error && strings.Contains(f.String(), c.want) {
					return
				}
			}
			t.Errorf("no %s with %q among: %v", c.kind, c.want, r.Findings)
		})
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name    string
		spec    collective.Spec
		scratch int
		text    string
		kind    Kind
		want    string
	}{
		{"later flag", alltonext2, 2, "0 | cpy in0,sc0 | cpy in0,sc1 !\n0 >1 | s sc0 @0.0\n1 <0 | r out0", Malformed, "posts no flag (hasdep); a later step does"},
		{"clobbered input", alltonext2, 1, "0 >1 c0 | s in0\n1 >0 <0 c0 | rcs out0\n0 <1 c0 | r in0\n1 | cpy out0,in0 @0.0", Lint, "in[0] is overwritten"},
		{"garbage moved", alltonext2, 2, "0 >1 | s in0 | cpy sc0,sc1\n1 <0 | r out0", Lint, "cpy sc[0] → sc[1] is of memory that nothing wrote"},
		{"garbage moved first", alltonext2, 2, "0 >1 | cpy sc0,sc1 | s in0\n1 <0 | r out0", Lint, "cpy sc[0] → sc[1] is of memory that nothing wrote"},
		{"needless flag", alltonext2, 0, "0 >1 | s in0 !\n1 <0 | r out0", Lint, "that nobody waits for"},
		{"idle connection", alltonext2, 0, "0 >1 <1 | s in0\n1 <0 | r out0", Lint, "has connection 1 → 0 on channel 0 and no step to receive on it"},
		{"no steps", alltonext2, 0, "0 >1 | s in0\n1 <0 | r out0\n1", Lint, "has no steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(c.text, "| rcs out0", "| rcs out0 !", 1)
			r := Check(program(t, c.spec, c.scratch, text), Options{})
			if !r.OK() {
				t.Fatalf("found: %v", r.Err())
			}
			for _, f := range r.Findings {
				if f.Kind == c.kind && f.Severity == Warning && strings.Contains(f.String(), c.want) {
					return
				}
			}
			t.Errorf("no %s with %q among: %v", c.kind, c.want, r.Findings)
		})
	}
}

func TestSlotsNeeded(t *testing.T) {
	for _, c := range []struct {
		name         string
		spec         collective.Spec
		text         string
		whole, split int
	}{
		{"nothing sent", allreduce1, "0 | cpy in0,in1", 0, 0},
		{"ping", alltonext2, "0 >1 | s in0\n1 <0 | r out0", 1, 1},
		{"exchange", allreduce2, exchange, 1, 1},
		{"three before three", sendrecv2, "0 >1 <1 | s in0 | s in1 | s in2 | r out0 | r out1 | r out2\n1 >0 <0 | s in0 | s in1 | s in2 | r out0 | r out1 | r out2", 3, 3},
		{"one of three", sendrecv2, "0 >1 <1 | s in0 *3 | r out0 *3\n1 >0 <0 | s in0 *3 | r out0 *3", 1, 3},
		{"circle of fused steps", collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 2, InPlace: true},
			"0 >1 <1 | s in0 | rrcs in1 | rcs in0 | r in0\n1 >0 <0 | s in1 | rrcs in0 | rcs in1 | r in1", 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Check(program(t, c.spec, 0, c.text), Options{AnyResult: true})
			if !r.OK() {
				t.Fatalf("found: %v", r.Err())
			}
			if r.SlotsNeeded != c.whole || r.SlotsNeededSplit != c.split {
				t.Errorf("needs %d slots, %d split: want %d and %d", r.SlotsNeeded, r.SlotsNeededSplit, c.whole, c.split)
			}
		})
	}
}

func TestFindingsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("0 >1 ")
	for range 50 {
		b.WriteString("| s in9 ")
	}
	r := Check(program(t, allreduce2, 0, b.String()), Options{MaxFindings: 7})
	if len(r.Findings) != 7 || r.Suppressed != 43 || r.OK() || r.Err() == nil {
		t.Errorf("%d findings, %d suppressed, ok %v", len(r.Findings), r.Suppressed, r.OK())
	}
}
