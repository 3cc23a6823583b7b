package msccl

import (
	"bytes"
	"testing"

	"github.com/colltune/colltune/compiler/ir"
)

// reread writes a program and reads it back.
func reread(t testing.TB, p *ir.Program, o WriteOptions) *ir.Program {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, p, o); err != nil {
		t.Fatal(err)
	}
	f, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Notes) > 0 {
		t.Errorf("the runtimes' reader does not take what was written: %v", f.Notes)
	}
	again, known, err := f.Program(p.Collective.InPlace)
	if err != nil || !known {
		t.Fatalf("known %v, %v", known, err)
	}
	return again
}
