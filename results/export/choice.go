package export

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/results/tuning"
)

// chooser chooses the program to export at each size of a campaign: the fastest one that
// the runtime would run, where that is faster than the library.
type chooser struct {
	campaign *results.Campaign
	name     string                                // of the runtime
	reader   reader                                // how many files it loads, and what they say
	refuses  func(*table.Measured) (string, error) // why it would not run something; "" where it would
	clock    Clock                                 // between sizes; nil: nothing is
	slower   bool                                  // export what is slower than the library, too
	stage    func(what string, done, of int)
	exact    bool // times are computed
	sms      int  // that a program may take; 0: any number

	places []table.Cell
	all    map[table.Cell][]table.Measured
	table  *table.Table
	rows   map[table.Cell]*table.Row // the table's
	chosen []*table.Measured         // by place; nil: nothing
	why    []string                  // by place: why that is not the winner
	gaps   []Reason                  // by place: why nothing is exported there
	loaded struct {                  // the last of load
		of      fileKey
		program *ir.Program
	}
}

func newChooser(c *results.Campaign, o Options, name string, r reader, refuses func(*table.Measured) (string, error)) (*chooser, error) {
	all, err := exportable(c, o.MaxSMs)
	if err != nil {
		return nil, err
	}
	winners, err := table.BuildWithin(c, o.MaxSMs)
	if err != nil {
		return nil, err
	}
	if name == mscclpp.Name { // peers read and write each other's buffers
		winners.WithoutCopies()
	}
	executor, _ := c.Executor()
	return &chooser{exact: executor.Deterministic, campaign: c, name: name, reader: r, refuses: refuses, clock: o.Clock, slower: o.KeepSlower, sms: o.MaxSMs, stage: o.reach,
		places: table.Cells(c.Plan()), all: all, table: winners, rows: winners.ByCell()}, nil
}

// servedRange is a run of sizes that one file serves. Its evidence is of all of them.
type servedRange struct {
	table.Measured
	min, last, max int64 // last: the last measured size
	gain           float64
}

// choose decides which file serves which sizes. It reports sizes that get
// something slower than the winner, and those that get nothing. If the library keeps a size,
// and nothing is left to serve, that is no error.
func (c *chooser) choose(report *Report) ([]servedRange, error) {
	if err := c.pick(); err != nil {
		return nil, err
	}
	ends, err := c.ends()
	if err != nil {
		return nil, err
	}
	var served []servedRange
	ended := true // the last range
	for i, at := range c.places {
		n := len(served)
		m := c.chosen[i]
		switch {
		case m == nil:
			ended = ended || c.gaps[i] == Slower || c.gaps[i] == Tied || served[n-1].Placement != at.Placement || !c.reader.passes(served[n-1].Trial, at.Bytes)
		case !ended && served[n-1].Placement == at.Placement && c.reader.fileKey(served[n-1].Trial) == c.reader.fileKey(m.Trial):
			served[n-1].max, served[n-1].last = ends[i], at.Bytes
			served[n-1].Evidence = served[n-1].Evidence.Plus(m.Evidence)
			served[n-1].gain += c.gain(i)
		default:
			served = append(served, servedRange{Measured: *m, min: at.Bytes, last: at.Bytes, max: ends[i], gain: c.gain(i)})
			ended = false
		}
		ended = ended || ends[i] < c.before(i)
	}
	served = c.within(served)
	c.report(report)
	switch {
	case len(served) > 0:
	case slices.ContainsFunc(c.gaps, func(r Reason) bool { return r == Slower || r == Tied }):
		report.note(c.nothing())
	default:
		return nil, fmt.Errorf("%s would run none of the programs measured (%s): %w", c.name, report.Gaps[0].Why, ErrNothingFits)
	}
	return served, nil
}

// gain is the logarithm of how much faster the choice at a place is than the library; 0 where
// nothing says what that takes.
func (c *chooser) gain(i int) float64 {
	if us := c.libraryUS(c.places[i]); us > 0 {
		return math.Log(us / c.chosen[i].TimeUS)
	}
	return 0
}

// within drops those ranges that gain least, where ranges that end before the next size take
// more files than the runtime loads.
func (c *chooser) within(served []servedRange) []servedRange {
	for len(served) > c.reader.files() {
		least := 0
		for i := range served {
			if served[i].gain < served[least].gain {
				least = i
			}
		}
		for i, at := range c.places {
			if d := &served[least]; at.Placement == d.Placement && at.Bytes >= d.min && at.Bytes <= d.last {
				c.chosen[i], c.why[i], c.gaps[i] = nil, c.filesText(), Refused
			}
		}
		served = slices.Delete(served, least, least+1)
	}
	return served
}

func (c *chooser) filesText() string {
	return fmt.Sprintf("%s loads %d files", c.name, c.reader.files())
}

func (c *chooser) report(r *Report) {
	r.Summary = &Summary{Evidence: evidenceText(c.table)}
	c.noteSettings(r)
	for i, at := range c.places {
		m := c.chosen[i]
		if m == nil {
			r.leave(at, c.gaps[i], c.why[i])
			continue
		}
		winner := c.all[at][slices.IndexFunc(c.all[at], c.rows[at].Is)]
		r.addLoss(at, winner.Title(), winner.TimeUS, m.Title(), m.TimeUS, c.why[i])
		row := c.rows[at].Instead(m)
		r.Summary.serve(&row)
		if library, us := row.Library(); us > 0 && slower(m.TimeUS, us) {
			r.note(fmt.Sprintf("at %s [%s] takes %.1f %% longer than the library [%s], and is kept as asked", units.Bytes(at.Bytes).String(), m.Title(), (m.TimeUS/us-1)*100, library))
		}
	}
}

// noteSettings says where a setting of the library's wins, and how it is set.
func (c *chooser) noteSettings(r *Report) {
	at := map[string][]string{} // sizes, by setting
	for _, place := range c.places {
		if row := c.rows[place]; row != nil && row.SettingEvidence != "" {
			line := row.SettingLine()
			at[line] = append(at[line], units.Bytes(place.Bytes).String())
		}
	}
	for _, line := range c.table.SettingLines() {
		if sizes := at[line]; len(sizes) > 0 {
			r.note(fmt.Sprintf("at %s a setting of the library's wins over all programs, and no file: %s", strings.Join(sizes, " "), line))
		}
	}
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
	return fmt.Sprintf("colltune-%s-%02d-%s-%s-%s", callName(n.plan, s.Placement), n.made[s.Placement], s.sizes(), tuning.FileWord(s.Algorithm), s.Protocol)
}

// pick chooses the export at each place, and gives the reason where that is not the winner.
// What is no faster than the library is left to it.
func (c *chooser) pick() error {
	places := make([]Place, len(c.places))
	offered := make([][]*table.Measured, len(places))
	c.why, c.gaps = make([]string, len(places)), make([]Reason, len(places))
	for i, at := range c.places {
		c.stage(Choosing, i, len(places))
		places[i] = Place{Bytes: at.Bytes, Placement: at.Placement}
		for j := range c.all[at] { // best first
			m := &c.all[at][j]
			if m.Reference {
				continue
			}
			refusal, err := c.refuses(m)
			if err != nil {
				return err
			}
			if refusal != "" {
				if c.why[i] == "" && len(offered[i]) == 0 {
					c.why[i] = refusal
				}
				continue
			}
			if c.reader.files() >= len(places) && len(offered[i]) > 0 && !table.AboutAsFast(m.TimeUS, offered[i][0].TimeUS) {
				break // the rest is slower, and saves no file
			}
			offered[i] = append(offered[i], m)
			places[i].Offers = append(places[i].Offers, Offer{Trial: m.Trial, TimeUS: m.TimeUS})
		}
		if len(offered[i]) == 0 {
			c.gaps[i], c.why[i] = Refused, cmp.Or(c.why[i], c.unmeasured(at))
		}
	}
	won := make([]int, len(places))
	for i, at := range c.places {
		own := lists.Map(offered[i], func(m *table.Measured) table.Measured { return *m })
		won[i] = table.Winner(own, c.exact, c.libraryUS(at))
	}
	chosen := won
	if filesOf(c.reader, places, won) > c.reader.files() {
		chosen = cover(c.reader, places)
	}
	c.chosen = make([]*table.Measured, len(places))
	for i, n := range chosen {
		if n >= 0 {
			var err error
			if c.chosen[i], err = c.asLoaded(offered[i][n]); err != nil {
				return err
			}
		}
		reason := ""
		switch {
		case len(offered[i]) == 0:
		case n < 0, n != won[i] && c.chosen[i].TimeUS > offered[i][won[i]].TimeUS:
			reason = c.filesText()
		case c.chosen[i].TimeUS > offered[i][n].TimeUS:
			reason = "in its file a step over strided chunks is a step for each"
		}
		if reason != "" {
			c.why[i] = strings.TrimPrefix(c.why[i]+", and "+reason, ", and ")
		}
		switch m := c.chosen[i]; {
		case m == nil:
			c.gaps[i] = Refused
		case c.beaten(m):
			c.leave(i, m)
			c.chosen[i] = nil
		}
	}
	return nil
}

// unmeasured says why nothing that was measured at a place may be exported.
func (c *chooser) unmeasured(at table.Cell) string {
	own := slices.DeleteFunc(slices.Clone(c.campaign.Trials()), func(t results.Trial) bool { return t.Placement != at.Placement || t.Bytes != at.Bytes })
	least := table.LeastSMs(own)
	if c.sms == 0 || least == 0 {
		return "not measured"
	}
	return fmt.Sprintf("of the programs measured, the smallest takes %s, and %d may be taken", units.Count(least, "SM"), c.sms)
}

// beaten reports whether the library is as fast as m, or faster, so that it keeps the size.
func (c *chooser) beaten(m *table.Measured) bool {
	library := c.libraryUS(table.Cell{Placement: m.Placement, Bytes: m.Bytes})
	return library > 0 && !c.slower && !faster(m.TimeUS, library)
}

// leave leaves a place to the library, where m would be exported.
func (c *chooser) leave(i int, m *table.Measured) {
	library, us := c.rows[c.places[i]].Library()
	if c.gaps[i] = Slower; !slower(m.TimeUS, us) {
		c.gaps[i] = Tied
	}
	program := "the fastest program"
	if c.why[i] != "" {
		program = fmt.Sprintf("the program for %s (%s)", c.name, c.why[i])
	}
	c.why[i] = fmt.Sprintf("the library [%s] takes %.2f us, and %s %.2f", library, us, program, m.TimeUS)
}

// libraryUS is the library's time at a place, in microseconds; 0: nothing says it.
func (c *chooser) libraryUS(at table.Cell) (us float64) {
	if row := c.rows[at]; row != nil {
		_, us = row.Library()
	}
	return us
}

// before is the last size before the next of the plan's: a file for a place serves no more.
func (c *chooser) before(i int) int64 {
	if next := i + 1; next < len(c.places) && c.places[next].Placement == c.places[i].Placement {
		return c.places[next].Bytes - 1
	}
	return c.places[i].Bytes
}

// nothing says why an export writes nothing, though there are sizes that the library keeps for its speed.
func (c *chooser) nothing() string {
	refused := 0
	for _, why := range c.gaps {
		if why == Refused {
			refused++
		}
	}
	switch kept := len(c.gaps) - refused; {
	case refused == 0:
		return "nothing to write: no program is faster than the library at any size"
	case kept == 0:
		return fmt.Sprintf("nothing to write: %s would run none of the programs measured, none of which is faster than the library", c.name)
	default:
		return fmt.Sprintf("nothing to write: the library is as fast as the programs or faster at %d of %s, and %s would run none of those measured at the others", kept, units.Count(len(c.gaps), "size"), c.name)
	}
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
