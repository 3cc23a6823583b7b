package topologies

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// figure is a string that is a number with a unit, or a part of two numbers.
var figure = regexp.MustCompile(`^[0-9.]+ ?([a-zA-Z/]+|/[0-9]+)?$`)

// unsourced returns the numbers of a file for which no source stands, by their
// dotted keys, and the sources that say of several numbers what may be true of
// some only. It reads the file by itself: what the reader asks for is not the
// question.
func unsourced(t *testing.T, text string) (at []string) {
	t.Helper()
	whole := map[string]any{}
	if _, err := toml.Decode(text, &whole); err != nil {
		t.Fatal(err)
	}
	var number func(v any) bool
	number = func(v any) bool {
		switch v := v.(type) {
		case int64, float64:
			return true
		case string:
			return figure.MatchString(v)
		case []any: // tiles, and not who is joined to whom
			_, list := v[0].([]any)
			_, gpu := v[0].(int64)
			return !list && !gpu && number(v[0])
		}
		return false
	}
	var walk func(path string, table map[string]any)
	walk = func(path string, table map[string]any) {
		each, _ := table["source"].(map[string]any)
		of := func(key string) string {
			for _, v := range []any{each[key], each["others"], table["source"]} {
				if text, ok := v.(string); ok {
					return text
				}
			}
			return ""
		}
		for key, v := range table {
			switch v := v.(type) {
			case map[string]any:
				if key != "source" {
					walk(path+"."+key, v)
				}
			case []map[string]any:
				for i, x := range v {
					walk(fmt.Sprintf("%s.%s[%d]", path, key, i), x)
				}
			default:
				text, alone := of(key), each[key] != nil
				switch {
				case key == "nodes" || !number(v):
				case len(text) < len("assumed"):
					at = append(at, path+"."+key)
				case !alone && exception(text, table):
					at = append(at, path+".source")
				}
			}
		}
	}
	walk("", whole)
	slices.Sort(at)
	return slices.Compact(at)
}

// exception reports whether a source for all numbers of a table makes one of
// some of them: it names a key, or is of several parts.
func exception(source string, table map[string]any) bool {
	if strings.Contains(source, ";") {
		return true
	}
	for key := range table {
		if key != "source" && regexp.MustCompile(`\b`+key+`\b`).MatchString(source) {
			return true
		}
	}
	return false
}

// catalogueFiles returns the texts of all entries, and of the generated systems'
// protocols.
func catalogueFiles(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range Names() {
		texts[name] = string(sourceOf(t, name))
	}
	protocols, err := embedded.ReadFile("catalogue/" + generatorProtocols + ".toml")
	if err != nil {
		t.Fatal(err)
	}
	texts[generatorProtocols] = string(protocols)
	return texts
}

// TestEveryNumberHasASource: each number of the catalogue, and of the generated
// systems' protocols, says where it is from, by itself or in a source that is true
// of all its table's.
func TestEveryNumberHasASource(t *testing.T) {
	sourceLine := regexp.MustCompile(`(?m)^source\s*=.*\n`)
	for name, text := range catalogueFiles(t) {
		if at := unsourced(t, text); len(at) > 0 {
			t.Errorf("%s: no source, or one with exceptions: %s", name, strings.Join(at, ", "))
		}
		// Every source is one that would be missed, but for what only says whom
		// a table is like, and a switch's that has no links of its own.
		for _, line := range sourceLine.FindAllStringIndex(text, -1) {
			table := text[:line[0]]
			table = table[strings.LastIndex(table, "\n[")+1:]
			without := text[:line[0]] + text[line[1]:]
			if len(unsourced(t, without)) == 0 && !strings.Contains(table, "like ") && strings.Count(table, "=") > 1 {
				t.Errorf("%s: without %s nothing is missed in %q", name, text[line[0]:line[1]], table)
			}
		}
	}
}

// TestEachSourceIsRequired takes each line out of the tables of sources: the reader
// misses it, and says whose it is and where, unless the number is among the others
// then, or is none. A line of something else is refused as well.
func TestEachSourceIsRequired(t *testing.T) {
	asked := 0
	for _, name := range Names() {
		lines := strings.SplitAfter(string(sourceOf(t, name)), "\n")
		header, others := "", false
		for i, line := range lines {
			if strings.HasPrefix(line, "[") {
				header = strings.TrimSpace(line)
				rest := strings.Join(lines[i+1:], "")
				rest, _, _ = strings.Cut(rest, "\n[")
				others = strings.Contains(rest, "\nothers")
			}
			key, _, isKey := strings.Cut(line, "=")
			key = strings.TrimSpace(key)
			if !isKey || !strings.HasSuffix(header, ".source]") {
				continue
			}
			without := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
			_, err := Read(name, []byte(without), Options{})
			number := !slices.Contains([]string{"pairs", "serves", "at", "cpu", "nic_path"}, key)
			switch missed := number && (!others || key == "others"); {
			case !missed && err != nil:
				t.Errorf("%s without %s: %v", name, line, err)
			case missed && (err == nil || !strings.Contains(err.Error(), ".source: ") || key != "others" && !strings.Contains(err.Error(), key)):
				t.Errorf("%s without %s: %v", name, line, err)
			case missed:
				asked++
			}
			other := strings.Join(slices.Insert(slices.Clone(lines), i, "x"+line), "")
			if _, err := Read(name, []byte(other), Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s:%d: ", name, i+1)) || !strings.Contains(err.Error(), "unknown key") {
				t.Errorf("%s with x%s: %v", name, line, err)
			}
		}
	}
	if asked < 100 {
		t.Errorf("%d sources asked for: are there no more?", asked)
	}
}

// Every entry resolves and passes the checks as one node and as three, whole and with
// half of its GPUs, and has that number of ranks.
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
