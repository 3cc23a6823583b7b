package papers

import (
	"errors"
	"fmt"
	"math"
	"sync"
)

// Claim is what a paper says that can be held against the simulator.
type Claim struct {
	ID        string // names the claim in the page, and where its verdict flips
	Where     string // the paper's figure and section
	Says      string // the claim, in our words
	Published Published
	Evidence  Evidence
	Side      string // whose side the evidence is on, and why, where the two differ
}

// Evidence is how a claim is held against the simulator.
type Evidence interface {
	// How says what is simulated: the programs, the system and the sizes.
	How() string
	// Find simulates it.
	Find(*Lab) (Found, error)
}

// Found is what was simulated, beside what is published.
type Found struct {
	Value float64 // in the unit of the published one; NaN: there is no such thing
	Text  string  // the value, and where it was found
	Ahead string  // the sizes, or ranks, at which what the claim praises is ahead
}

// Published is a figure of a paper's text, or a direction.
type Published struct {
	Text      string
	Low, High float64 // what the figure may be
	// Direction: the text has no figure, and what is simulated lies within Low and High or
	// does not.
	Direction bool
}

// number is a figure of the text.
func number(text string, x float64) Published { return Published{text, x, x, false} }

// between are the ends of a range of the text.
func between(text string, low, high float64) Published { return Published{text, low, high, false} }

// What a text says without a figure, of the ratio of two times. Less than 2 % apart is
// neither ahead nor behind.
var (
	ahead  = Published{"ahead", 1 + even, math.Inf(1), true}
	behind = Published{"behind", 0, 1 - even, true}
	alike  = Published{"alike", 0.9, 1 / 0.9, true}
)

const even = 0.02

// as is a direction in the paper's words.
func (p Published) as(text string) Published {
	p.Text = text
	return p
}

// Verdict is what became of a claim.
type Verdict string

// Verdicts, from the best to the worst.
const (
	Agrees        Verdict = "agrees"
	SameDirection Verdict = "direction agrees"
	Disagrees     Verdict = "disagrees"
	NotJudged     Verdict = "cannot be judged"
)

// Verdicts lists all verdicts.
var Verdicts = []Verdict{Agrees, SameDirection, Disagrees, NotJudged}

// holds reports whether a verdict supports the claim, so that losing it is a failure.
func (v Verdict) holds() bool { return v == Agrees || v == SameDirection }

// rank is 0 for the best verdict.
func (v Verdict) rank() int {
	for i, other := range Verdicts {
		if v == other {
			return i
		}
	}
	return len(Verdicts)
}

// Rules says how Judge comes to its verdicts.
const Rules = `- **agrees**: the simulated figure is within a quarter of the published one (0.8 to 1.25 times), and the gain is at least half and at most twice the published gain (1.18 times ahead are half the gain of 1.4 times, on a logarithmic scale); or, where the text has only a direction, that direction. *Alike* is within 10 %; ahead and behind start at 2 %.
- **direction agrees**: the same side is ahead, and the figure is within twice the published one.
- **disagrees**: the other side is ahead, or neither, or the figure is off by more than twice.
- **cannot be judged**: what the claim compares is not simulated; why, is said.
`

// Judge returns the verdict on a simulated figure.
func (p Published) Judge(value float64) Verdict {
	switch {
	case math.IsNaN(value):
		return Disagrees
	case value >= p.Low && value <= p.High:
		return Agrees
	case p.Direction:
		return Disagrees
	}
	nearest := min(max(value, p.Low), p.High)
	off := math.Abs(math.Log(value / nearest))
	gain := math.Log(value) / math.Log(nearest)
	switch {
	case side(value) != side(nearest) || off > math.Log(2):
		return Disagrees
	case off <= math.Log(1.25) && gain >= 0.5 && gain <= 2:
		return Agrees
	}
	return SameDirection
}

// side is 1 for a ratio that is ahead, -1 for one that is behind.
func side(ratio float64) int {
	switch {
	case ratio > 1+even:
		return 1
	case ratio < 1-even:
		return -1
	}
	return 0
}

// Judged is a claim with what was simulated.
type Judged struct {
	Claim
	Found   Found
	Verdict Verdict
}

// Judge holds claims against the simulator, jobs at a time. The error names the claim.
func Judge(l *Lab, claims []Claim, jobs int) ([]Judged, error) {
	all, errs := make([]Judged, len(claims)), make([]error, len(claims))
	next := make(chan int)
	var wait sync.WaitGroup
	for range max(jobs, 1) {
		wait.Go(func() {
			for i := range next {
				if all[i], errs[i] = claims[i].judge(l); errs[i] != nil {
					errs[i] = fmt.Errorf("%s: %w", claims[i].ID, errs[i])
				}
			}
		})
	}
	for i := range claims {
		next <- i
	}
	close(next)
	wait.Wait()
	return all, errors.Join(errs...)
}

func (c Claim) judge(l *Lab) (j Judged, err error) {
	j = Judged{Claim: c, Verdict: NotJudged}
	if c.Evidence == nil {
		return j, nil
	}
	if j.Found, err = c.Evidence.Find(l); err == nil {
		j.Verdict = c.Published.Judge(j.Found.Value)
	}
	return j, err
}
