package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// blocksPerSM is how many threadblocks of a runtime's kernel fit on an SM. It would follow from the
// kernel's registers and shared memory, which no runtime publishes: so it is one.
const blocksPerSM = 1

// Caps are the numbers of SMs for which a search finds the fastest program each, besides all of a GPU's.
// NCCL takes up to 24 of an A100 and 32 of an H100.
var Caps = []int{4, 8, 16, 24, 32}

// SMs returns how many SMs a GPU's threadblocks take.
func SMs(threadblocks int) int { return (threadblocks + blocksPerSM - 1) / blocksPerSM }

// smsNotes says where nothing that was measured fits.
func (t *Table) smsNotes() []string {
	if t.unfit == 0 {
		return nil
	}
	return []string{fmt.Sprintf("at most %s: nothing that was measured fits at %d of %s", units.Count(t.sms, "SM"), t.unfit, units.Count(t.unfit+len(t.Rows), "size"))}
}

// SMs is how many SMs of the busiest GPU the winner takes; 0: not known.
func (r *Row) SMs() int { return smsOf(r.Threadblocks) }

// BaselineSMs is how many the baseline takes; 0: not known.
func (r *Row) BaselineSMs() int { return smsOf(r.BaselineThreadblocks) }

// Within lists the measurements that take at most sms SMs; 0: all of them.
func Within(ms []Measured, sms int) []Measured {
	if sms == 0 {
		return ms
	}
	return slices.DeleteFunc(slices.Clone(ms), func(m Measured) bool { return !Fits(m.Trial, sms) })
}

// Fits reports whether a trial is known to take at most that number of SMs.
func Fits(t *results.Trial, most int) bool {
	return t.Threadblocks > 0 && SMs(t.Threadblocks) <= most
}

// The winner is the smallest of the programs that are about as fast as the fastest: SMs have other work.
//
//	fastest   108 SMs   14.54 us
//	           32       14.61     about as fast, fewer SMs
//	            8       14.70     about as fast, the fewest: wins
//	            4       15.90     slower
//
// A library's algorithm that does not tell its threadblocks wins only where it is the fastest.

// about is the part of its time by which a program may be slower than the fastest, and win.
const about = 0.02

// AboutAsFast reports whether a time is about that of the fastest.
func AboutAsFast(us, fastest float64) bool { return us <= fastest*(1+about) }

// Lighter orders trials that are about as fast: fewer SMs, then the library's own algorithms, which nobody
// has to load. Those that do not tell come last.
func Lighter(a, b *results.Trial) int {
	sms := func(t *results.Trial) int {
		if t.Threadblocks < 1 {
			return math.MaxInt
		}
		return SMs(t.Threadblocks)
	}
	own := func(t *results.Trial) int {
		if t.IsNative() {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(sms(a), sms(b)), cmp.Compare(own(a), own(b)))
}

// ToldApart reports whether measurements tell a time from the fastest, or are too few to say that it is
// about as fast. Computed times, a trial each, are what they are.
func ToldApart(exact bool, repeats, fastest [][]float64) bool {
	return !exact && (min(len(repeats), len(fastest)) < 2 || results.Apart(repeats, fastest))
}

// Winner returns the index of the winner among measurements of a cell, fastest first; -1: there is none.
// exact: their times are computed. libraryUS is the library's time, 0 where nothing says it: a winner is
// faster where the fastest is.
func Winner(ms []Measured, exact bool, libraryUS float64) int {
	first := slices.IndexFunc(ms, Measured.Competes)
	if first < 0 || ms[first].Threadblocks < 1 {
		return first
	}
	won, most := first, math.Inf(1)
	if ms[first].TimeUS < libraryUS*(1-SameTime) {
		most = libraryUS * (1 - SameTime)
	}
	for i := first + 1; i < len(ms) && ms[i].TimeUS < most && AboutAsFast(ms[i].TimeUS, ms[first].TimeUS); i++ {
		if m := &ms[i]; m.Competes() && Lighter(m.Trial, ms[won].Trial) < 0 && !ToldApart(exact, m.Repeats, ms[first].Repeats) {
			won = i
		}
	}
	return won
}

func smsOf(threadblocks *int) int {
	if threadblocks == nil {
		return 0
	}
	return SMs(*threadblocks)
}

// threadblocksOf are those of a trial's busiest rank; nil where a library's algorithm does not tell.
func threadblocksOf(t *results.Trial) *int {
	if t.Threadblocks < 1 {
		return nil
	}
	n := t.Threadblocks
	return &n
}
