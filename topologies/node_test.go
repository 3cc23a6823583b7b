package topologies

import (
	"bytes"
	"testing"
)

// TestNodeIsTheSystemOfOne: a node cut out of several is what the same file
// gives for one node, except for the NICs, which one node has no use for.
func TestNodeIsTheSystemOfOne(t *testing.T) {
	for _, name := range Names() {
		want, err := Resolve(name, Options{Nodes: 1})
		if err != nil {
			t.Fatal(err)
		}
		several, err := Resolve(name, Options{Nodes: 3})
		if err != nil {
			t.Fatal(err)
		}
		for node := range 3 {
			got := several.Node(node)
			for i := range got.Vertices {
				got.Vertices[i].Name = want.Vertices[i].Name // named after their node
			}
			if !bytes.Equal(got.Encode(), want.Encode()) {
				t.Errorf("%s: node %d of 3 is\n%s\nwant\n%s", name, node, got.Encode(), want.Encode())
			}
		}
		if several.Node(3) != nil {
			t.Errorf("%s: a fourth node of three", name)
		}
	}
}
