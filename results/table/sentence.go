package table

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// What a row's verdict comes to, for the sentence above the table.
type finding int

const (
	open  finding = iota // there is evidence, and it does not decide
	gain                 // the program is faster
	left                 // the library is, and keeps the size
	bare                 // nothing measured says how far the times may be off
	alone                // there is no time to compare with
)

func (r *Row) finding() finding {
	switch word := r.Verdict(); {
	case r.LeaveToLibrary:
		return left
	case r.Compared().Speedup == nil:
		return alone
	case strings.HasPrefix(word, Surely), word == "" && r.Wins():
		return gain
	case word == NoEvidence:
		return bare
	}
	return open
}

// Sentences say what is gained at which sizes, and how sure that is: one for each number of nodes and
// placement.
func (t *Table) Sentences() (lines []string) {
	for first := 0; first < len(t.Rows); {
		last := first
		for last < len(t.Rows) && t.Rows[last].Nodes == t.Rows[first].Nodes && t.Rows[last].Placement == t.Rows[first].Placement {
			last++
		}
		var rows []*Row
		for i := first; i < last; i++ {
			rows = append(rows, &t.Rows[i])
		}
		var of []string
		if t.severalNodes() {
			of = append(of, units.Count(rows[0].Nodes, "node"))
		}
		if t.placements() {
			of = append(of, map[string]string{"in": "in place", "out": "out of place"}[rows[0].Placement])
		}
		line := t.sentence(rows) + "."
		if len(of) > 0 {
			line = strings.Join(of, ", ") + ": " + line
		}
		lines = append(lines, line)
		first = last
	}
	return lines
}

// sentence says what is gained at rows of rising size.
func (t *Table) sentence(rows stretch) string {
	how := "measured"
	if t.Campaign.Simulated {
		how = "simulated"
	}
	library := rows.releaseName()
	var gains, lefts []string
	rest := map[finding][]string{}
	settle := func(some stretch) { // rows without a gain
		for first := 0; first < len(some); {
			last := first
			for last+1 < len(some) && some[last+1].finding() == some[first].finding() {
				last++
			}
			f := some[first].finding()
			rest[f] = append(rest[f], some[first:last+1].words())
			first = last + 1
		}
	}
	for first := 0; first < len(rows); {
		last := first
		for last+1 < len(rows) && rows[last+1].LeaveToLibrary == rows[first].LeaveToLibrary {
			last++
		}
		part := rows[first : last+1]
		first = last + 1
		if part[0].LeaveToLibrary {
			lefts = append(lefts, part.words())
			continue
		}
		from, to := -1, -1
		sure := 0
		for i, r := range part {
			if r.finding() == gain {
				if from < 0 {
					from = i
				}
				to, sure = i, sure+1
			}
		}
		if from < 0 {
			settle(part)
			continue
		}
		settle(part[:from])
		settle(part[to+1:])
		within := part[from : to+1]
		least, most := within.extremes(func(r *Row) (*float64, *float64) { x := r.Compared().Speedup; return x, x })
		text := fmt.Sprintf("%s: %s times as fast as %s, %s, sure", within.words(), strings.Replace(spanOf(least, most), "-", " to ", 1), library, how)
		if n := len(within); n == 2 && sure == n {
			text += " at both sizes"
		} else if n > 1 && sure == n {
			text += fmt.Sprintf(" at all %d sizes", n)
		} else if n > 1 {
			text += fmt.Sprintf(" at %d of %d sizes", sure, n)
		}
		gains = append(gains, text)
	}
	parts := gains
	if len(lefts) > 0 {
		parts = append(parts, and(lefts)+": "+leaveTo(rows))
	}
	if sizes := rest[open]; len(sizes) > 0 {
		word := "nothing is sure"
		if !t.Campaign.Simulated {
			word = "no faster"
		}
		parts = append(parts, and(sizes)+": "+word)
	}
	if sizes := rest[bare]; len(sizes) > 0 {
		parts = append(parts, and(sizes)+": no evidence")
	}
	if sizes := rest[alone]; len(sizes) > 0 {
		word := "nothing to compare with"
		if library := libraryOf(rows[0].BaselineRelease); library != "" {
			word = "nothing says what " + library + " takes"
		}
		parts = append(parts, and(sizes)+": "+word)
	}
	return strings.Join(parts, "; ")
}

// words are a stretch's sizes: 1K to 256K.
func (s stretch) words() string { return strings.Replace(s.sizes(), "-", " to ", 1) }

// and joins words.
func and(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return words[0]
}
