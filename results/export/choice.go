package export

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// chooser chooses the program to export at each size of a campaign: the fastest one that
// the runtime would run.
type chooser struct {
	campaign *results.Campaign
	name     string                                // of the runtime
	reader   reader                                // how many files it loads, and what they say
	refuses  func(*table.Measured) (string, error) // why it would not run something; "" where it would
}

// servedRange is a run of sizes that one file serves. Its evidence is of all of them.
type servedRange struct {
	table.Measured
	min, last, max int64 // last: the last measured size
}

// choose decides which file serves which sizes. It reports sizes that get
// something slower than the winner, and those that get nothing. Sizes at which the library
// is faster than every program get nothing; if all are such, that is no error.
func (c chooser) choose(p results.Plan, all map[table.Cell][]table.Measured, report *Report) ([]servedRange, error) {
	winners, err := table.Build(c.campaign)
	if err != nil {
		return nil, err
	}
	places := table.Cells(p)
	left := libraryFaster(winners)
	chosen, why, err := c.pick(places, all, left)
	if err != nil {
		return nil, err
	}
	var served []servedRange
	ended := true // the last piece's file
	for i, at := range places {
		n := len(served)
		m := chosen[i]
		if m == nil {
			ended = ended || left[at] != "" || served[n-1].Placement != at.Placement || !c.reader.passes(served[n-1].Trial, at.Bytes)
			report.addGap(at, why[i])
			continue
		}
		winner := all[at][slices.IndexFunc(all[at], table.Measured.Competes)]
		report.addLoss(at, winner.Title(), winner.TimeUS, m.Title(), m.TimeUS, why[i])
		if note := slowerThanBaseline(m, at, winners); note != "" {
			report.note(note)
		}
		end := lastSizeOf(p, at)
		if !ended && served[n-1].Placement == at.Placement && c.reader.fileKey(served[n-1].Trial) == c.reader.fileKey(m.Trial) {
			served[n-1].max, served[n-1].last = end, at.Bytes
			served[n-1].Evidence = served[n-1].Evidence.Plus(m.Evidence)
		} else {
			served = append(served, servedRange{Measured: *m, min: at.Bytes, last: at.Bytes, max: end})
		}
		ended = false
	}
	if len(left) == len(places) {
		report.note(libraryFastest)
		return nil, nil
	}
	if len(served) == 0 {
		return nil, fmt.Errorf("%s would run none of the programs measured (%s): %w", c.name, report.Gaps[0].Why, ErrNothingFits)
	}
	return served, nil
}

// sizes names the range of sizes, for a file's name.
func (s *servedRange) sizes() string {
	if s.last == s.min {
		return units.Bytes(s.min).String()
	}
	return units.Bytes(s.min).String() + "-" + units.Bytes(s.last).String()
}

// fileNames names the files for pieces, numbered within each placement.
type fileNames struct {
	plan results.Plan
	made map[string]int
}

func namesFor(p results.Plan) *fileNames { return &fileNames{p, map[string]int{}} }

// next is the name of the next piece's file, without its ending.
func (n *fileNames) next(s *servedRange) string {
	n.made[s.Placement]++
	return fmt.Sprintf("colltune-%s-%02d-%s-%s-%s", callName(n.plan, s.Placement), n.made[s.Placement], s.sizes(), fileWord(s.Algorithm), s.Protocol)
}

// pick chooses the export at each size, nil for nothing, and gives the reason where that
// is not the winner. left are the sizes that get nothing, with the reason.
func (c chooser) pick(at []table.Cell, all map[table.Cell][]table.Measured, left map[table.Cell]string) (chosen []*table.Measured, why []string, err error) {
	places := make([]Place, len(at))
	offered := make([][]*table.Measured, len(at))
	why = make([]string, len(at))
	for i, a := range at {
		places[i] = Place{Bytes: a.Bytes, Placement: a.Placement, Left: left[a] != ""}
		if why[i] = left[a]; why[i] != "" {
			continue
		}
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
			places[i].Offers = append(places[i].Offers, Offer{Trial: m.Trial, TimeUS: m.TimeUS})
			if c.reader.files() >= len(at) {
				break // the rest is slower, and saves no file
			}
		}
		if why[i] == "" && len(offered[i]) == 0 {
			why[i] = "not measured"
		}
	}
	chosen = make([]*table.Measured, len(at))
	for i, n := range cover(c.reader, places) {
		if n >= 0 {
			chosen[i] = offered[i][n]
		}
		if len(offered[i]) > 0 && (n < 0 || chosen[i].TimeUS > offered[i][0].TimeUS) {
			limit := fmt.Sprintf("%s loads %d files", c.name, c.reader.files())
			if why[i] != "" {
				limit = why[i] + ", and " + limit
			}
			why[i] = limit
		}
	}
	return chosen, why, nil
}

// libraryFastest says why an export writes nothing.
const libraryFastest = "nothing to write: the library is faster than every program at every size"

// libraryFaster returns the sizes that are left to the library, with the reason.
func libraryFaster(t *table.Table) map[table.Cell]string {
	left := map[table.Cell]string{}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.LeaveToLibrary {
			left[table.Cell{Placement: r.Placement, Bytes: r.Bytes}] = fmt.Sprintf("the library [%s] takes %.1f us, and the fastest program %.1f", *r.Baseline, *r.BaselineTimeUS, r.TimeUS)
		}
	}
	return left
}

// slowerThanBaseline returns a warning if the export at a size takes longer than the
// baseline, so that the size is better left without a file; else "".
func slowerThanBaseline(m *table.Measured, at table.Cell, t *table.Table) string {
	for _, r := range t.Rows {
		if r.Bytes != at.Bytes || r.Placement != at.Placement || r.Baseline == nil || m.TimeUS < *r.BaselineTimeUS*1.0005 {
			continue
		}
		return fmt.Sprintf("at %s [%s] takes %.1f %% longer than the baseline [%s]: that size is better left to it",
			units.Bytes(at.Bytes).String(), m.Title(), (m.TimeUS / *r.BaselineTimeUS - 1)*100, *r.Baseline)
	}
	return ""
}

// lastSizeOf returns the last size of a cell: just below the plan's next.
func lastSizeOf(p results.Plan, at table.Cell) int64 {
	if i := slices.Index(p.Sizes, at.Bytes); i >= 0 && i+1 < len(p.Sizes) {
		return p.Sizes[i+1] - 1
	}
	return at.Bytes
}

// programs reads programs of a campaign, and keeps only the last, because they can
// be large.
type programs struct {
	campaign *results.Campaign
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
