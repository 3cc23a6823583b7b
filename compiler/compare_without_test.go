package compiler

import (
	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/lang"
)

// compareWithout compiles a program with a pass, and without it: the pass is the
// last of o.Disable. Either IR leaves the values that the operations leave when
// executed one by one. With the pass no rank copies more, no rank has more
// instructions, and the longest path is no longer. (Fewer instructions may be
// fused; which ones depends on the waits.) It returns the local work and the longest
// path without the pass, and with it.
func compareWithout(t *rapid.T, p *lang.Program, o Options) (was, is local, length, now int32) {
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
