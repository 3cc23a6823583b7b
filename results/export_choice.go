package results

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// chooser decides what a runtime is given at each size of a campaign: the fastest
// program that it would run.
type chooser struct {
	campaign *Campaign
	name     string                          // of the runtime
	reader   reader                          // how many files it loads, and what they say
	refuses  func(*measured) (string, error) // why it would not run something; "" where it would
}

// piece is a run of sizes that one file serves. Its evidence is of all of them.
type piece struct {
	measured
	min, last, max int64 // last: the last measured size
}

// choose decides which file serves which sizes. It reports sizes that get
// something slower than the winner, and those that get nothing.
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
	ended := true // the last piece's file
	for i, at := range places {
		n := len(served)
		m := chosen[i]
		if m == nil {
			ended = ended || served[n-1].Placement != at.placement || !c.reader.passes(served[n-1].Trial, at.bytes)
			report.leave(at, why[i])
			continue
		}
		winner := all[at][slices.IndexFunc(all[at], competes)]
		report.lose(at, winner.title(), winner.time, m.title(), m.time, why[i])
		if note := slower(m, at, table); note != "" {
			report.note(note)
		}
		end := endOf(p, at)
		if !ended && served[n-1].Placement == at.placement && c.reader.form(served[n-1].Trial) == c.reader.form(m.Trial) {
			served[n-1].max, served[n-1].last = end, at.bytes
			served[n-1].evidence = served[n-1].evidence.plus(m.evidence)
		} else {
			served = append(served, piece{measured: *m, min: at.bytes, last: at.bytes, max: end})
		}
		ended = false
	}
	if len(served) == 0 {
		return nil, fmt.Errorf("%s would run none of the programs measured (%s): %w", c.name, report.Gaps[0].Why, ErrNothingFits)
	}
	return served, nil
}

// sizes names the range of sizes, for a file's name.
func (s *piece) sizes() string {
	if s.last == s.min {
		return sizeText(s.min)
	}
	return sizeText(s.min) + "-" + sizeText(s.last)
}

// fileNames names the files for pieces, numbered within each placement.
type fileNames struct {
	plan Plan
	made map[string]int
}

func namesFor(p Plan) *fileNames { return &fileNames{p, map[string]int{}} }

// next is the name of the next piece's file, without its ending.
func (n *fileNames) next(s *piece) string {
	n.made[s.Placement]++
	return fmt.Sprintf("colltune-%s-%02d-%s-%s-%s", calls(n.plan, s.Placement), n.made[s.Placement], s.sizes(), fileWord(s.Algorithm), s.Protocol)
}

// pick decides what is exported at each size, nil for nothing, and says why that
// is not the winner.
func (c chooser) pick(at []cell, all map[cell][]measured) (chosen []*measured, why []string, err error) {
	places := make([]Place, len(at))
	offered := make([][]*measured, len(at))
	why = make([]string, len(at))
	for i, a := range at {
		places[i] = Place{Bytes: a.bytes, Placement: a.placement}
		for j := range all[a] { // best first
			m := &all[a][j]
			if m.Reference {
				continue
			}
			refusal, err := c.refuses(m)
			if err != nil {
				return nil, nil, err
			}
			if refusal != "" {
				if why[i] == "" && len(offered[i]) == 0 {
					why[i] = refusal
				}
				continue
			}
			offered[i] = append(offered[i], m)
			places[i].Offers = append(places[i].Offers, Offer{Trial: m.Trial, TimeUS: m.time})
			if c.reader.files() >= len(at) {
				break // the rest is slower, and saves no file
			}
		}
		if why[i] == "" && len(offered[i]) == 0 {
			why[i] = "not measured"
		}
	}
	chosen = make([]*measured, len(at))
	for i, n := range cover(c.reader, places) {
		if n >= 0 {
			chosen[i] = offered[i][n]
		}
		if len(offered[i]) > 0 && (n < 0 || chosen[i].time > offered[i][0].time) {
			limit := fmt.Sprintf("%s loads %d files", c.name, c.reader.files())
			if why[i] != "" {
				limit = why[i] + ", and " + limit
			}
			why[i] = limit
		}
	}
	return chosen, why, nil
}

// slower says that what is exported at a size takes longer than the baseline, so
// that the size had better go without a file; empty where it does not.
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

// endOf is the last size that belongs to a cell: just below the plan's next.
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

// programs reads programs of a campaign, and keeps only the last, because they can
// be large.
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
