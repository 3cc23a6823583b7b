package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// Left is a constant that was not fitted.
type Left struct{ Constant, Because string }

// What rows of the library tell. A program's rows tell every constant.
const (
	// ofLaunch is the least part of a call's simulated time that its launch takes.
	ofLaunch = 0.2
	// ofLink is how much of a call's simulated time goes by a link's bandwidth, at least:
	// where it is 1, the call takes twice as long on links half as fast.
	ofLink = 0.8
	// grown is the least power of a call's size by which its measured time grows from the
	// size before: by the time that it takes for each byte alone, it is 1.
	grown = 0.9
)

// choose selects the constants that rows tell, with their limits. us is the rows' times
// without launch, with the file's constants.
func (f *fitting) choose(ctx context.Context, us []float64) error {
	m := f.machine()
	programs := slices.ContainsFunc(f.fitted, f.ofProgram)
	const settled = "the file has it from programs, whose times tell it better than the library's"
	told := f.telling(func(i int) bool { return !f.Settled.Launch && f.ofFile(i) >= ofLaunch*f.whole(us[i], i, 0) })
	switch {
	case len(told) > 0:
		f.launch = &factor{name: launch, limits: limitsOf(launch, m), told: told}
	case f.Settled.Launch:
		f.leave(launch, settled)
	default:
		f.leave(launch, fmt.Sprintf("it takes less than %.0f %% of every call", 100*ofLaunch))
	}
	saturated := f.saturated()
	for _, kind := range m.Kinds() {
		has := slices.Contains(f.Settled.Links, kind)
		if has && !programs {
			f.leave(kind.String(), settled)
			continue
		}
		half, err := f.simulate(ctx, topologies.Calibration{Links: map[topologies.LinkKind]float64{kind: 0.5}}, f.fitted)
		if err != nil {
			return err
		}
		told := f.telling(func(i int) bool {
			return !has && saturated[i] && math.Log2(f.whole(half[i], i, 0)/f.whole(us[i], i, 0)) >= ofLink
		})
		if len(told) == 0 {
			f.leave(kind.String(), "no call of the library takes its time by these links' bandwidth alone")
			continue
		}
		f.factors = append(f.factors, factor{kind, kind.String(), limitsOf(links, m), told})
	}
	if !programs {
		f.leave(threadblocks, "how many the library ran is not known; programs tell it (--runs, --campaign)")
		return nil
	}
	f.factors = append(f.factors, factor{speed, threadblocks, limitsOf(threadblocks, m), f.telling(func(int) bool { return false })})
	return nil
}

func (f *fitting) leave(constant, because string) { f.left = append(f.left, Left{constant, because}) }

// ofProgram reports whether a row is a program's.
func (f *fitting) ofProgram(row int) bool { return f.rows[row].Origin == Program }

// telling returns the rows that are fitted to and tell a constant: all of programs, and
// those of the library that do.
func (f *fitting) telling(library func(row int) bool) (some []int) {
	for _, i := range f.fitted {
		if f.ofProgram(i) || library(i) {
			some = append(some, i)
		}
	}
	return some
}

// saturated reports for each row whether its measured time grows with its size alone, from
// the size before it in its table.
func (f *fitting) saturated() []bool {
	is := make([]bool, len(f.rows))
	for i := range f.rows {
		r, before := &f.rows[i], -1
		for j := range f.rows {
			if o := &f.rows[j]; o.Table == r.Table && o.Bytes < r.Bytes && (before < 0 || o.Bytes > f.rows[before].Bytes) {
				before = j
			}
		}
		if before >= 0 {
			o := &f.rows[before]
			is[i] = math.Log(r.MeasuredUS/o.MeasuredUS) >= grown*math.Log(float64(r.Bytes)/float64(o.Bytes))
		}
	}
	return is
}
