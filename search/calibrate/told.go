package calibrate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// Left is a constant that was not fitted.
type Left struct {
	Constant string `json:"what"`
	Because  string `json:"because"`
}

// What rows tell.
const (
	// tells is the least part of a simulated time that goes by a constant in a row that
	// tells it: where it is 1, the call takes twice as long with links half as fast.
	tells = 0.2
	// ofLibrary is the same of a link in a row of the library, whose algorithm is not known.
	ofLibrary = 0.8
	// speedOfLibrary is the same of threadblocks, where the file guesses their speed.
	speedOfLibrary = 0.5
	// grown is the least power of such a row's size by which its measured time grows from
	// the size before: where bytes alone take time, it is 1.
	grown = 0.9
)

// choose selects the constants that rows tell, with their limits. us is the rows' times
// without launch, with the file's constants.
func (f *fitting) choose(ctx context.Context, us []float64) error {
	const settled = "the file has it from programs, whose times tell it better than the library's"
	m := f.machine()
	programs := slices.ContainsFunc(f.fitted, f.ofProgram)
	told := f.which(func(i int) bool {
		return (f.ofProgram(i) || !f.Settled.Launch) && f.ofFile(i) >= tells*f.whole(us[i], i, 0)
	})
	switch {
	case len(told) > 0:
		f.launch = &factor{name: launch, limits: limitsOf(launch, m), told: told}
	case !programs && f.Settled.Launch:
		f.leave(launch, settled)
	default:
		f.leave(launch, fmt.Sprintf("it takes less than %.0f %% of every call", 100*tells))
	}
	saturated := f.saturated()
	for _, kind := range m.Kinds() {
		has := slices.Contains(f.Settled.Links, kind)
		if has && !programs {
			f.leave(kind.String(), settled)
			continue
		}
		part, err := f.part(ctx, us, topologies.Calibration{Links: map[topologies.LinkKind]float64{kind: 0.5}})
		if err != nil {
			return err
		}
		told := f.which(func(i int) bool {
			if f.ofProgram(i) {
				return part[i] >= tells
			}
			return !has && saturated[i] && part[i] >= ofLibrary
		})
		if len(told) == 0 {
			f.leave(kind.String(), "no call goes by these links' bandwidth for long enough")
			continue
		}
		m.kind = kind
		f.factors = append(f.factors, factor{kind, kind.String(), limitsOf(links, m), told})
	}
	if !programs && !f.Settled.Speed {
		f.leave(threadblocks, "how many the library ran is not known; programs tell it (--runs, --campaign)")
		return nil
	}
	part, err := f.part(ctx, us, topologies.Calibration{Speed: 0.5})
	if err != nil {
		return err
	}
	told = f.which(func(i int) bool {
		return f.ofProgram(i) && part[i] >= tells || !programs && saturated[i] && part[i] >= speedOfLibrary
	})
	if len(told) == 0 {
		f.leave(threadblocks, "no call goes by their speed for long enough")
		return nil
	}
	f.factors = append(f.factors, factor{speed, threadblocks, limitsOf(threadblocks, m), told})
	return nil
}

// part is how much of each row's time goes by what a calibration makes half as fast.
func (f *fitting) part(ctx context.Context, us []float64, half topologies.Calibration) ([]float64, error) {
	slow, err := f.simulate(ctx, half, f.fitted)
	if err != nil {
		return nil, err
	}
	for _, i := range f.fitted {
		slow[i] = math.Log2(f.whole(slow[i], i, 0) / f.whole(us[i], i, 0))
	}
	return slow, nil
}

// guessesSpeed drops the speed of threadblocks from what is fitted, and reports whether it was
// there by the library's rows alone.
func (f *fitting) guessesSpeed() bool {
	i := slices.IndexFunc(f.factors, func(x factor) bool { return x.kind == speed })
	if i < 0 || slices.ContainsFunc(f.fitted, f.ofProgram) {
		return false
	}
	f.factors = slices.Delete(f.factors, i, i+1)
	delete(f.atLimit, threadblocks)
	return true
}

func (f *fitting) leave(constant, because string) { f.left = append(f.left, Left{constant, because}) }

func (f *fitting) ofProgram(row int) bool { return f.rows[row].Origin == Program }

// which returns those rows that are fitted to for which is holds.
func (f *fitting) which(is func(row int) bool) (some []int) {
	for _, i := range f.fitted {
		if is(i) {
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
