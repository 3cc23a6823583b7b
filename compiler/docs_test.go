package compiler

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// pairName is the program of docs/reference/compiler.md.
const pairName = "pair"

// TestDocs: the page lists the passes there are, and its dumps are those of the
// program that it shows.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/reference/compiler.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var table strings.Builder
	for _, p := range Passes() {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", p.Name, map[bool]string{true: "required", false: "optional"}[p.Required], p.Doc)
	}
	if !strings.Contains(page, table.String()) {
		t.Errorf("the table of passes is\n%s", table.String())
	}

	b := allreduce(2, 2)
	b.p.Name, b.channel = pairName, 0
	b.reduce(in(0, 0), in(1, 0), 1)
	b.reduce(in(1, 1), in(0, 1), 1)
	b.copy(in(0, 0), in(1, 0), 1)
	b.copy(in(1, 1), in(0, 1), 1)
	texts := dumps(t, &b.p, Options{})
	blocks := regexp.MustCompile("(?s)```text\n(after (.*?) of .*?)```").FindAllStringSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Errorf("%d dumps on the page, of 3", len(blocks))
	}
	for _, m := range blocks {
		if want := texts[m[2]]; m[1] != want {
			t.Errorf("after %s the page has\n%s\nand there is\n%s", m[2], m[1], want)
		}
	}
	for _, row := range limits {
		if !strings.Contains(page, strings.Split(row.what, " ")[0]) {
			t.Errorf("limit of %s is not on the page", row.what)
		}
	}
}
