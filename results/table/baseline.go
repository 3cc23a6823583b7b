package table

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// AsCalled is what the library takes with the buffers as the user calls it, where a row's
// baseline is another state.
type AsCalled struct {
	Baseline     string      `json:"baseline"`
	Registered   string      `json:"baseline_registered"`
	Evidence     string      `json:"baseline_evidence"`
	Threadblocks *int        `json:"baseline_threadblocks"`
	TimeUS       *float64    `json:"baseline_time_us"`
	Speedup      *float64    `json:"speedup"`
	SpeedupBand  *[2]float64 `json:"speedup_band"` // of simulated times; null where nothing measured supports it
}

// Comparison is what tables print of a row beside its program.
type Comparison struct {
	Baseline        string
	TimeUS, Speedup *float64
	SpeedupBand     *[2]float64
}

// Compared returns the comparison with the row's baseline or, where nothing says what that takes, with
// the library as called.
func (r *Row) Compared() Comparison {
	if c := r.AsCalled; c != nil && r.BaselineTimeUS == nil && c.TimeUS != nil {
		return Comparison{c.Baseline + ", as called", c.TimeUS, c.Speedup, c.SpeedupBand}
	}
	return Comparison{orEmpty(r.Baseline), r.BaselineTimeUS, r.Speedup, r.SpeedupBand}
}

// standing is what the library takes at a row with the buffers in one state.
type standing struct {
	*results.Baseline
	us           float64 // 0: nothing says the time
	threadblocks *int
	behind       Evidence
}

// standingOf is that of a baseline, whose time may be a trial's; nil where there is no such trial.
func standingOf(b *results.Baseline, ms []Measured) *standing {
	if b == nil {
		return nil
	}
	s := &standing{Baseline: b, us: b.TimeUS, behind: evidenceOf(b.Data, 1)}
	if b.Threadblocks > 0 {
		s.threadblocks = &b.Threadblocks
	}
	for i := range ms {
		if m := &ms[i]; b.TimeUS == 0 && m.is(b) {
			s.us, s.behind = m.TimeUS+b.ExtraUS, m.Evidence
			if m.Threadblocks > 0 && b.Threadblocks == 0 {
				s.threadblocks = &m.Threadblocks
			}
		}
	}
	if s.us == 0 && b.Evidence != results.EvidenceUnknown {
		return nil
	}
	return s
}

// withoutCopies is the standing of buffers that are in windows already.
func (s *standing) withoutCopies() *standing {
	if s == nil || s.CopiesUS == 0 {
		return s
	}
	baseline, there := *s.Baseline, *s
	there.us -= baseline.CopiesUS
	baseline.CopiesUS = 0
	there.Baseline = &baseline
	return &there
}

// speedup is library ÷ program; nil where the library's time is not known.
func (s *standing) speedup(us float64) *float64 {
	if s.us == 0 {
		return nil
	}
	x := s.us / us
	return &x
}

// bestOf is the fastest standing, of equals that of the least registered buffers: nil where older
// journals know none but that as called, on buffers that are not registered. One whose time is unknown
// may be the fastest.
func bestOf(called *standing, others []*standing) *standing {
	if called != nil && called.Evidence == "" && called.KnownRegistered() == results.RegisteredNone && len(others) == 0 {
		return nil
	}
	var all []*standing
	for _, s := range append(others[:len(others):len(others)], called) {
		if s != nil {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return nil
	}
	state := func(s *standing) int { return slices.Index(results.States(), s.KnownRegistered()) }
	return slices.MinFunc(all, func(a, b *standing) int { return cmp.Or(cmp.Compare(a.us, b.us), cmp.Compare(state(a), state(b))) })
}

// stand sets the row's baseline: the state of the buffers that was asked for, or else the best.
func (r *Row) stand(called, best *standing) {
	r.called, r.best = called, best
	r.Baseline, r.BaselineTimeUS, r.Speedup, r.BaselineChecked, r.LeaveToLibrary = nil, nil, nil, nil, false
	r.BaselineRelease, r.BaselineRegistered, r.BaselineEvidence, r.BaselineThreadblocks, r.BaselineCopiesUS, r.AsCalled = nil, nil, nil, nil, nil, nil
	r.BaselineBestChannelsUS, r.Variables = nil, r.variables()
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	b := r.baseline()
	if b == nil {
		return
	}
	r.Baseline, r.BaselineRelease, r.BaselineRegistered, r.BaselineEvidence = &b.Name, text(b.Release), text(b.KnownRegistered()), text(b.KnownEvidence())
	r.BaselineThreadblocks, r.BaselineChecked, r.Speedup = b.threadblocks, b.behind.IsChecked(), b.speedup(r.TimeUS)
	if b.us > 0 {
		r.BaselineTimeUS = &b.us
	}
	if b.CopiesUS > 0 {
		r.BaselineCopiesUS = &b.CopiesUS
	}
	algorithm, rest, _ := strings.Cut(b.Name, " ") // ring of ring ×24 LL
	same := r.Algorithm == algorithm && r.Source != results.SourceNative || r.isSetting() && slices.Contains(libraryFamilies[r.Algorithm], algorithm)
	if same && strings.HasSuffix(" "+rest, " "+r.Protocol) {
		r.BaselineBestChannelsUS = &r.TimeUS
	}
	if c := called; c != nil && c != b {
		r.AsCalled = &AsCalled{Baseline: c.Name, Registered: c.KnownRegistered(), Evidence: c.KnownEvidence(), Threadblocks: c.threadblocks, Speedup: c.speedup(r.TimeUS)}
		if c.us > 0 {
			r.AsCalled.TimeUS = &c.us
		}
	}
	_, us := r.Library()
	r.LeaveToLibrary = us > 0 && us < r.TimeUS*(1-SameTime)
}

// baseline is the standing that the row is compared with; nil: none.
func (r *Row) baseline() *standing {
	if r.named || r.best == nil {
		return r.called
	}
	return r.best
}

// Library is what the row's sizes are left to where no program is faster: the baseline, or, where
// nothing says its time, the library as called. us is 0 where nothing says either's.
func (r *Row) Library() (name string, us float64) {
	for _, s := range []*standing{r.baseline(), r.called} {
		if s != nil && s.us > 0 {
			return s.Name, s.us
		}
	}
	return "", 0
}

// libraryUS is Library's time at a point, with those of trials; 0 where nothing says it. named: the state
// of the buffers was asked for.
func libraryUS(p results.Point, ms []Measured, named bool) float64 {
	r := Row{named: named, TimeUS: 1}
	r.standAt(p, ms)
	_, us := r.Library()
	return us
}

// BaselineData returns the evidence of the data of the baseline's time.
func (r *Row) BaselineData() Evidence {
	if b := r.baseline(); b != nil {
		return b.behind
	}
	return Evidence{}
}

// BaselineLine says for all rows which release they are compared with, in which states of the
// buffers and on what evidence; empty where no row knows.
func (t *Table) BaselineLine() string {
	var releases []string
	type state struct{ registered, evidence string }
	counts, n, copies, fastest := map[state]int{}, 0, false, true
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.BaselineRelease == nil {
			continue
		}
		if !slices.Contains(releases, *r.BaselineRelease) {
			releases = append(releases, *r.BaselineRelease)
		}
		counts[state{orEmpty(r.BaselineRegistered), orEmpty(r.BaselineEvidence)}]++
		n, copies, fastest = n+1, copies || r.BaselineCopiesUS != nil, fastest && !r.named && r.BaselineTimeUS != nil
	}
	if n == 0 {
		return ""
	}
	var states []string
	for _, registered := range append(results.States(), "") {
		for _, evidence := range results.Evidences() {
			at := counts[state{registered, evidence}]
			if at == 0 {
				continue
			}
			text := cmp.Or(registered, "not told")
			if at < n {
				text += fmt.Sprintf(" at %d of %s", at, units.Count(n, "row"))
			}
			states = append(states, text+" ("+evidence+")")
		}
	}
	line := "baseline: " + strings.Join(releases, ", ") + "; buffers registered: " + strings.Join(states, ", ")
	if fastest {
		line += ", the fastest there"
	}
	if copies {
		line += "; copies into windows and out counted"
	}
	return line
}
