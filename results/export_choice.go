package results

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// chooser picks, for each size of a campaign, what a runtime is given: the fastest
// of what it would run.
type chooser struct {
	campaign *Campaign
	name     string                          // of the runtime
	files    int                             // how many it keeps
	refuses  func(*measured) (string, error) // why it would not run something; "" where it would
	form     func(*measured) form            // what of it goes into a file
}

// form is what makes a file of a runtime: measurements of one form share one.
type form struct {
	program, protocol string
	tile              int64 // 0 where the file does not say
}

// piece is a run of sizes that one file serves.
type piece struct {
	measured
	min, last, max int64 // last: the last measured size
}

// choose picks the pieces, and tells the report what is slower than the winner and
// what has nothing.
func (c chooser) choose(p Plan, all map[cell][]measured, report *Report) ([]piece, error) {
	table, err := Build(c.campaign)
	if err != nil {
		return nil, err
	}
	places := cells(p)
	chosen, why, err := c.pick(places, all)
	if err != nil {
		return nil, err
	}
	var served []piece
	for i, at := range places {
		m := chosen[i]
		if m == nil {
			report.leave(at, why[i])
			continue
		}
		winner := all[at][slices.IndexFunc(all[at], competes)]
		report.lose(at, winner.title(), winner.time, m.title(), m.time, why[i])
		if note := slower(m, at, table); note != "" {
			report.note(note)
		}
		end := endOf(p, at)
		if n := len(served); n > 0 && i > 0 && chosen[i-1] != nil && places[i-1].placement == at.placement &&
			c.form(&served[n-1].measured) == c.form(m) {
			served[n-1].max, served[n-1].last = end, at.bytes
		} else {
			served = append(served, piece{measured: *m, min: at.bytes, last: at.bytes, max: end})
		}
	}
	if len(served) == 0 {
		return nil, fmt.Errorf("%s would run none of the programs measured (%s): %w", c.name, report.Gaps[0].Why, ErrNothingFits)
	}
	return served, nil
}

// sizes names a run of sizes, as a part of a file's name.
func (s *piece) sizes() string {
	if s.last == s.min {
		return sizeText(s.min)
	}
	return sizeText(s.min) + "-" + sizeText(s.last)
}

// fileNames names the files of pieces: numbered, each placement by itself.
type fileNames struct {
	plan Plan
	made map[string]int
}

func namesFor(p Plan) *fileNames { return &fileNames{p, map[string]int{}} }

// next is a piece's name, without an ending.
func (n *fileNames) next(s *piece) string {
	n.made[s.Placement]++
	return fmt.Sprintf("colltune-%s-%02d-%s-%s-%s", calls(n.plan, s.Placement), n.made[s.Placement], s.sizes(), fileWord(s.Algorithm), s.Protocol)
}

// pick picks what is exported at each size, nil for nothing, and says why the
// winner there is not it.
func (c chooser) pick(at []cell, all map[cell][]measured) (chosen []*measured, why []string, err error) {
	var runnable [][]choice
	ids := map[form]int{}
	var byID [][]*measured // by id, then index into at
	why = make([]string, len(at))
	for i, a := range at {
		var choices []choice
		for j := range all[a] {
			m := &all[a][j]
			if m.Reference {
				continue
			}
			refusal, err := c.refuses(m)
			if err != nil {
				return nil, nil, err
			}
			if refusal != "" {
				if why[i] == "" && len(choices) == 0 {
					why[i] = refusal
				}
				continue
			}
			k := c.form(m)
			id, known := ids[k]
			if !known {
				id = len(byID)
				ids[k] = id
				byID = append(byID, make([]*measured, len(at)))
			}
			if byID[id][i] == nil { // of several tiles that run alike, the first
				byID[id][i] = m
				choices = append(choices, choice{id, m.time})
			}
			if c.files >= len(at) {
				break // best first, and no file to save
			}
		}
		if why[i] == "" && len(choices) == 0 {
			why[i] = "not measured"
		}
		runnable = append(runnable, choices)
	}
	chosen = make([]*measured, len(at))
	for i, id := range cover(runnable, c.files) {
		if id != none {
			chosen[i] = byID[id][i]
		}
		best := least(runnable[i])
		if best >= 0 && runnable[i][best].id != id {
			limit := fmt.Sprintf("%s loads %d files", c.name, c.files)
			if why[i] != "" {
				limit = why[i] + ", and " + limit
			}
			why[i] = limit
		}
	}
	return chosen, why, nil
}

// slower says that what is exported for a size takes longer than what it was
// compared with, and better does that size; empty where it does not.
func slower(m *measured, at cell, t *Table) string {
	for _, r := range t.Rows {
		if r.Bytes != at.bytes || r.Placement != at.placement || r.Baseline == nil || m.time < *r.BaselineTimeUS*1.0005 {
			continue
		}
		return fmt.Sprintf("at %s [%s] takes %.1f %% longer than the baseline [%s]: that size is better left to it",
			sizeText(at.bytes), m.title(), (m.time / *r.BaselineTimeUS - 1)*100, *r.Baseline)
	}
	return ""
}

// endOf is the last size before the next one of the plan.
func endOf(p Plan, at cell) int64 {
	if i := slices.Index(p.Sizes, at.bytes); i >= 0 && i+1 < len(p.Sizes) {
		return p.Sizes[i+1] - 1
	}
	return at.bytes
}

// title names what was measured, as a report's lines do.
func (m *measured) title() string {
	name := m.Algorithm
	if p := briefParameters(m.Parameters); p != "" {
		name += " " + p
	}
	if m.native() {
		return name + " " + m.Protocol
	}
	return fmt.Sprintf("%s ×%d %s tile %s", name, m.Instances, m.Protocol, sizeText(m.TileBytes))
}

// programs reads a campaign's programs, one after the other: they can be large.
type programs struct {
	campaign *Campaign
	last     *ir.Program
	lastHash string
}

func (e *programs) program(hash string) (*ir.Program, error) {
	if hash == e.lastHash {
		return e.last, nil
	}
	p, err := e.campaign.Program(hash)
	if err != nil {
		return nil, err
	}
	e.last, e.lastHash = p, hash
	return p, nil
}
