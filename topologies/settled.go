package topologies

import (
	"slices"
	"strings"
)

// Settled is how sure the constants of a topology file are, as their sources say. Those that
// were fitted to measured programs are settled: what runs in a program is known, so it tells
// them better than times of the vendor's library do. Those that are assumed, inferred or not
// measured on the system are guessed.
type Settled struct {
	Launch  bool       // of any protocol
	Links   []LinkKind // of whose bandwidth, sorted
	Guessed []LinkKind // the same
	Speed   bool       // how fast threadblocks send and receive is guessed, with any protocol
}

// SettledBy returns what the sources in a file's text settle. Sources that are not written
// one a line settle nothing, nor do they guess.
func SettledBy(text []byte) (s Settled) {
	w := &rewriter{lines: strings.Split(string(text), "\n")}
	for i := range w.lines {
		w.take(i)
	}
	like := ""                  // the source of what no table of a protocol has
	speeds := map[string]bool{} // the protocols with speeds of their own
	for _, t := range w.tables {
		of, ofProtocol := strings.CutPrefix(t.name, "protocol.")
		if ofProtocol && t.values["launch"] != "" && fromPrograms(t.sourceOf("launch")) {
			s.Launch = true
		}
		if t.name == "protocol" {
			like = t.values["source"]
		}
		for _, key := range []string{"send_pass", "send_rate"} {
			if ofProtocol && t.values[key] != "" {
				speeds[of] = true
				s.Speed = s.Speed || doubtful(t.sourceOf(key)) >= 0
			}
		}
		if kind, ok := t.linkKind(); ok && t.values["bandwidth"] != "" {
			if source := t.sourceOf("bandwidth"); fromPrograms(source) {
				s.Links = append(s.Links, kind)
			} else if doubtful(source) >= 0 {
				s.Guessed = append(s.Guessed, kind)
			}
		}
	}
	s.Speed = s.Speed || len(speeds) == 0 && doubtful(like) >= 0
	for _, kinds := range []*[]LinkKind{&s.Links, &s.Guessed} {
		slices.Sort(*kinds)
		*kinds = slices.Compact(*kinds)
	}
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
