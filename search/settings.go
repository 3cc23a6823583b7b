package search

import (
	"context"
	"fmt"
	"slices"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// settled are the settings of the vendor's library that a search tries beside programs, and the programs
// that are built for their times alone.
type settled struct {
	all    []*library.Setting
	drafts []*program.Draft
	why    string // there are none, though they were asked for
}

// triesSettings reports whether settings of a topology's library are candidates: where trials are simulated on a
// machine that there may be, unless flags ask for programs, or for another library's runtime. --family and --exclude
// name them by the library.
func (o *Options) triesSettings(t *topologies.Topology) bool {
	of := library.LibraryOf(t)
	switch {
	case !o.simulates() || t.Generated || o.Unregistered,
		o.Instances > 0 || o.TileBytes > 0 || len(o.Parameters)+len(o.Routings) > 0,
		len(o.Families) > 0 && !slices.Contains(o.Families, of),
		o.Runtime != "" && o.Runtime != of:
		return false
	}
	return !slices.Contains(o.Exclude, of)
}

// isLibrary reports whether a name of --family or --exclude is a library's, for its settings.
func isLibrary(name string) bool { return name == "nccl" || name == "rccl" }

// checkLibrary refuses to search settings of a library that a topology, or the search, has not.
func (o *Options) checkLibrary(t *topologies.Topology) error {
	of := library.LibraryOf(t)
	for _, name := range slices.Concat(o.Families, o.Exclude) {
		if isLibrary(name) && name != of {
			return &UnknownFamily{fmt.Errorf("%s is not the library of %s: want %s for its settings", name, t.Name, of)}
		}
	}
	if slices.Contains(o.Families, of) && !o.triesSettings(t) {
		return &ParameterError{fmt.Sprintf("--family %s: its settings are tried where trials are simulated on a system that no generator made, and no flag asks for programs alone (--instances, --tile-bytes, -p, --routing, --runtime) nor leaves them out (--exclude)", of)}
	}
	return nil
}

// settle finds the settings that are candidates of a placement beside drafts.
func (p *placement) settle(ctx context.Context, l *library.Library, drafts []*program.Draft) (s settled, err error) {
	o := p.options
	if !o.triesSettings(p.problem.Topology) {
		return s, nil
	}
	states, channels := []nccl.Registered{o.registered()}, nccl.ChannelCounts
	if o.Registered == nil {
		states = append(states, nccl.Window)
	}
	if len(o.Protocols) > 0 || o.Channels > 0 { // kernels for windows have neither
		states = slices.DeleteFunc(states, func(r nccl.Registered) bool { return r == nccl.Window })
	}
	if o.Channels > 0 {
		channels = []int{o.Channels}
	}
	s.all, s.drafts, err = l.Settings(ctx, p.problem.Sizes, states, channels, drafts)
	if o.Channels > 0 {
		s.all = slices.DeleteFunc(s.all, func(one *library.Setting) bool { return one.Channels != o.Channels })
	}
	if len(s.all) == 0 && slices.Contains(o.Families, library.LibraryOf(p.problem.Topology)) {
		s.why = "no variable changes what it runs here"
	}
	return s, err
}

// settings makes candidates of settings, with what was built of drafts.
func (p *placement) settings(s settled, drafts []*program.Draft, all []*program.Built) *Space {
	space, built := &Space{}, map[*program.Draft]*program.Built{}
	for i, d := range drafts {
		built[d] = all[i]
	}
	for _, d := range s.drafts {
		if built[d] == nil { // there was no time to build it
			space.unexplored = append(space.unexplored, program.Unexplored{Name: d.Name, N: 1})
		}
	}
	release, _ := p.options.LibraryRelease(p.problem.Topology)
	spec := p.problem.Spec(len(p.problem.Topology.Ranks), 1, p.problem.InPlace)
	elem := p.problem.ElemBytes()
	if s.why != "" {
		space.Refusals = append(space.Refusals, p.Refuse(release.String(), program.NotApplicable, s.why))
	}
	for _, one := range s.all {
		late := slices.ContainsFunc(one.Times, func(t *library.Time) bool { return t.Draft != nil && built[t.Draft] == nil })
		one.Take(func(d *program.Draft) *program.Built { return built[d] })
		if len(one.Times) == 0 && late {
			continue // its program is among what is unexplored
		}
		if len(one.Times) == 0 {
			space.Refusals = append(space.Refusals, p.Refuse(program.CandidateName(one.Algorithm, one.Parameters, 0), program.NotApplicable, "the program that has its time was refused"))
			continue
		}
		named := map[string]string{"release": release.String()}
		for name, value := range one.Parameters {
			named[name] = fmt.Sprint(value)
		}
		space.Candidates = append(space.Candidates, autotune.Candidate{
			Algorithm: one.Algorithm, Source: results.SourceNative, Parameters: one.Parameters,
			Channels: one.Channels, Instances: 1, Collective: spec,
			Hash:      results.NativeHash(one.Algorithm, named, spec),
			Protocols: p.options.Protocols,
			Setting: &autotune.Setting{
				At: func(bytes int64, proto topologies.Proto) (at autotune.Set, ok bool) {
					t := one.At(bytes, proto)
					if t == nil {
						return at, false
					}
					return autotune.Set{Threadblocks: t.CTAs, Evidence: t.Evidence.String()}, true
				},
				US: func(ctx context.Context, bytes int64, proto topologies.Proto) (float64, error) {
					return one.At(bytes, proto).Simulate(ctx, elem)
				},
			},
			Bound: func(bytes int64, proto topologies.Proto, _ int64) float64 {
				return one.At(bytes, proto).Bound(elem)
			},
		})
	}
	return space
}
