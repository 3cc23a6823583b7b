package topologies

import (
	"slices"
	"strings"
)

// Every table with numbers says where they are from, in one of two ways: all of
// them together, or each by itself.
//
//	source = "DGX-1 data sheet"
//
//	[node.nic.source]
//	bandwidth = "DGX-1 data sheet: 4 EDR"
//	others    = "measured"
//
// Beside its numbers a table may give a source for whatever else it says, such as
// which GPUs are joined.

// rest is the key of a source of all that no other names.
const rest = "others"

// sourceNote is what a table says of where its numbers come from, or one of them.
type sourceNote struct {
	line      int
	key, text string
}

// source reads where a table's numbers come from, once they are read. It is asked
// of every table that has numbers, and kept for Lint alone.
func (t *table) source() {
	if _, each := t.keys["source"].(map[string]any); !each {
		t.note("source")
		return
	}
	t.below = append(t.below, "source")
	of := t.table("source")
	var facts []string // what can have a source
	for key, v := range t.keys {
		switch v.(type) {
		case map[string]any, []map[string]any:
		default:
			facts = append(facts, key)
		}
	}
	slices.Sort(facts)
	var bare []string // numbers without one of their own
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
	t.r.notes = append(t.r.notes, sourceNote{lineOf(t.r.lines, path), path, text})
}
