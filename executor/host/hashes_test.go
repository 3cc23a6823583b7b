package host

import (
	"runtime"
	"testing"
	"weak"

	"github.com/colltune/colltune/compiler/ir"
)

// TestHashesKeepNothingAlive: a program is hashed once while it is in use, and the
// cache of hashes does not keep it from being collected.
func TestHashesKeepNothingAlive(t *testing.T) {
	times := 0
	h := hashCache[ir.Program]{of: func(*ir.Program) string { times++; return "hash" }}
	p := &ir.Program{}
	h.get(p)
	h.get(p)
	if times != 1 {
		t.Errorf("hashed %d times", times)
	}
	gone := weak.Make(p)
	runtime.KeepAlive(p)
	p = nil
	runtime.GC()
	if gone.Value() != nil {
		t.Error("what is remembered of a program keeps it alive")
	}
}
