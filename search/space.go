package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
)

// Space is what a search enumerated: the candidates that passed every check, and
// the refusals.
type Space struct {
	Candidates []autotune.Candidate
	Refusals   []program.Refusal

	baselines  []baseline // what the vendor's library takes, by size
	unexplored []program.Unexplored
	least      int // SMs that the smallest of the programs refused for want of them takes; 0: none
}

// Enumerated counts the candidates that were looked at: those refused, and those that
// can win.
func (s *Space) Enumerated() int { return len(s.Refusals) + s.contenders() }

// add adds another space, as of a placement.
func (s *Space) add(one *Space) {
	s.Candidates = append(s.Candidates, one.Candidates...)
	s.Refusals = append(s.Refusals, one.Refusals...)
	s.baselines = append(s.baselines, one.baselines...)
	s.unexplored = append(s.unexplored, one.unexplored...)
	s.needs(one.least)
}

// needs notes that a program was refused that takes so many SMs.
func (s *Space) needs(sms int) {
	if sms > 0 && (s.least == 0 || sms < s.least) {
		s.least = sms
	}
}

// unexploredText names the candidates for which there was no time; empty where there was time
// for all.
func (s *Space) unexploredText() string {
	all := map[string]int{}
	for _, u := range s.unexplored {
		all[u.Name] += u.N
	}
	names := make([]string, 0, len(all))
	for name, n := range all {
		if n > 0 {
			name += fmt.Sprintf(" (%d)", n)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// contenders counts the candidates that can win.
func (s *Space) contenders() int {
	n := 0
	for i := range s.Candidates {
		if !s.Candidates[i].Reference {
			n++
		}
	}
	return n
}

// called returns the label of each program of the space, by its hash.
func (s *Space) called() map[string]results.ProgramLabel {
	names := make(map[string]results.ProgramLabel, len(s.Candidates))
	for i := range s.Candidates {
		c := &s.Candidates[i]
		names[c.Hash] = results.ProgramLabel{
			Algorithm: c.Algorithm, Source: c.Source, Parameters: c.Parameters,
			Channels: c.Channels, Instances: c.Instances,
		}
	}
	return names
}

// baseline is what the vendor's library takes at one size, in a placement.
type baseline struct {
	library.Time
	inPlace bool
	hash    string            // of its program; empty if there is none
	given   *results.Baseline // of those from a file, or measured
}
