package topologies

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// figure is a string that is a number with a unit, or a part of two numbers.
var figure = regexp.MustCompile(`^[0-9.]+ ?([a-zA-Z/]+|/[0-9]+)?$`)

// unsourced are the tables of a file that hold numbers and do not say where they
// are from. It reads the file by itself: what the reader asks for is not the
// question.
func unsourced(t *testing.T, text string) (at []string) {
	t.Helper()
	whole := map[string]any{}
	if _, err := toml.Decode(text, &whole); err != nil {
		t.Fatal(err)
	}
	var numbers func(v any) bool
	numbers = func(v any) bool {
		switch v := v.(type) {
		case int64, float64:
			return true
		case string:
			return figure.MatchString(v)
		case []any:
			for _, x := range v {
				if numbers(x) {
					return true
				}
			}
		}
		return false
	}
	var walk func(path string, table map[string]any)
	walk = func(path string, table map[string]any) {
		counted := false
		for key, v := range table {
			switch v := v.(type) {
			case map[string]any:
				walk(path+"."+key, v)
			case []map[string]any:
				for i, x := range v {
					walk(fmt.Sprintf("%s.%s[%d]", path, key, i), x)
				}
			default:
				counted = counted || key != "nodes" && numbers(v)
			}
		}
		if source, _ := table["source"].(string); counted && len(source) < len("NCCL 2.30") {
			at = append(at, path)
		}
	}
	walk("", whole)
	return at
}

// TestEveryNumberHasASource: no table of a catalogue entry, nor of the generated
// systems' protocols, has a number without saying where it is from.
func TestEveryNumberHasASource(t *testing.T) {
	texts := map[string]string{}
	for _, name := range Names() {
		texts[name] = string(sourceOf(t, name))
	}
	protocols, err := embedded.ReadFile("catalogue/" + generatorProtocols + ".toml")
	if err != nil {
		t.Fatal(err)
	}
	texts[generatorProtocols] = string(protocols)
	sourceLine := regexp.MustCompile(`(?m)^source\s*=.*$`)
	for name, text := range texts {
		if at := unsourced(t, text); len(at) > 0 {
			t.Errorf("%s: no source in %s", name, strings.Join(at, ", "))
		}
		// Every source is one that would be missed, but for what only says whom
		// a table is like.
		for _, line := range sourceLine.FindAllStringIndex(text, -1) {
			table := text[:line[0]]
			table = table[strings.LastIndex(table, "\n[")+1:]
			without := text[:line[0]] + text[line[1]:]
			if at := unsourced(t, without); len(at) != 1 && !strings.Contains(table, "like ") {
				t.Errorf("%s: without %s nothing is missed in %q", name, text[line[0]:line[1]], table)
			}
		}
	}
}

// TestEveryEntryInPart: every entry can be had, and looked over, as one node and as three, whole and
// with half of its GPUs, and has as many ranks as that makes.
func TestEveryEntryInPart(t *testing.T) {
	for _, name := range Names() {
		gpus := len(must(t, name, Options{Nodes: 1}).Ranks)
		var half []int
		for g := range gpus / 2 {
			half = append(half, g)
		}
		for _, o := range []Options{{Nodes: 1}, {Nodes: 3}, {Nodes: 1, GPUs: half}, {Nodes: 3, GPUs: half}} {
			top, found, err := Lint(name, o)
			if err != nil {
				t.Errorf("%s %+v: %v", name, o, err)
				continue
			}
			want := o.Nodes * gpus
			if o.GPUs != nil {
				want = o.Nodes * len(half)
			}
			if len(top.Ranks) != want {
				t.Errorf("%s %+v: %d ranks, want %d", name, o, len(top.Ranks), want)
			}
			for _, f := range found {
				if f.Msg == "" || f.Key != "" && f.Line == 0 {
					t.Errorf("%s %+v: a finding at no line: %+v", name, o, f)
				}
			}
		}
	}
}
