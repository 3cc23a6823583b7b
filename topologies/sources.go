package topologies

import (
	"slices"
	"strings"
)

// Every table with numbers gives their sources, in one of two ways: all of them
// together, or each by itself.
//
//	source = "DGX-1 data sheet"
//
//	[node.nic.source]
//	bandwidth = "DGX-1 data sheet: 4 EDR"
//	others    = "measured"
//
// A table may also give sources for its other keys, such as the list of linked
// GPUs.

// rest is the key of the source of all numbers without one of their own.
const rest = "others"

// sourceNote is a source that a table gives, for all its numbers or for one.
type sourceNote struct {
	line      int
	key, text string
}

// source reads the sources of a table's numbers, after the numbers. Only Lint
// uses them.
func (t *table) source() {
	if _, each := t.keys["source"].(map[string]any); !each {
		t.note("source")
		return
	}
	t.below = append(t.below, "source")
	of := t.table("source")
	var facts []string // keys that can have a source
	for key, v := range t.keys {
		switch v.(type) {
		case map[string]any, []map[string]any:
		default:
			facts = append(facts, key)
		}
	}
	slices.Sort(facts)
	var bare []string // numbers without a source of their own
	for _, key := range facts {
		if of.has(key) {
			of.note(key)
		} else if slices.Contains(t.figures, key) {
			bare = append(bare, key)
		}
	}
	switch {
	case of.has(rest) && len(bare) == 0:
		of.fail(rest, "stands for nothing: every number has a source of its own")
	case of.has(rest):
		of.note(rest)
	case len(bare) > 0:
		of.fail("", "says nothing of %s: want a source of each, or %s", strings.Join(bare, ", "), rest)
	}
	of.done()
}

// note reads one source.
func (t *table) note(key string) {
	text := t.text(key, "")
	path := t.at(key)
	t.r.notes = append(t.r.notes, sourceNote{t.r.lines.Of(path), path, text})
}
