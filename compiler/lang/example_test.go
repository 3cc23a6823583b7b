package lang_test

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// An in-place allreduce over two ranks: rank 1 adds rank 0's chunk to its own and
// sends the sum back.
func ExampleTrace() {
	c, err := collective.New(collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 1, InPlace: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := lang.NewTrace("sum", c)
	a, _ := t.Chunk(0, collective.In, 0, 1, 1)
	b, _ := t.Chunk(1, collective.In, 0, 1, 1)
	sum, _ := b.Reduce(a, -1)
	if _, err := sum.Copy(0, collective.In, 0, -1); err != nil {
		fmt.Println(err)
		return
	}
	p, err := t.Finish()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, op := range p.Ops {
		fmt.Println(op.Src, "→", op.Dst)
	}
	if _, err := a.Copy(1, collective.In, 0, -1); err != nil {
		fmt.Println(err)
	}
	// Output:
	// rank 0 in[0] → rank 1 in[0]
	// rank 1 in[0] → rank 0 in[0]
	// -: stale reference: rank 0 in[0] has been overwritten at -; refer to what is there now
}
