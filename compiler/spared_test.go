package compiler

import (
	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/lang"
)

// spared compiles a program without the pass that is the last of those left
// out, and with it: either way the IR leaves what the operations leave, done
// one by one, and with the pass nobody copies more, has more instructions, or
// waits for more of them in a row. (Fewer of them may be fused: which ones are
// hangs on what waits for what.) It returns the local work and the longest
// chain without the pass, and with it.
func spared(t *rapid.T, p *lang.Program, o Options) (was, is local, length, now int32) {
	before, err := Compile(p, o)
	if err != nil {
		t.Fatal(err)
	}
	length = longestChain(t, p, o)
	o.Disable = o.Disable[:len(o.Disable)-1]
	after, err := Compile(p, o)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range int64(3) {
		if err := executeAs(after.Program, p, o.Slots, o.CallPerChunk, seed); err != nil {
			t.Fatal(err)
		}
		if err := executeAs(before.Program, p, o.Slots, o.CallPerChunk, seed); err != nil {
			t.Fatalf("without: %v", err)
		}
	}
	was, is, now = localWork(before.Program), localWork(after.Program), longestChain(t, p, o)
	if is.copies > was.copies || is.copied > was.copied || is.instructions > was.instructions || now > length {
		t.Fatalf("%+v and a chain of %d, and %+v and %d without", is, now, was, length)
	}
	return was, is, length, now
}
