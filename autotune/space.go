package autotune

import (
	"fmt"
	"maps"
	"slices"

	"github.com/colltune/colltune/autotune/model"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// space is what a strategy chooses from in the cells of a placement: the trials that can
// win, as configurations by sizes.
//
//	candidate × protocol × tile   1K   32K   1M
//	ring LL 32K                    ·    ·     ·      a trial each
//	ring LL 128K                                ·    the others run as with 32K
type space struct {
	model.Space
	trials [][]*trial // by configuration and size; nil: none
	at     map[*trial]model.Point
}

// newSpace makes the space of cells of one placement, by rising size.
func newSpace(cells []*cell) *space {
	s := &space{at: map[*trial]model.Point{}}
	type config struct {
		c     *candidate
		proto topologies.Proto
		tile  int64
	}
	index := map[config]int{}
	names := map[string]bool{} // of parameters
	for size, c := range cells {
		s.Sizes = append(s.Sizes, c.bytes)
		for _, t := range c.trials {
			if t.reference {
				continue
			}
			k := config{t.candidate, t.proto, t.tile}
			at, known := index[k]
			if !known {
				at = len(s.trials)
				index[k] = at
				s.trials = append(s.trials, make([]*trial, len(cells)))
				for name := range t.Parameters {
					names[name] = true
				}
			}
			s.trials[at][size], s.at[t] = t, model.Point{Config: at, Size: size}
		}
	}
	parameters := slices.Sorted(maps.Keys(names))
	s.Traits = slices.Concat([]string{"family", "protocol", "instances", "tile"}, parameters)
	for _, row := range s.trials {
		t := row[slices.IndexFunc(row, func(t *trial) bool { return t != nil })]
		traits := []string{t.Algorithm, t.record.Protocol, fmt.Sprint(t.Instances), fmt.Sprint(t.tile)}
		for _, name := range parameters {
			value := ""
			if v, has := t.Parameters[name]; has {
				value = fmt.Sprint(v)
			}
			traits = append(traits, value)
		}
		s.Configs = append(s.Configs, model.Config{Name: fmt.Sprintf("%s %s %d", t.Hash, t.record.Protocol, t.tile), Traits: traits})
	}
	s.Never = func(p model.Point) bool { return s.trials[p.Config][p.Size] == nil }
	return s
}

// observation returns the outcome of a trial as strategies see it; ok is false if it is none of
// the space's.
func (s *space) observation(t *trial, record *results.Trial) (o model.Observation, ok bool) {
	o.Point, ok = s.at[t]
	o.Seconds, o.Cost, o.Failed = record.Seconds, record.Cost, record.Outcome != results.OK
	if !o.Failed {
		o.TimeUS = results.Median(record.TimesUS)
	}
	return o, ok
}

// earlier returns those of other campaigns' times that are of the space.
func (s *space) earlier(all []Earlier) (observed []model.Observation) {
	index := map[Earlier]model.Point{}
	for t, p := range s.at {
		index[Earlier{t.cell.bytes, t.cell.placement, t.Hash, t.record.Protocol, t.tile, 0}] = p
	}
	for _, e := range all {
		us := e.TimeUS
		e.TimeUS = 0
		if p, ok := index[e]; ok {
			observed = append(observed, model.Observation{Point: p, TimeUS: us})
		}
	}
	return observed
}
