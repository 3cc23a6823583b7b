package autotune

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// UnansweredError says at which sizes no trial had a time that could win.
// Everything measured elsewhere is kept, and trials without a result may be tried
// again.
type UnansweredError struct {
	Cells    []Unanswered // by rising size; none: there was nothing to measure
	Answered int          // sizes and placements that have a result
}

// Unanswered is a size and placement without a result.
type Unanswered struct {
	Bytes     int64
	Placement string
	Outcomes  map[results.Outcome]int // number of its trials, by outcome
	Note      string                  // of the first of them
}

// Wrong reports whether any result that was measured there failed verification.
func (e *UnansweredError) Wrong() bool {
	return slices.ContainsFunc(e.Cells, func(c Unanswered) bool { return c.Outcomes[results.Wrong] > 0 })
}

// Error names the sizes, and counts the outcomes.
func (e *UnansweredError) Error() string {
	if len(e.Cells) == 0 {
		return "nothing to measure: no program can be run at any of the sizes"
	}
	var sizes []string
	outcomes := map[results.Outcome]int{}
	note := ""
	for i, c := range e.Cells {
		if i < 4 {
			sizes = append(sizes, units.Bytes(c.Bytes).String())
		} else if i == 4 {
			sizes = append(sizes, fmt.Sprintf("%d more", len(e.Cells)-i))
		}
		for o, n := range c.Outcomes {
			outcomes[o] += n
		}
		if note == "" {
			note, _, _ = strings.Cut(c.Note, "\n")
		}
	}
	var came []string
	for _, o := range results.Outcomes() {
		if n := outcomes[o]; n > 0 {
			came = append(came, fmt.Sprintf("%d %s", n, o))
		}
	}
	s := fmt.Sprintf("no result at %s: of the trials there %s", strings.Join(sizes, ", "), strings.Join(came, ", "))
	if note != "" {
		s += "; the first says: " + note
	}
	return s
}

// unanswered is the error with which a run that tried everything in its cells ends.
func unanswered(cells []*cell) error {
	var all UnansweredError
	for _, c := range cells {
		if lacks, answered := c.unanswered(); answered {
			all.Answered++
		} else if len(lacks.Outcomes) > 0 {
			all.Cells = append(all.Cells, lacks)
		}
	}
	if all.Answered > 0 && len(all.Cells) == 0 {
		return nil
	}
	return &all
}

// unanswered returns how the trials of a cell ended, unless one can win.
func (c *cell) unanswered() (lacks Unanswered, answered bool) {
	lacks = Unanswered{Bytes: c.bytes, Placement: c.placement, Outcomes: map[results.Outcome]int{}}
	for _, t := range c.trials {
		switch {
		case t.reference || !t.done:
		case t.ok():
			return lacks, true
		default:
			lacks.Outcomes[t.outcome]++
			if lacks.Note == "" {
				lacks.Note = t.note
			}
		}
	}
	return lacks, false
}
