package verify

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir"
)

// TestDocument runs the example of docs/reference/ir.md: the document is right and
// canonical, prints as the text above it, and goes wrong as said below it.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/ir.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string][]string{}
	for i, part := range strings.Split(string(text), "```") {
		if kind, body, ok := strings.Cut(part, "\n"); ok && i%2 == 1 {
			blocks[kind] = append(blocks[kind], body)
		}
	}
	if len(blocks["json"]) != 1 || len(blocks["text"]) != 2 {
		t.Fatalf("%d documents and %d texts", len(blocks["json"]), len(blocks["text"]))
	}
	p, err := ir.Decode(strings.NewReader(blocks["json"][0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(p, Options{Slots: 2}).Err(); err != nil {
		t.Error(err)
	}
	var encoded, printed bytes.Buffer
	if err := ir.Encode(&encoded, p); err != nil || encoded.String() != blocks["json"][0] {
		t.Errorf("encodes as\n%s%v", encoded.String(), err)
	}
	if err := ir.Print(&printed, p); err != nil || printed.String() != blocks["text"][0] {
		t.Errorf("prints as\n%s%v", printed.String(), err)
	}
	p.GPUs[1].Threadblocks[1].Steps[0].Deps = nil
	if got := Check(p, Options{}).Findings[0].String() + "\n"; got != blocks["text"][1] {
		t.Errorf("without the wait: %swant %s", got, blocks["text"][1])
	}
}
