package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Why says why a winner takes its time at a size.
type Why struct {
	Parts  []Part  // of the time
	Change string  // of one of the system's constants: the one that would help most; may be empty
	Gain   float64 // of the change: time before ÷ after
}

// Part is what one cause takes.
type Part struct {
	Cause string
	Share float64 // of the time
}

// leastGain is the gain from which a change is named.
const leastGain = 1.005

// Largest are the parts from the largest down.
func (w *Why) Largest() []Part {
	parts := slices.Clone(w.Parts)
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
	return parts
}

// Helps reports whether there is a change that would help.
func (w *Why) Helps() bool { return w.Change != "" && w.Gain >= leastGain }

// Clause is the largest cause and the change that would help most, in few words: launch 58 %; half the
// launch: 1.11x. Empty of nil.
func (w *Why) Clause() string {
	if w == nil || len(w.Parts) == 0 {
		return ""
	}
	most := w.Largest()[0]
	text := fmt.Sprintf("%s %.0f %%", strings.TrimSuffix(most.Cause, "' own rate"), 100*most.Share)
	if w.Helps() {
		text += fmt.Sprintf("; %s: %.2fx", strings.Replace(w.Change, "the bandwidth of ", "", 1), w.Gain)
	}
	return text
}
