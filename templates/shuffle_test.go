package templates

import (
	"bytes"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// TestAShuffleIsOneStep: PCCL's two-level AllGather between 4 nodes of 2 ends
// with a local shuffle, of one step for all chunks of a GPU number; without it
// the ring inside the nodes moves strided references, a message each.
func TestAShuffleIsOneStep(t *testing.T) {
	f, err := Find(Builtin(), "multi-level", "allgather")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		shuffle bool
		rank0   string
	}{
		{true, `gpu 0 scratch 8
  tb 0 recv←1 ch 0
    0 r    sc[4:8]
    1 cpy  sc[4:8] → out[1:8:2]
  tb 1 send→1 ch 0
    0 s    sc[0:4]             waits 2.0 3.0 5.0
  tb 2 recv←2 ch 1
    0 r    sc[1]               flagged
  tb 3 recv←4 ch 1
    0 r    sc[2:4]             flagged
    1 cpy  sc[0:4] → out[0:7:2] waits 2.0 5.0
  tb 4 send→2 ch 1
    0 s    in[0]
  tb 5 send→4 ch 1
    0 cpy  in[0] → sc[0]       flagged
    1 s    sc[0:2]             waits 2.0
`},
		{false, `gpu 0
  tb 0 recv←1 ch 0
    0 r    out[1:8:2]
  tb 1 send→1 ch 0
    0 s    out[0:7:2]          waits 2.1 3.0
  tb 2 recv←2 ch 1
    0 cpy  in[0] → out[0]
    1 r    out[2]              flagged
  tb 3 recv←4 ch 1
    0 r    out[4:7:2]          flagged
  tb 4 send→2 ch 1
    0 s    in[0]
  tb 5 send→4 ch 1
    0 s    out[0:3:2]          waits 2.1
`},
	} {
		m := script.Even(4, 2)
		program, err := f.Trace(m, script.Request{Collective: "allgather"}, script.Params{
			"groups": 1, "cross": "recursive", "local": "ring", "shuffle": c.shuffle,
		})
		if err != nil {
			t.Fatal(err)
		}
		compiled, err := compiler.Compile(program, compiler.Options{CheckEachPass: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := verify.Check(compiled.Program, verify.Options{Slots: 2}).Err(); err != nil {
			t.Error(err)
		}
		var b bytes.Buffer
		if err := ir.Print(&b, compiled.Program); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := bytes.Cut(b.Bytes(), []byte("\n"))
		rank0, _, _ := bytes.Cut(rest, []byte("gpu 1"))
		if string(rank0) != c.rank0 {
			t.Errorf("shuffle %v: rank 0 is\n%s\nwant\n%s", c.shuffle, rank0, c.rank0)
		}
	}
}
