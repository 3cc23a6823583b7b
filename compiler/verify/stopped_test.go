package verify

import (
	"os"
	"testing"

	"github.com/colltune/colltune/compiler/ir"
)

// TestStoppedTwice is a right program in which a threadblock is stopped for a
// slot, roused by a message, and stopped for a slot again: it must be made
// ready once, or it would wait in line behind itself for ever.
func TestStoppedTwice(t *testing.T) {
	f, err := os.Open("testdata/stopped-twice.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := ir.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(p, Options{}).Err(); err != nil {
		t.Error(err)
	}
}
