package search

import (
	"strconv"
	"time"

	"github.com/colltune/colltune/autotune"
)

// Shares divide the limits of an effort among searches that are made one after another, such as
// those of a map: what one leaves is the others'.
type Shares struct {
	given   Effort
	started time.Time
	trials  int // left
}

// NewShares begins the time of an effort.
func NewShares(given Effort) *Shares { return &Shares{given, time.Now(), given.Trials} }

// Share gives a search one of n equal shares of what is left; false: there is none.
func (s *Shares) Share(effort *Effort, n int) bool {
	if s.given.Budget > 0 {
		effort.Budget = (s.given.Budget - time.Since(s.started)) / time.Duration(n)
	}
	if s.given.Trials > 0 {
		effort.Trials = (s.trials + n - 1) / n
	}
	return (s.given.Budget == 0 || effort.Budget > 0) && (s.given.Trials == 0 || effort.Trials > 0)
}

// Spent takes the trials that a search made.
func (s *Shares) Spent(trials int) { s.trials -= trials }

// Reached returns an error if nothing is left of a limit.
func (s *Shares) Reached() error {
	switch {
	case s.given.Trials > 0 && s.trials <= 0:
		return &autotune.LimitError{Limit: "trials", Value: strconv.Itoa(s.given.Trials)}
	case s.given.Budget > 0 && time.Since(s.started) >= s.given.Budget:
		return &autotune.LimitError{Limit: "budget", Value: s.given.Budget.String()}
	}
	return nil
}
