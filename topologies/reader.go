package topologies

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sort"
	"strings"

	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/tomlfile"
	"github.com/colltune/colltune/internal/units"
)

// maxFile is the largest topology file read.
const maxFile = 1 << 20

// reader collects all faults of one file.
type reader struct {
	file  string
	lines tomlfile.Lines
	errs  ErrorList
	alike int // length of the chain of entries that led here by `like`
	notes []sourceNote
}

// table is a TOML table while it is read. Reading a key makes it known, and
// done reports all unknown ones, so that no key is ignored.
type table struct {
	r     *reader
	path  string // dotted, with indices: node.link[2]
	keys  map[string]any
	asked []string
	below []string // known keys that are tables

	figures []string // known keys that are there and have numbers
}

// parse reads TOML text into its top-level table.
func parse(file string, text []byte) (*table, error) {
	r := &reader{file: file}
	if len(text) > maxFile {
		return nil, ErrorList{{File: file, Msg: fmt.Sprintf("%d bytes: want at most %d", len(text), maxFile)}}
	}
	keys := map[string]any{}
	_, lines, err := tomlfile.Decode(string(text), &keys)
	if err != nil {
		fault := &Error{File: file, Msg: err.Error()}
		if at := (*tomlfile.Error)(nil); errors.As(err, &at) {
			fault.Line, fault.Msg = at.Line, at.Msg
		}
		return nil, ErrorList{fault}
	}
	r.lines = lines
	return &table{r: r, keys: keys}, nil
}

// err returns all faults found so far, by line; nil if there are none.
func (r *reader) err() error {
	if len(r.errs) == 0 {
		return nil
	}
	sort.SliceStable(r.errs, func(i, j int) bool { return r.errs[i].Line < r.errs[j].Line })
	return r.errs
}

func (t *table) at(key string) string {
	switch {
	case key == "":
		return t.path
	case t.path == "":
		return key
	}
	return t.path + "." + key
}

// fail notes a fault of a key, or of the table itself for "".
func (t *table) fail(key, format string, args ...any) {
	path := t.at(key)
	t.r.errs = append(t.r.errs, &Error{
		File: t.r.file, Line: t.r.lines.Of(path), Key: path, Msg: fmt.Sprintf(format, args...),
	})
}

func (t *table) has(key string) bool {
	if !slices.Contains(t.asked, key) {
		t.asked = append(t.asked, key)
	}
	_, ok := t.keys[key]
	return ok
}

// need is has, but notes a fault if the key is missing.
func (t *table) need(key, want string) bool {
	if t.has(key) {
		return true
	}
	t.fail(key, "missing: want %s", want)
	return false
}

// done reports the keys that were never read.
func (t *table) done() {
	unknown := []string{}
	for k := range t.keys {
		if !slices.Contains(t.asked, k) {
			unknown = append(unknown, k)
		}
	}
	sort.Strings(unknown)
	known := slices.Clone(t.asked)
	sort.Strings(known)
	for _, k := range unknown {
		t.fail(tomlfile.Key(k), "unknown key%s: want one of %s", suggest.DidYouMean(k, t.likely(k, known)), strings.Join(known, ", "))
	}
}

// likely lists the known keys. Those that an unknown one could stand for come
// first: keys of its kind, table or value, that the file lacks.
func (t *table) likely(unknown string, known []string) []string {
	isTable := func(v any) bool {
		switch v.(type) {
		case map[string]any, []map[string]any:
			return true
		}
		return false
	}
	unfit := func(k string) (n int) {
		if _, there := t.keys[k]; there {
			n += 2
		}
		if slices.Contains(t.below, k) != isTable(t.keys[unknown]) {
			n++
		}
		return n
	}
	known = slices.Clone(known)
	slices.SortStableFunc(known, func(a, b string) int { return unfit(a) - unfit(b) })
	return known
}

// table returns the table at a key. If it is missing, or something else, that is a
// fault and the result is nil.
func (t *table) table(key string) *table {
	t.below = append(t.below, key)
	if !t.need(key, "the table ["+t.at(key)+"]") {
		return nil
	}
	m, ok := t.keys[key].(map[string]any)
	if !ok {
		t.fail(key, "%s: want the table [%s]", sortOf(t.keys[key]), t.at(key))
		return nil
	}
	return &table{r: t.r, path: t.at(key), keys: m}
}

// tables returns the array of tables at a key, [[key]]; empty if it is missing.
func (t *table) tables(key string) []*table {
	t.below = append(t.below, key)
	if !t.has(key) {
		return nil
	}
	var all []*table
	switch list := t.keys[key].(type) {
	case []map[string]any:
		for i, m := range list {
			all = append(all, &table{r: t.r, path: fmt.Sprintf("%s[%d]", t.at(key), i), keys: m})
		}
	default:
		t.fail(key, "%s: want tables [[%s]], of which there may be several", sortOf(t.keys[key]), t.at(key))
	}
	return all
}

// text returns the string at a key, or fallback if it is missing. Without a
// fallback that is a fault.
func (t *table) text(key, fallback string) string {
	if !t.has(key) {
		if fallback == "" {
			t.fail(key, "missing: want a string")
		}
		return fallback
	}
	s, ok := t.keys[key].(string)
	if !ok || strings.TrimSpace(s) == "" || len(s) > 1000 {
		t.fail(key, "want a string of 1 to 1000 bytes")
		return fallback
	}
	return s
}

// choice returns one of the words allowed. If it is another that is a fault,
// and the result is the first.
func (t *table) choice(key string, allowed ...string) string {
	if !t.need(key, "one of "+strings.Join(allowed, ", ")) {
		return allowed[0]
	}
	s, _ := t.keys[key].(string)
	if !slices.Contains(allowed, s) {
		t.fail(key, "unknown value %q%s: want one of %s", fmt.Sprint(t.keys[key]), suggest.DidYouMean(s, allowed), strings.Join(allowed, ", "))
		return allowed[0]
	}
	return s
}

// whole returns a required number from lo to hi. If it is another that is a
// fault, and the result is lo.
func (t *table) whole(key string, lo, hi int) int {
	if !t.need(key, fmt.Sprintf("a whole number from %d to %d", lo, hi)) {
		return lo
	}
	t.figures = append(t.figures, key)
	n, ok := t.keys[key].(int64)
	want := fmt.Sprintf("want a whole number from %d to %d", lo, hi)
	switch s, quoted := t.keys[key].(string); {
	case quoted && s != "" && strings.Trim(s, "0123456789") == "":
		t.fail(key, "%s is a string: %s, without quotes", shown(s), want)
		return lo
	case !ok:
		if key == "nodes" {
			want += `, or kinds of node such as ["big", "small"]`
		}
		t.fail(key, "%s: %s", sortOf(t.keys[key]), want)
		return lo
	case n < int64(lo) || n > int64(hi):
		t.fail(key, "%d is out of range: %s", n, want)
		return lo
	}
	return int(n)
}

// right reports whether no fault was recorded for a key.
func (t *table) right(key string) bool {
	path := t.at(key)
	return !slices.ContainsFunc(t.r.errs, func(e *Error) bool { return e.Key == path })
}

// quantity returns a required string with a unit.
func quantity[T any](t *table, key, example string, read func(string) (T, error)) (v T) {
	if !t.need(key, "a number and a unit such as \""+example+"\"") {
		return v
	}
	t.figures = append(t.figures, key)
	s, ok := t.keys[key].(string)
	if !ok {
		t.fail(key, "%v has no unit: want a number and a unit such as \"%s\"", shown(t.keys[key]), example)
		return v
	}
	v, err := read(s)
	if err != nil {
		t.fail(key, "%v", err)
	}
	return v
}

func (t *table) bandwidth(key string) units.Bandwidth {
	return quantity(t, key, "300 GB/s", func(s string) (units.Bandwidth, error) {
		w, err := units.ParseBandwidth(s)
		if err == nil && w > maxBandwidth {
			return 1, fmt.Errorf("%q is out of range: want at most %v", s, maxBandwidth)
		}
		return max(w, 1), err
	})
}

func (t *table) duration(key string) units.Duration {
	return quantity(t, key, "0.7 us", func(s string) (units.Duration, error) {
		d, err := units.ParseDuration(s)
		if err == nil && !sane(d) {
			return 0, fmt.Errorf("%q is out of range: want 0 us to %v", s, maxDuration)
		}
		return d, err
	})
}

func (t *table) bytes(key string) units.Bytes {
	return quantity(t, key, "16 KiB", readTile)
}

func readTile(s string) (units.Bytes, error) {
	n, err := units.ParseBytes(s)
	if err == nil && (n < 1 || n > maxTile) {
		return 1, fmt.Errorf("%q is out of range: want 1 byte to %v", s, maxTile)
	}
	return n, err
}

func (t *table) bytesList(key string) (all []units.Bytes) {
	if !t.need(key, `sizes such as ["256 KiB", "2 MiB"]`) {
		return nil
	}
	t.figures = append(t.figures, key)
	list, ok := t.keys[key].([]any)
	if !ok {
		t.fail(key, `want sizes such as ["256 KiB", "2 MiB"]`)
	}
	for _, x := range list {
		s, ok := x.(string)
		if !ok {
			t.fail(key, "%v has no unit: want sizes such as [\"256 KiB\", \"2 MiB\"]", shown(x))
			return nil
		}
		n, err := readTile(s)
		if err != nil {
			t.fail(key, "%v", err)
			return nil
		}
		all = append(all, n)
	}
	return all
}

func (t *table) ratio(key string) ratio {
	if !t.need(key, `a number, or a fraction such as "16/15"`) {
		return 1
	}
	t.figures = append(t.figures, key)
	var r ratio
	switch x := t.keys[key].(type) {
	case int64:
		r = ratio(x)
	case float64:
		r = ratio(x)
	case string:
		if q, ok := new(big.Rat).SetString(x); ok && len(x) <= 32 && strings.Trim(x, "0123456789/") == "" {
			f, _ := q.Float64()
			r = ratio(f)
		}
	}
	if !(r > 0 && r <= 1000) {
		t.fail(key, "%v is out of range: want a number above 0 and at most 1000, or a fraction such as \"16/15\"", shown(t.keys[key]))
		return 1
	}
	return r
}

// flag returns true or false at a key; false if it is missing.
func (t *table) flag(key string) bool {
	if !t.has(key) {
		return false
	}
	b, ok := t.keys[key].(bool)
	if !ok {
		t.fail(key, "%v: want true or false", shown(t.keys[key]))
	}
	return b
}

// sortOf names the type of a value, for errors.
func sortOf(v any) string {
	switch v.(type) {
	case string:
		return shown(v) + " is a string"
	case bool:
		return shown(v) + " is true or false"
	case int64, float64:
		return shown(v) + " is a number"
	case []any:
		return shown(v) + " is a list"
	case map[string]any:
		return "it is one table"
	case []map[string]any:
		return "it is several tables"
	}
	return shown(v) + " is a time"
}

// shown prints a value as it is in the file, cut to a line.
func shown(v any) string {
	s := fmt.Sprint(v)
	if q, ok := v.(string); ok {
		s = fmt.Sprintf("%q", q)
	}
	if len(s) > 60 {
		s = s[:57] + "..."
	}
	return s
}
