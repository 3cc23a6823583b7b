package tomlfile

import (
	"errors"
	"maps"
	"strings"
	"testing"
)

const sample = `# a system
name = "box"
text = """
[node] # no table: it is within a string
gpus = 1
"""

[node]
gpus = 8
"odd key".x = {bandwidth = "1 GB/s"}

[[node.link]]
bandwidth = "25 GB/s"

[[node.link]]
pairs = [
  [0, 1],
]
kind = "nvlink"
[node.link.source]
bandwidth = "vendor"
`

func TestLines(t *testing.T) {
	var v map[string]any
	_, lines, err := Decode(sample, &v)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"name": 2, "text": 3, "node": 8, "node.gpus": 9, `node."odd key"`: 10, `node."odd key".x`: 10,
		"node.link": 12, "node.link[0]": 12, "node.link[0].bandwidth": 13, "node.link[1]": 15, "node.link[1].pairs": 16,
		"node.link[1].kind": 19, "node.link[1].source": 20, "node.link[1].source.bandwidth": 21,
	} {
		if got := lines[path]; got != want {
			t.Errorf("%s: line %d, want %d", path, got, want)
		}
	}
	// What has no line is on that of the table around it.
	for path, want := range map[string]int{"node.link[1].latency": 15, `node."odd key".x.bandwidth`: 10, "fabric": 0} {
		if got := lines.Of(path); got != want {
			t.Errorf("%s: line %d, want %d", path, got, want)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\n[node\ngpus = 8\n":              `line 2: "[node" is not closed: want [node]`,
		"a = 1\nb = \"x\nc = 2\n":               `line 2: a string that is not closed: want b = "x"`,
		"a = 1\n\na = 2\n":                      "line 3: a is there already, in line 1: want it once",
		"list = [\n1,\n2\n[node]\n":             "line 1: a list that is not closed: want ] at its end",
		"x = " + strings.Repeat("[", 10000):     "line 1: brackets nested more than 16 deep",
		strings.Repeat("a.", 10000) + "b = 1\n": "line 1: a key of more than 8 parts",
	} {
		var v map[string]any
		_, _, err := Decode(text, &v)
		if at := (*Error)(nil); !errors.As(err, &at) || err.Error() != want {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// FuzzDecode: no text hurts, and every line is one of the text's.
func FuzzDecode(f *testing.F) {
	f.Add(sample)
	f.Add("a = '''\n'''\n[b]\n[[c.d]]\n")
	f.Fuzz(func(t *testing.T, text string) {
		var v map[string]any
		_, lines, err := Decode(text, &v)
		n := strings.Count(text, "\n") + 1
		for line := range maps.Values(lines) {
			if line < 1 || line > n {
				t.Fatalf("line %d of %d", line, n)
			}
		}
		if at := (*Error)(nil); errors.As(err, &at) && (at.Line < 0 || at.Line > n) {
			t.Fatalf("%v: the text has %d lines", err, n)
		}
	})
}

func TestCheckSchema(t *testing.T) {
	for text, want := range map[string]string{
		"a = 1\nschema = \"x/v1\"": "",
		"a = 1\nschema = \"y/v1\"": `line 2: schema "y/v1": want "x/v1"`,
		"a = 1\nshema = \"x/v1\"":  `line 1: no schema above the tables: want schema = "x/v1"`,
	} {
		var d struct{ Schema string }
		_, lines, err := Decode(text, &d)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := lines.CheckSchema(d.Schema, "x/v1"); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
