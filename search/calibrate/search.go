package calibrate

import (
	"context"
	"maps"
	"math"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// clearly is the part by which the sum of errors of the rows that tell a constant must
// fall for another value to be taken.
const clearly = 0.03

// passes is how often every factor is looked for, because one may hold up what another
// was blamed for; mostTried is how many values of it are tried at most.
const (
	passes    = 3
	mostTried = 32
)

// speed stands for the threadblocks, where the others are kinds of link.
const speed topologies.LinkKind = 1<<8 - 1

// factor is a constant that is fitted as a multiple of what the file says.
type factor struct {
	kind topologies.LinkKind // of link, or speed
	name string
	limits
	told []int // by these rows
}

type candidate struct {
	times  map[topologies.LinkKind]float64 // those that are not 1
	launch float64                         // microseconds more
}

func (c *candidate) calibration() topologies.Calibration {
	links := maps.Clone(c.times)
	delete(links, speed)
	return topologies.Calibration{Launch: units.Duration(c.launch), Speed: c.times[speed], Links: links}
}

// of is how many times as fast a factor is.
func (c *candidate) of(x factor) float64 {
	if times, changed := c.times[x.kind]; changed {
		return times
	}
	return 1
}

// with is the candidate with another factor, to three decimals, and without a launch.
func (c *candidate) with(x factor, times float64) *candidate {
	n := &candidate{times: maps.Clone(c.times)}
	if n.times[x.kind] = math.Round(times*1000) / 1000; n.times[x.kind] == 1 {
		delete(n.times, x.kind)
	}
	return n
}

// search finds the best candidate for the rows that are fitted to. us is their times, and
// the others', without launch and with the file's constants.
func (f *fitting) search(ctx context.Context, us []float64) (*candidate, error) {
	f.before = f.losses(us, 0)
	best := &candidate{times: map[topologies.LinkKind]float64{}}
	if f.launch != nil {
		more := f.launched(us)
		if f.loss(f.launch.told, us, more) < f.loss(f.launch.told, us, 0)*(1-clearly) {
			best.launch = more
		}
	}
	for range passes {
		before := best
		for _, x := range f.factors {
			var err error
			if best, err = f.scale(ctx, best, x); err != nil {
				return nil, err
			}
		}
		if best == before {
			break
		}
	}
	return best, nil
}

// scale looks for the best value of a factor, with the launch that goes with each: on a
// coarse grid within its limits, and then between the neighbours of the best. It notes a
// limit that the best is at.
func (f *fitting) scale(ctx context.Context, from *candidate, x factor) (*candidate, error) {
	type trial struct {
		*candidate
		loss float64
	}
	tried := map[float64]trial{}
	try := func(times float64) (trial, error) {
		c := from.with(x, times)
		if done, ok := tried[c.of(x)]; ok {
			return done, nil
		}
		us, err := f.simulate(ctx, c.calibration(), f.fitted)
		if err != nil {
			return trial{}, err
		}
		if c.launch = from.launch; f.launch != nil {
			c.launch = f.launched(us)
		}
		tried[c.of(x)] = trial{c, f.loss(x.told, us, c.launch)}
		return tried[c.of(x)], nil
	}
	was, err := try(from.of(x))
	if err != nil {
		return nil, err
	}
	best := was
	better := func(times float64) error {
		t, err := try(min(max(times, x.at[least]), x.at[most]))
		if err == nil && t.loss < best.loss {
			best = t
		}
		return err
	}
	const coarse = 1.35
	for times := x.at[least]; times < x.at[most]*coarse; times *= coarse {
		if err := better(times); err != nil {
			return nil, err
		}
	}
	for step := math.Sqrt(coarse); step > 1.005; step = math.Sqrt(step) {
		for _, times := range [...]float64{best.of(x) / step, best.of(x) * step} {
			if err := better(times); err != nil {
				return nil, err
			}
		}
	}
	if best.loss >= was.loss*(1-clearly) {
		best = trial{from, was.loss}
	}
	delete(f.atLimit, x.name)
	for s, beyond := range [...]float64{least: x.at[least] / 1.1, most: x.at[most] * 1.1} {
		if math.Abs(best.of(x)-x.at[s]) > 1e-3 {
			continue
		}
		t, err := try(beyond)
		if err != nil {
			return nil, err
		}
		if best.of(x) != 1 || t.loss < best.loss*(1-clearly) {
			f.atLimit[x.name] = x.bound(side(s), x.name)
		}
	}
	return best.candidate, nil
}

// launched is by how much launches are longer for the least errors, to a tenth of a
// microsecond: of what would meet some of the rows, and of steps between the limits, as that
// may spoil others.
func (f *fitting) launched(us []float64) float64 {
	lo, hi := f.mostLess(), f.mostMore()
	const most = 64 // of each of two sorts
	tries := []float64{0}
	for i := range most + 1 {
		tries = append(tries, lo+(hi-lo)*float64(i)/most)
	}
	for k := 0; k < len(f.launch.told); k += 1 + len(f.launch.told)/most {
		i := f.launch.told[k]
		tries = append(tries, f.rows[i].MeasuredUS-f.whole(us[i], i, 0))
	}
	best, least := 0.0, math.Inf(1)
	for _, more := range tries {
		more = min(max(math.Round(more*10)/10, lo), hi)
		if l := f.loss(f.launch.told, us, more); l < least {
			best, least = more, l
		}
	}
	return best
}

// mostLess and mostMore are the limits of the launch, within tenths of a microsecond.
func (f *fitting) mostLess() float64 { return math.Ceil(f.launch.at[least]*10) / 10 }
func (f *fitting) mostMore() float64 { return math.Floor(f.launch.at[most]*10) / 10 }

// met returns the limits that a candidate is at: where it went to them, or would be better
// beyond.
func (f *fitting) met(c *candidate, us []float64) (all []Bound) {
	if f.launch != nil {
		for s, more := range [...]float64{least: f.mostLess(), most: f.mostMore()} {
			step := [...]float64{least: -1, most: 1}[s]
			if c.launch == more && (more != 0 || f.loss(f.launch.told, us, more+step) < f.loss(f.launch.told, us, more)) {
				all = append(all, f.launch.bound(side(s), launch))
			}
		}
	}
	for _, x := range f.factors {
		if b, at := f.atLimit[x.name]; at {
			all = append(all, b)
		}
	}
	return all
}

// off is the error of a row, with a launch that is longer by more, times its weight.
func (f *fitting) off(us []float64, row int, more float64) float64 {
	return f.weights[row] * math.Abs(math.Log(f.whole(us[row], row, more)/f.rows[row].MeasuredUS))
}

// losses is the sum of errors of each zone.
func (f *fitting) losses(us []float64, more float64) []float64 {
	sum := make([]float64, len(zones))
	for _, i := range f.fitted {
		off := f.off(us, i, more)
		for _, z := range f.in[i] {
			sum[z] += off
		}
	}
	return sum
}

// loss is the sum of errors of some rows; infinite where a zone is worse than before.
func (f *fitting) loss(some []int, us []float64, more float64) (sum float64) {
	gain := 0.0 // in the mean, of all rows of the zone's origin
	for z, l := range f.losses(us, more) {
		if zones[z].band == "" {
			gain = (f.before[z] - l) / max(f.weight[z], rounding)
		}
		if l > f.before[z]+zones[z].slack(gain)*f.weight[z] {
			return math.Inf(1)
		}
	}
	for _, i := range some {
		sum += f.off(us, i, more)
	}
	return sum
}
