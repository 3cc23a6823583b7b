package export

import (
	"fmt"
	"math"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/table"
)

// Reason is why nothing is exported for a size.
type Reason string

const (
	Slower  Reason = "slower"  // than the library: the size is left to it
	Tied    Reason = "tied"    // with the library: the size is left to it
	Refused Reason = "refused" // by the runtime: it would run nothing that was measured
)

// Summary counts an export's sizes, in each placement, and says what the user gains.
type Summary struct {
	Sizes  int `json:"sizes"`
	Served int `json:"served"`
	// Left to the library, which is faster than what the runtime would run, or as fast.
	Left int `json:"left"`
	Tied int `json:"tied"` // of those left
	// Gain is library ÷ exported time, in the geometric mean over the sizes served that have
	// a library's time; null without any.
	Gain     *float64 `json:"gain"`
	Compared int      `json:"compared"` // sizes in that mean
	Sure     int      `json:"sure"`     // of which the gain is beyond the error of the times
	Evidence string   `json:"evidence"` // of the times: measured or simulated

	logs float64
}

func evidenceText(t *table.Table) string {
	if t.Campaign.Simulated {
		return "simulated"
	}
	return "measured"
}

// serve counts a size that is served: row is of what is exported there.
func (s *Summary) serve(row *table.Row) {
	speedup := row.Speedup
	if _, us := row.Library(); speedup == nil && us > 0 { // of its fastest state nothing is known
		us /= row.TimeUS
		speedup = &us
	}
	s.gain(speedup)
	if row.Wins() {
		s.Sure++
	}
}

// gain counts a size that is served with a speedup; nil: not known.
func (s *Summary) gain(speedup *float64) {
	s.Sizes++
	s.Served++
	if speedup == nil {
		return
	}
	s.Compared++
	s.logs += math.Log(*speedup)
	gain := math.Exp(s.logs / float64(s.Compared))
	s.Gain = &gain
}

// leave counts a size for which nothing is exported.
func (s *Summary) leave(r Reason) {
	s.Sizes++
	switch r {
	case Slower:
		s.Left++
	case Tied:
		s.Left++
		s.Tied++
	}
}

// plus returns the sum with another export's.
func (s Summary) plus(o Summary) Summary {
	s.Sizes, s.Served, s.Left, s.Tied, s.Compared, s.Sure = s.Sizes+o.Sizes, s.Served+o.Served, s.Left+o.Left, s.Tied+o.Tied, s.Compared+o.Compared, s.Sure+o.Sure
	if s.logs += o.logs; s.Compared > 0 {
		gain := math.Exp(s.logs / float64(s.Compared))
		s.Gain = &gain
	}
	if s.Evidence == "" {
		s.Evidence = o.Evidence
	}
	return s
}

// String is the summary in a line.
func (s Summary) String() string { return strings.Join(s.parts(), "; ") }

// brief is how many sizes are served and what that gains, where lines of their own say what is not.
func (s Summary) brief() string {
	parts := s.parts()
	if len(parts) == 1 {
		return parts[0]
	}
	return parts[0] + "; " + strings.TrimPrefix(parts[len(parts)-1], "expected ")
}

func (s Summary) parts() []string {
	parts := []string{fmt.Sprintf("%d of %s served", s.Served, units.Count(s.Sizes, "size"))}
	if s.Left > 0 {
		text := fmt.Sprintf("%d left to the library", s.Left)
		if s.Tied > 0 {
			text += fmt.Sprintf(" (%d of them tied)", s.Tied)
		}
		parts = append(parts, text)
	}
	if n := s.Sizes - s.Served - s.Left; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not served", n))
	}
	switch {
	case s.Gain != nil:
		of := "these"
		if s.Compared < s.Served {
			of = fmt.Sprintf("%d of these", s.Compared)
		}
		parts = append(parts, fmt.Sprintf("expected gain on %s %.2f times in the geometric mean, %s, sure at %d", of, *s.Gain, s.Evidence, s.Sure))
	case s.Served > 0:
		parts = append(parts, "no library's time to compare with, "+s.Evidence)
	}
	return parts
}
