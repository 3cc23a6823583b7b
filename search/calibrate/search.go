package calibrate

import (
	"context"
	"maps"
	"math"
	"slices"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// clearly is the part by which the sum of errors must fall for another constant to be
// taken.
const clearly = 0.03

// passes is how often every factor is looked for, because one may hold up what another
// was blamed for; mostTried is how many values of it are tried at most.
const (
	passes    = 2
	mostTried = 22
)

// speed stands for the threadblocks, where the others are kinds of link.
const speed topologies.LinkKind = 1<<8 - 1

// factor is a constant that is fitted as a multiple of what the file says.
type factor struct {
	kind topologies.LinkKind // of link, or speed
	name string
	limits
}

// candidate is a calibration and the sum of its errors; infinite where it spoils the
// library's rows or the programs'.
type candidate struct {
	times  map[topologies.LinkKind]float64 // those that are not 1
	launch float64                         // microseconds more
	loss   float64
}

// calibration is the candidate as topologies know one.
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

// search finds the best candidate for the rows that are fitted to. us is their times, and
// the others', without launch and with the file's constants.
func (f *fitting) search(ctx context.Context, us []float64) (*candidate, error) {
	f.before = f.losses(us, 0)
	best := &candidate{times: map[topologies.LinkKind]float64{}, loss: f.loss(us, 0)}
	if c := f.launched(best.times, us); c.loss < best.loss*(1-clearly) {
		best = c
	}
	for range passes {
		before := best.loss
		for _, x := range f.factors {
			var err error
			if best, err = f.scale(ctx, best, x); err != nil {
				return nil, err
			}
		}
		if best.loss >= before {
			break
		}
	}
	return best, nil
}

// scale looks for the best value of a factor, with the launch that goes with each: on a
// coarse grid within its limits, and then between the neighbours of the best. It notes a
// limit that the best is at.
func (f *fitting) scale(ctx context.Context, from *candidate, x factor) (*candidate, error) {
	tried := map[float64]*candidate{}
	try := func(times float64) (*candidate, error) {
		times = math.Round(times*1000) / 1000
		if c := tried[times]; c != nil {
			return c, nil
		}
		c := maps.Clone(from.times)
		if c[x.kind] = times; times == 1 {
			delete(c, x.kind)
		}
		us, err := f.simulate(ctx, (&candidate{times: c}).calibration(), f.fitted)
		if err != nil {
			return nil, err
		}
		tried[times] = f.launched(c, us)
		return tried[times], nil
	}
	best, err := try(from.of(x))
	if err != nil {
		return nil, err
	}
	better := func(times float64) error {
		c, err := try(min(max(times, x.at[least]), x.at[most]))
		if err == nil && c.loss < best.loss {
			best = c
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
	if best.loss >= from.loss*(1-clearly) {
		best = from
	}
	delete(f.atLimit, x.name)
	for s, beyond := range [...]float64{least: x.at[least] / 1.1, most: x.at[most] * 1.1} {
		if math.Abs(best.of(x)-x.at[s]) > 1e-3 {
			continue
		}
		c, err := try(beyond)
		if err != nil {
			return nil, err
		}
		if best.of(x) != 1 || c.loss < best.loss*(1-clearly) {
			f.atLimit[x.name] = x.bound(side(s), x.name)
		}
	}
	return best, nil
}

// launched is the candidate of these factors, with the launch for the least errors: one
// of the rows is met then, to a tenth of a microsecond.
func (f *fitting) launched(times map[topologies.LinkKind]float64, us []float64) *candidate {
	c := &candidate{times: times, loss: f.loss(us, 0)}
	if f.launch == nil {
		return c
	}
	for _, i := range f.fitted {
		more := math.Round((f.rows[i].MeasuredUS-f.whole(us[i], i, 0))*10) / 10
		more = min(max(more, f.mostLess()), f.mostMore())
		if l := f.loss(us, more); l < c.loss {
			c.launch, c.loss = more, l
		}
	}
	return c
}

// mostLess and mostMore are what can be added to the launches of all protocols, within
// the limits: at most to tenths of a microsecond.
func (f *fitting) mostLess() float64 {
	return -math.Floor(max(0, slices.Min(f.launches())-f.launch.at[least])*10) / 10
}

func (f *fitting) mostMore() float64 {
	return math.Floor(max(0, f.launch.at[most]-slices.Max(f.launches()))*10) / 10
}

// met returns the limits that a candidate is at: where it went to them, or would be better
// beyond.
func (f *fitting) met(c *candidate, us []float64) (all []Bound) {
	if f.launch != nil {
		for s, more := range [...]float64{least: f.mostLess(), most: f.mostMore()} {
			step := [...]float64{least: -1, most: 1}[s]
			if c.launch == more && (more != 0 || f.loss(us, more+step) < f.loss(us, more)) {
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

// losses is the sum of errors of each origin, with a launch that is longer by more.
func (f *fitting) losses(us []float64, more float64) (sum [len(Origins)]float64) {
	for _, i := range f.fitted {
		sum[f.rows[i].Origin] += f.weights[i] * math.Abs(math.Log(f.whole(us[i], i, more)/f.rows[i].MeasuredUS))
	}
	return sum
}

// loss is the sum of errors of all origins; infinite where one is worse than before.
func (f *fitting) loss(us []float64, more float64) (sum float64) {
	const rounding = 1e-9
	for o, l := range f.losses(us, more) {
		if l > f.before[o]+rounding {
			return math.Inf(1)
		}
		sum += l
	}
	return sum
}
