package topologies

import (
	"slices"
	"strings"
)

// Settled is the constants of a topology file that were fitted to measured programs, as
// their sources say. What runs in a program is known, so it tells them better than times
// of the vendor's library do.
type Settled struct {
	Launch bool       // of any protocol
	Links  []LinkKind // of whose bandwidth, sorted
}

// SettledBy returns what the sources in a file's text settle. Sources that are not written
// one a line settle nothing.
func SettledBy(text []byte) (s Settled) {
	w := &rewriter{lines: strings.Split(string(text), "\n")}
	for i := range w.lines {
		w.take(i)
	}
	for _, t := range w.tables {
		if strings.HasPrefix(t.name, "protocol.") && t.values["launch"] != "" && fromPrograms(t.sourceOf("launch")) {
			s.Launch = true
		}
		if kind, ok := t.linkKind(); ok && t.values["bandwidth"] != "" && fromPrograms(t.sourceOf("bandwidth")) {
			s.Links = append(s.Links, kind)
		}
	}
	slices.Sort(s.Links)
	s.Links = slices.Compact(s.Links)
	return s
}

// fromPrograms reports whether a source says that a number was fitted to programs.
func fromPrograms(source string) bool {
	return strings.Contains(source, "fitted to") && strings.Contains(source, "programs")
}

// sourceOf is the source of a key: its own, that of the others, or the table's.
func (t *textTable) sourceOf(key string) string {
	if t.source == nil {
		return t.values["source"]
	}
	if own, ok := t.source.values[key]; ok {
		return own
	}
	return t.source.values[rest]
}
