package compiler

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestDOT draws every graph of a small program; every node is there once, and
// every arrow is between nodes.
func TestDOT(t *testing.T) {
	_, texts, err := dumped(ringAllReduce(3, 1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, graph := range Graphs() {
		pass, err := GraphPass(graph)
		if err != nil {
			t.Fatal(err)
		}
		d, err := ParseDump(texts[passIndex(pass)])
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := d.DOT(&b); err != nil {
			t.Fatal(err)
		}
		nodes := map[string]int{}
		for _, m := range regexp.MustCompile(`(?m)^ +(\d+) \[label`).FindAllStringSubmatch(b.String(), -1) {
			nodes[m[1]]++
		}
		arrows := regexp.MustCompile(`(?m)^ +(\d+) -> (\d+)`).FindAllStringSubmatch(b.String(), -1)
		if len(nodes) == 0 || len(arrows) == 0 {
			t.Errorf("%s: %d nodes, %d arrows", graph, len(nodes), len(arrows))
		}
		for _, a := range arrows {
			if nodes[a[1]] != 1 || nodes[a[2]] != 1 || a[1] == a[2] {
				t.Errorf("%s: arrow %s", graph, a[0])
			}
		}
		fmt.Fprintf(&all, "== %s\n%s", graph, b.String())
	}
	golden(t, "ring3.dot.txt", all.String())

	if _, err := GraphPass("chunks"); err == nil || !strings.Contains(err.Error(), "want one of chunk, instructions, threadblocks") {
		t.Error(err)
	}
	d, err := ParseDump(texts[passIndex("emit")])
	if err != nil {
		t.Fatal(err)
	}
	if err := d.DOT(&all); err == nil {
		t.Error("the IR was drawn")
	}
}
