package topologies

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/units"
)

// Rewrite applies a calibration to the numbers of a topology file, and changes
// nothing else: comments and the order of tables stay. Every changed number
// gets a source with its origin (from) and its old value.
//
// The text must be a topology file. The error is an ErrorList if it is not, or
// names a line whose syntax Rewrite does not support.
func Rewrite(file string, text []byte, c Calibration, from string) ([]byte, error) {
	before, err := Read(file, text, Options{})
	if err != nil {
		return nil, err
	}
	w := &rewriter{file: file, from: plainName(from), lines: strings.Split(string(text), "\n")}
	for i := range w.lines {
		w.take(i)
	}
	for _, t := range w.tables {
		for _, n := range t.links(c) {
			w.count(t, n.key)
			if err := w.change(t, n); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range before.HasProtocols() {
		if err := w.protocol("protocol."+p.String(), before.Protocols[p], before.Protocols[p].calibrated(c)); err != nil {
			return nil, err
		}
	}
	out := w.text()
	after, err := Read(file, out, Options{})
	if err != nil {
		return nil, fmt.Errorf("with other numbers: %w", err)
	}
	if !alike(before.Calibrated(c), after) {
		return nil, fmt.Errorf("%s: its numbers are not written one a line, as colltune topology show -o toml prints them: change them by hand", file)
	}
	return out, nil
}

// plainName returns a file's name without characters that TOML would escape.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "_"))
}

// alike reports whether two systems have the same numbers, as rounded in a
// file.
func alike(a, b *Topology) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-3*math.Max(x, y) }
	if len(a.Edges) != len(b.Edges) {
		return false
	}
	for i := range a.Edges {
		if !near(float64(a.Edges[i].Bandwidth), float64(b.Edges[i].Bandwidth)) || a.Edges[i].Counted != b.Edges[i].Counted {
			return false
		}
	}
	return slices.EqualFunc(a.Protocols[:], b.Protocols[:], func(x, y Protocol) bool { return slices.Equal(x.constants(), y.constants()) })
}

// rewriter is a file's text, divided into tables.
type rewriter struct {
	file, from string
	lines      []string
	tables     []*textTable
	added      map[int][]string // lines to be put after a line
}

// textTable is a table of a file as it is written.
type textTable struct {
	name   string         // node.link
	header int            // its line
	keys   map[string]int // a line each
	values map[string]string
	other  map[string]int // lines of keys whose values are no plain texts
	source *textTable     // node.link.source
}

// A table's header, and a key with a string. Values in other forms, over
// several lines or inline, are not changed.
var (
	headingLine = lazyregexp.New(`^\s*\[\[?\s*([A-Za-z][A-Za-z0-9_.-]*)\s*\]\]?\s*(?:#.*)?$`)
	textLine    = lazyregexp.New(`^(\s*([A-Za-z_]+)\s*=\s*")([^"\\]*)(".*)$`)
	keyLine     = lazyregexp.New(`^\s*([A-Za-z_]+)\s*=`)
)

// take reads a line.
func (w *rewriter) take(i int) {
	if m := headingLine().FindStringSubmatch(w.lines[i]); m != nil {
		t := &textTable{name: m[1], header: i, keys: map[string]int{}, values: map[string]string{}, other: map[string]int{}}
		if of, ok := strings.CutSuffix(m[1], ".source"); ok && len(w.tables) > 0 && w.tables[len(w.tables)-1].name == of {
			w.tables[len(w.tables)-1].source = t
		}
		w.tables = append(w.tables, t)
		return
	}
	if len(w.tables) == 0 {
		return
	}
	t := w.tables[len(w.tables)-1]
	if m := textLine().FindStringSubmatch(w.lines[i]); m != nil {
		t.keys[m[2]], t.values[m[2]] = i, m[3]
	} else if m := keyLine().FindStringSubmatch(w.lines[i]); m != nil {
		t.other[m[1]] = i
	}
}

// linkKind is the kind of link whose bandwidth a table has.
func (t *textTable) linkKind() (LinkKind, bool) {
	last := t.name[strings.LastIndex(t.name, ".")+1:]
	switch {
	case strings.HasPrefix(t.name, "node") && (last == "link" || last == "switch"):
		i := slices.Index(linkNames[:], t.values["kind"])
		return LinkKind(max(i, 0)), i >= 0 // a switch that links lead to has none
	case strings.HasPrefix(t.name, "node") && (last == "nic" || last == "far"), strings.HasPrefix(t.name, "fabric."):
		return Net, true
	}
	return 0, false
}

// links returns the bandwidths of a table of links that a calibration changes.
func (t *textTable) links(c Calibration) (all []fittedConstant) {
	kind, ok := t.linkKind()
	if !ok {
		return nil
	}
	times, changed := c.Links[kind]
	if !changed {
		return nil
	}
	for _, key := range []string{"bandwidth", "bus"} {
		if old, err := units.ParseBandwidth(t.values[key]); err == nil {
			all = append(all, fittedConstant{key, gigabytes(float64(old) * times)})
		}
	}
	return all
}

func micros(d units.Duration) string { return strconv.FormatFloat(float64(d), 'f', -1, 64) + " us" }

func gigabytes(w float64) string { return strconv.FormatFloat(w/1e9, 'g', 5, 64) + " GB/s" }

// change writes a number and where it is from.
func (w *rewriter) change(t *textTable, n fittedConstant) error {
	was := t.values[n.key]
	if t.source != nil && t.source.values[n.key] == "" {
		if line, there := t.source.other[n.key]; there {
			return fmt.Errorf("%s:%d: the source of %s is not a text in double quotes without escapes: change it by hand", w.file, line+1, n.key)
		}
	}
	w.put(t.keys[n.key], n.value)
	note := fmt.Sprintf("fitted to %s, %s before", w.from, was)
	switch at, ok := t.keys["source"]; {
	case ok:
		t.values["source"] += "; " + n.key + " " + note
		w.put(at, t.values["source"])
	case t.source == nil:
		return fmt.Errorf("%s:%d: the source of %s is not written in a line, nor as [%s.source]: change it by hand", w.file, t.header+1, n.key, t.name)
	case doubtful(t.source.values[n.key]) >= 0: // no longer
		w.put(t.source.keys[n.key], note)
	case t.source.values[n.key] != "":
		w.put(t.source.keys[n.key], note+" ("+t.source.values[n.key]+")")
	default:
		w.add(t.source.header, fmt.Sprintf("%s = %q", n.key, note))
	}
	return nil
}

// count writes, beside a bandwidth that changes, the old one as what the vendor's library
// counts, so that it chooses as before.
func (w *rewriter) count(t *textTable, key string) {
	last := t.name[strings.LastIndex(t.name, ".")+1:]
	if key != "bandwidth" || last != "link" && last != "switch" && last != "nic" || t.values["counted"] != "" {
		return
	}
	w.add(t.keys[key], fmt.Sprintf("counted = %q", t.values[key]))
	if t.source != nil && t.source.values[rest] == "" {
		w.add(t.source.header, fmt.Sprintf("counted = %q", cmp.Or(t.source.values[key], "the bandwidth before")))
	}
}

// put replaces the text of a line.
func (w *rewriter) put(line int, value string) {
	w.lines[line] = textLine().ReplaceAllString(w.lines[line], "${1}"+strings.ReplaceAll(value, "$", "$$")+"${4}")
}

// add puts a line after another.
func (w *rewriter) add(after int, line string) {
	if w.added == nil {
		w.added = map[int][]string{}
	}
	w.added[after] = append(w.added[after], line)
}

// protocol writes the changed constants of a protocol. Those that no table
// contains, because the protocols are `like` another system's, are added.
func (w *rewriter) protocol(name string, before, after Protocol) error {
	was := before.constants()
	var missing []string
	i := slices.IndexFunc(w.tables, func(t *textTable) bool { return t.name == name })
	for j, n := range after.constants() {
		if n == was[j] {
			continue
		}
		note := fmt.Sprintf("fitted to %s, %s before", w.from, was[j].value)
		if i < 0 {
			missing = append(missing, fmt.Sprintf("%s = %q", n.key, n.value))
			continue
		}
		t := w.tables[i]
		if t.values[n.key] != "" {
			if err := w.change(t, n); err != nil {
				return err
			}
			continue
		}
		w.add(t.header, fmt.Sprintf("%s = %q", n.key, n.value))
		if at, ok := t.keys["source"]; ok {
			t.values["source"] += "; " + n.key + " " + note
			w.put(at, t.values["source"])
		} else if t.source != nil {
			w.add(t.source.header, fmt.Sprintf("%s = %q", n.key, note))
		}
	}
	if len(missing) > 0 {
		w.add(len(w.lines)-1, fmt.Sprintf("[%s]\n%s\nsource = %q\n", name, strings.Join(missing, "\n"), "fitted to "+w.from))
	}
	return nil
}

// text returns the file as it is now.
func (w *rewriter) text() []byte {
	var all []string
	for i, line := range w.lines {
		all = append(all, line)
		all = append(all, w.added[i]...)
	}
	return []byte(strings.Join(all, "\n"))
}
