package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/intervals"
)

// What a row's speedup amounts to.
const (
	Surely      = "faster"      // its interval lies above 1
	SurelyNot   = "slower"      // it lies below 1
	Unsure      = "unsure"      // it holds 1: the difference may be the simulator's error alone
	Unsupported = "unsupported" // no measurement says how far it may be off; in words NoEvidence
)

// NoEvidence is how Unsupported reads.
const NoEvidence = "no evidence"

// interval is how far the library's time may be off: not at all of one that was measured, nor of a
// vendor's prediction, which stands for itself. lacks says, in words, what nothing measured supports.
func (s *standing) interval(m *intervals.Model, r *Row) (i intervals.Interval, lacks string) {
	if s.KnownEvidence() != results.EvidenceFitted {
		return intervals.Exact, ""
	}
	return m.Library(s.Name, r.Collective, r.Bytes)
}

// judge compares the row's simulated time with a standing.
func (r *Row) judge(s *standing, m *intervals.Model, program intervals.Interval, lacks string) (verdict *string, band *[2]float64) {
	if s == nil || s.us == 0 {
		return nil, nil
	}
	library, lacking := s.interval(m, r)
	if lacking != "" && !slices.Contains(r.lacks, lacking) {
		r.lacks = append(r.lacks, lacking)
	}
	word := Unsupported
	if lacks == "" && lacking == "" {
		b := intervals.Speedup(s.us/r.TimeUS, library, program)
		band = &b
		switch {
		case b[0] > 1:
			word = Surely
		case b[1] < 1:
			word = SurelyNot
		default:
			word = Unsure
		}
	}
	return &word, band
}

// judgeMeasured is judge where the row's time was measured: that of another measurement by
// whether the two can be told apart.
func (r *Row) judgeMeasured(s *standing) *string {
	if s == nil || s.us == 0 {
		return nil
	}
	word := Surely
	switch speedup := s.us / r.TimeUS; {
	case speedup > 1-SameTime && speedup < 1+SameTime,
		s == r.called && r.Repeats != nil && r.Repeats.BaselineApart != nil && !*r.Repeats.BaselineApart:
		word = Unsure
	case speedup < 1:
		word = SurelyNot
	}
	return &word
}

// Verdict is the row's verdict in a word or two: faster alone where the program is faster than the
// library as called and than the best that its release reaches; faster (unregistered) where than the
// first alone; faster (predicted) where the vendor's own model says what one takes. Empty without any.
func (r *Row) Verdict() string {
	is := func(v *string, word string) bool { return v != nil && *v == word }
	called, best := r.called, r.best
	mark := func(word string, s *standing) string {
		predicted := r.SettingEvidence == results.EvidencePredicted || s != nil && s.KnownEvidence() == results.EvidencePredicted
		if predicted && (word == Surely || word == SurelyNot) {
			return word + " (predicted)"
		}
		return word
	}
	switch {
	case is(r.SpeedupVerdict, Surely) && is(r.SpeedupVerdictBest, Surely):
		if word := mark(Surely, best); word != Surely {
			return word
		}
		return mark(Surely, called)
	case is(r.SpeedupVerdict, Surely):
		state := called.KnownRegistered()
		switch {
		case state == results.RegisteredNone:
			state = "unregistered"
		case state == "":
			state = "as called"
		}
		if called.KnownEvidence() == results.EvidencePredicted || r.SettingEvidence == results.EvidencePredicted {
			state += ", predicted"
		}
		return Surely + " (" + state + ")"
	case is(r.SpeedupVerdictBest, SurelyNot):
		return mark(SurelyNot, best)
	case is(r.SpeedupVerdict, Unsupported):
		return NoEvidence
	case r.SpeedupVerdict != nil:
		return mark(*r.SpeedupVerdict, called)
	case r.SpeedupVerdictBest != nil || r.Baseline != nil && r.BaselineTimeUS == nil:
		return results.EvidenceUnknown
	}
	return ""
}

// Wins reports whether the row's winner counts as faster than its baseline, and than the library as
// called: where times are simulated, beyond the simulator's error; where both are measured, by
// measurements that can be told apart.
func (r *Row) Wins() bool {
	if b := r.baseline(); b != nil && b == r.called && r.Repeats != nil && r.Repeats.BaselineApart != nil && !*r.Repeats.BaselineApart {
		return false
	}
	if v := r.baselineVerdict(); v != nil {
		return *v == Surely && r.SpeedupVerdict != nil && *r.SpeedupVerdict == Surely
	}
	return r.Speedup != nil && *r.Speedup > 1+1e-9
}

// FasterAsCalled reports whether the row's winner is faster than the library as called, and not, as far
// as is known, than the best that its release reaches.
func (r *Row) FasterAsCalled() bool {
	return !r.Wins() && r.SpeedupVerdict != nil && *r.SpeedupVerdict == Surely
}

// Near reports whether the winner and its baseline may be as fast as each other.
func (r *Row) Near() bool {
	if v := r.baselineVerdict(); v != nil {
		return *v == Unsure
	}
	return r.Repeats != nil && r.Repeats.BaselineApart != nil && !*r.Repeats.BaselineApart
}

// baselineVerdict is that against the row's baseline.
func (r *Row) baselineVerdict() *string {
	if r.baseline() == r.called {
		return r.SpeedupVerdict
	}
	return r.SpeedupVerdictBest
}

// verdictNotes says what the marks of verdicts mean, and of how many rows.
func (t *Table) verdictNotes() (notes []string) {
	unsure, compared, unregistered, predicted, unknown := 0, 0, 0, 0, 0
	for i := range t.Rows {
		r := &t.Rows[i]
		word := r.Verdict()
		if r.Compared().Speedup != nil {
			compared++
		}
		if word == Unsure && r.model != nil {
			unsure++
		}
		if r.FasterAsCalled() {
			unregistered++
		}
		if orEmpty(r.BaselineEvidence) == results.EvidencePredicted || strings.HasSuffix(word, "predicted)") {
			predicted++
		}
		if orEmpty(r.BaselineEvidence) == results.EvidenceUnknown {
			unknown++
		}
	}
	add := func(n, of int, what, format string) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf(format, fmt.Sprintf("%d of %s", n, units.Count(of, what))))
		}
	}
	add(unsure, compared, "speedup", "unsure: %s may be the simulator's error alone; their 90 %% intervals hold 1")
	add(unregistered, len(t.Rows), "row", "faster (unregistered): at %s the library in another state of its buffers is as fast, or nothing says how fast")
	add(predicted, len(t.Rows), "row", "predicted: at %s the library's time is of the vendor's own model, which nobody measured")
	add(unknown, len(t.Rows), "row", "unknown: nothing says what the library takes in its fastest state at %s; speedups there are over the library as called")
	return notes
}
