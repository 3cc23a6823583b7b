package model

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// Options are what a model is told besides its space.
type Options struct {
	Seed int64 // decides among equals
	// Gain: a size is done when less than this part of its time is expected to be gained.
	// 0: 0.01.
	Gain float64
	// Exact: equal trials take equal times, so that a measured one is known.
	Exact bool
	// Earlier are trials of an earlier campaign on the same space. They are no part of the
	// history, and no incumbent is chosen by them alone.
	Earlier []Observation
}

// Model chooses by a Gaussian process over the space (kin.go): the next trial is the one
// with the largest expected gain for the second it costs.
type Model struct {
	space   *Space
	options Options
	kinship *kinship
	first   params
	all     float64
	mean    [][]float64 // logarithm of the time before any trial, by configuration and size
	jitter  []float64   // by configuration: decides among equals
	order   []int       // sizes, coarse ones first

	learned struct { // the last hyperparameters, and the part of a history they are from
		from []Observation
		*covariance
	}
}

// New returns the model of a space.
func New(s *Space, o Options) *Model {
	m := &Model{space: s, options: o, kinship: kinshipOf(s), first: s.firstGuess(), all: allNoPrior, mean: s.before(), order: CoarseFirst(len(s.Sizes))}
	if m.options.Gain <= 0 {
		m.options.Gain = 0.01
	}
	if s.PriorUS != nil {
		m.all = allPrior
	}
	if o.Exact {
		m.first.noise = 0
	}
	r := rand.New(rand.NewPCG(uint64(o.Seed), 1))
	for range s.Configs {
		m.jitter = append(m.jitter, 1e-6*r.Float64())
	}
	return m
}

// before is the model's mean before any trial: the prior's logarithm. A point without one
// has the median of its size.
func (s *Space) before() [][]float64 {
	all := make([][]float64, len(s.Configs))
	for c := range all {
		all[c] = make([]float64, len(s.Sizes))
	}
	for b := range s.Sizes {
		var known []float64
		for c := range s.PriorUS {
			if t := s.PriorUS[c][b]; t > 0 {
				known = append(known, math.Log(t))
			}
		}
		middle := math.Log(100)
		if slices.Sort(known); len(known) > 0 {
			middle = known[len(known)/2]
		}
		for c := range all {
			all[c][b] = middle
			if s.PriorUS != nil && s.PriorUS[c][b] > 0 {
				all[c][b] = math.Log(s.PriorUS[c][b])
			}
		}
	}
	return all
}

// evidence merges the trials of each point, in the order of their first.
func (m *Model) evidence(history []Observation) (all []evidence) {
	index := [2]map[Point]int{{}, {}}
	for part, trials := range [][]Observation{m.options.Earlier, history} {
		for _, o := range trials {
			if o.Failed {
				continue
			}
			i, ok := index[part][o.Point]
			if !ok {
				i = len(all)
				index[part][o.Point] = i
				all = append(all, evidence{Point: o.Point, earlier: part == 0})
			}
			all[i].logs = append(all[i].logs, math.Log(o.TimeUS)-m.mean[o.Config][o.Size])
		}
	}
	for i := range all {
		slices.Sort(all[i].logs)
	}
	return all
}

// covariance has the hyperparameters that are learned from a history.
func (m *Model) covariance(history []Observation) *covariance {
	from := history[:learnAt(len(history))]
	if l := &m.learned; l.covariance == nil || !slices.Equal(l.from, from) {
		l.from = slices.Clone(from)
		l.covariance = m.kinship.with(m.kinship.learn(m.first, m.all, m.evidence(from)), m.all)
	}
	return m.learned.covariance
}

// contender is a point that may be worth a trial, or is the incumbent.
type contender struct {
	Point
	mean     float64   // of the time's logarithm
	variance float64   // of it
	solved   []float64 // factor⁻¹ × its covariance with the evidence and the trials chosen since
	succeeds float64   // probability that a trial has a time

	measured bool
	centre   float64 // logarithm of the median of its trials
	doubt    float64 // variance of that
}

// apart reports whether two measured contenders' times differ by more than chance explains.
func (c *contender) apart(o *contender) bool {
	d := c.centre - o.centre
	return d*d > 4*(c.doubt+o.doubt)
}

// belief is the model after a history, as far as it matters: the contenders of each size.
type belief struct {
	*posterior
	m     *Model
	sizes [][]*contender
}

// perSize is how many points of a size are looked at in full.
const perSize = 24

func (m *Model) believe(history []Observation) *belief {
	b := &belief{posterior: m.covariance(history).given(m.evidence(history)), m: m}
	failed, measured := map[Point]bool{}, map[Point]*evidence{}
	for _, o := range history {
		failed[o.Point] = failed[o.Point] || o.Failed
	}
	for i := range b.data {
		if e := &b.data[i]; !e.earlier {
			measured[e.Point] = e
		}
	}
	means, spreads := b.means(), b.spreads()
	for s := range m.space.Sizes {
		succeeds := b.successes(history, s)
		var all []*contender
		for c := range m.space.Configs {
			p := Point{c, s}
			if failed[p] || m.space.never(p) || succeeds[c] < hopeless {
				continue
			}
			x := &contender{Point: p, mean: m.mean[c][s] + means[s][c] + m.jitter[c], variance: spreads[s][c], succeeds: succeeds[c]}
			if e := measured[p]; e != nil {
				x.measured, x.centre, x.doubt = true, m.mean[c][s]+e.centre(), e.variance(b.noise)
			}
			all = append(all, x)
		}
		some := contenders(all)
		for _, c := range some {
			b.know(c)
		}
		b.sizes = append(b.sizes, some)
	}
	return b
}

// contenders are those of a size's points that are looked at in full: the likeliest to be
// fast, and the fastest of those measured, by the model and by the clock. It sorts the points.
func contenders(all []*contender) []*contender {
	by := func(key func(*contender) float64) {
		slices.SortFunc(all, func(x, y *contender) int {
			return cmp.Or(cmp.Compare(key(x), key(y)), cmp.Compare(x.Config, y.Config))
		})
	}
	by(func(c *contender) float64 { return c.mean - c.variance })
	some := slices.Clone(all[:min(perSize, len(all))])
	by(func(c *contender) float64 { return c.mean })
	known := slices.DeleteFunc(all, func(c *contender) bool { return !c.measured })
	if len(known) == 0 {
		return some
	}
	fastest := slices.MinFunc(known, func(x, y *contender) int { return cmp.Compare(x.centre, y.centre) })
	for _, c := range append(slices.Clone(known[:min(perSize/3, len(known))]), fastest) {
		if !slices.Contains(some, c) {
			some = append(some, c)
		}
	}
	return some
}

// know works out a contender's covariance with the evidence, and its variance after it.
func (b *belief) know(c *contender) {
	c.solved = make([]float64, len(b.data), len(b.data)+8)
	for i := range b.data {
		c.solved[i] = b.of(c.Point, b.data[i].Point)
	}
	b.solve(c.solved)
	c.variance = b.of(c.Point, c.Point)
	for _, x := range c.solved {
		c.variance -= x * x
	}
	c.variance = max(c.variance, 1e-12)
}

// hopeless: a point where a trial has a time with a lower probability is not tried.
const hopeless = 1.0 / 3

// successes are the probabilities that trials of configurations at a size have a time: the
// part of the trials before that had one, each counted as far as its configuration and its
// size are kin, and the configuration's own twice.
func (b *belief) successes(history []Observation, size int) []float64 {
	times, all := make([]float64, b.configs), make([]float64, b.configs)
	for _, o := range history {
		row, own := b.row(o.Point, o.Size), b.alike(o.Point, o.Point)
		for c := range all {
			w := row[c] / own
			if c == o.Config {
				w = 2
			}
			w *= b.near[size][o.Size]
			all[c] += w
			if !o.Failed {
				times[c] += w
			}
		}
	}
	for c := range all {
		times[c] = (0.9 + times[c]) / (1 + all[c])
	}
	return times
}

// incumbent returns a size's fastest configuration of those measured, and the fastest other
// by the model; nil: there is none. Among those that can't be told from the fastest, the
// model decides.
func (b *belief) incumbent(size int) (best, second *contender) {
	var fastest *contender
	for _, c := range b.sizes[size] {
		if c.measured && (fastest == nil || c.centre < fastest.centre) {
			fastest = c
		}
	}
	for _, c := range b.sizes[size] {
		if c.measured && !c.apart(fastest) && (best == nil || c.mean < best.mean) {
			best = c
		}
	}
	for _, c := range b.sizes[size] {
		if c.measured && c != best && (second == nil || c.mean < second.mean) {
			second = c
		}
	}
	return best, second
}

// gain is the expected improvement of a time's logarithm, if a contender's becomes known
// with the standard deviation given: that it is below the incumbent's, or for the incumbent
// itself that it is above the second's.
func (b *belief) gain(c, best, second *contender, deviation float64) float64 {
	behind := c.mean - best.mean
	if c == best {
		if second == nil {
			return 0
		}
		behind = second.mean - best.mean
	}
	return c.succeeds * improvement(behind, deviation)
}

// improvement is the expectation of max(0, −x), where x is behind plus deviation times a
// variable of Student's t distribution with 5 degrees of freedom: the model is wrong more
// often than a normal one would be.
func improvement(behind, deviation float64) float64 {
	u := behind / deviation
	w := 1 + u*u/5
	density := 8 / (3 * math.Sqrt(5) * math.Pi * w * w * w)
	below := 0.5 - (u/math.Sqrt(5)/w*(1+2/(3*w))+math.Atan(u/math.Sqrt(5)))/math.Pi
	return deviation*w*5/4*density - behind*below
}

// worth is what a trial of a contender is expected to gain for a second.
func (b *belief) worth(c, best, second *contender) float64 {
	noise := b.noise * b.noise
	return b.gain(c, best, second, c.variance/math.Sqrt(c.variance+noise)) / b.cost(c)
}

// cost is the seconds of a trial.
func (b *belief) cost(c *contender) float64 {
	if b.m.space.Cost == nil {
		return 1
	}
	return b.m.space.Cost(c.Point)
}

// first is the trial to begin a size with: the one that may be the fastest.
func (b *belief) first(size int) (best *contender) {
	bound := func(c *contender) float64 { return c.mean - math.Sqrt(c.variance) }
	for _, c := range b.sizes[size] {
		if best == nil || bound(c) < bound(best) {
			best = c
		}
	}
	return best
}

// choose returns the next trial; nil: all sizes are done.
func (b *belief) choose() (next *contender) {
	for _, s := range b.m.order {
		if best, _ := b.incumbent(s); best == nil {
			if c := b.first(s); c != nil {
				return c
			}
		}
	}
	most := 0.0
	for s := range b.sizes {
		if b.outlook(s).Done {
			continue
		}
		best, second := b.incumbent(s)
		for _, c := range b.sizes[s] {
			if v := b.worth(c, best, second); v > most {
				most, next = v, c
			}
		}
	}
	return next
}

// suppose adds a trial as if its time were the one expected.
func (b *belief) suppose(c *contender) {
	if !c.measured {
		c.measured, c.centre, c.doubt = true, c.mean, b.noise*b.noise
	}
	d, own := math.Sqrt(c.variance+b.noise*b.noise), slices.Clone(c.solved)
	for _, size := range b.sizes {
		for _, o := range size {
			x := b.of(o.Point, c.Point)
			for i, y := range own {
				x -= y * o.solved[i]
			}
			o.solved = append(o.solved, x/d)
			o.variance = max(o.variance-x*x/d/d, 1e-12)
		}
	}
}

// Next returns at most n points to measure, none if the model is done: a first trial of each
// size, then what is worth most. Points of the history may be among them: they are measured
// again.
func (m *Model) Next(history []Observation, n int) (next []Point) {
	b := m.believe(history)
	for len(next) < n {
		c := b.choose()
		if c == nil {
			break
		}
		next = append(next, c.Point)
		if len(next) < n {
			b.suppose(c)
		}
	}
	return next
}

// Outlook returns what the model expects of each size.
func (m *Model) Outlook(history []Observation) (all []Outlook) {
	b := m.believe(history)
	for s := range m.space.Sizes {
		all = append(all, b.outlook(s))
	}
	return all
}
