package templates

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
)

// example is a fenced block of docs/language.md: "run" a template, run a
// program's "body", or run a template into an "error", the one of the block of
// text that follows.
var example = regexp.MustCompile("(?s)```python(?: chunks=(\\d+))? (run|body|error)=([a-z]+)@(\\d)x(\\d)\n(.*?)```\n(?:```text\n(.*?)\n```)?")

func TestLanguageExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := example.FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "```python"); len(blocks) != n || n < 9 {
		t.Fatalf("%d examples, of which %d are run", n, len(blocks))
	}
	for i, b := range blocks {
		chunks, how, coll, src, want := b[1], b[2], b[3], b[6], b[7]
		var nodes, gpus int
		fmt.Sscan(b[4]+" "+b[5], &nodes, &gpus)
		if how == "body" {
			src = fmt.Sprintf("family(name = \"x\", collectives = [%q])\ndef chunks(topo, p):\n    return %s\ndef program(topo, p):\n    %s\n",
				coll, max("1", chunks), strings.ReplaceAll(src, "\n", "\n    "))
		}
		f, err := Parse("language.star", []byte(src))
		if err == nil {
			_, err = f.Trace(script.Even(nodes, gpus), script.Request{Collective: coll, InPlace: collective.DefaultInPlace(coll)}, nil)
		}
		if how == "run" && err == nil {
			err = worksWhereItSays(f, coll, nodes)
		}
		switch {
		case how != "error" && err != nil:
			t.Errorf("example %d: %v\n%s", i, err, src)
		case how == "error" && (want == "" || fmt.Sprint(err) != "language.star:"+want):
			t.Errorf("example %d: error\n\t%v\nwant\n\tlanguage.star:%s", i, err, want)
		}
	}
}

// worksWhereItSays runs an example on systems whose nodes lack links, where it applies:
// users copy it, and check what they make of it on such.
func worksWhereItSays(f *Family, coll string, nodes int) error {
	const n = 5
	for name, linked := range map[string]func(a, b int) bool{
		"all":      func(a, b int) bool { return true },
		"a ring":   func(a, b int) bool { return (a+1)%n == b || (b+1)%n == a },
		"one way":  func(a, b int) bool { return (a+1)%n == b },
		"a line":   func(a, b int) bool { return a+1 == b || b+1 == a },
		"a star":   func(a, b int) bool { return a == 0 || b == 0 },
		"not at 0": func(a, b int) bool { return a > 0 && b > 0 },
	} {
		m := script.Even(nodes, n)
		m.Linked = func(a, b int) bool { return a/n != b/n || linked(a%n, b%n) }
		q := script.Request{Collective: coll, InPlace: collective.DefaultInPlace(coll)}
		yes, _, err := f.Admits(m, q, nil)
		if yes && err == nil {
			_, err = f.Trace(m, q, nil)
		}
		if err != nil || name == "all" && !yes {
			return fmt.Errorf("links %s: applies %v: %v", name, yes, err)
		}
	}
	return nil
}

// TestLanguageNamesTheLibrary holds the page's table of modules to what they
// define.
func TestLanguageNamesTheLibrary(t *testing.T) {
	text, err := os.ReadFile("../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	for module, src := range library() {
		_, row, ok := strings.Cut(string(text), "| `"+module+"` | ")
		if !ok {
			t.Errorf("%s is not on the page", module)
		}
		row, _, _ = strings.Cut(row, "\n")
		for _, def := range regexp.MustCompile(`(?m)^def (\w+)`).FindAllStringSubmatch(src, -1) {
			if !strings.Contains(row, "`"+def[1]+"`") {
				t.Errorf("%s has %s, the page does not", module, def[1])
			}
		}
	}
}
