package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
)

// Enumerate makes the space of a problem, for all its placements. It needs no
// executor. Once ctx is done it soon returns the context's error. Other errors are as
// those of Check, and *NothingFound if no family implements the collective.
func Enumerate(ctx context.Context, p Problem, o Options) (*Space, error) {
	r, err := resolve(p, o)
	if err != nil {
		return nil, err
	}
	return enumerateOnce(ctx, r, nil, nil)
}

// enumerateOnce enumerates a request with a cache and as far as there is time.
func enumerateOnce(ctx context.Context, r *request, cache *program.Cache, expired deadline) (*Space, error) {
	return abandonable(ctx, r, func(r *request) (*Space, error) {
		var all Space
		err := r.eachPlacement(cache, expired, func(p *placement) error {
			space, err := p.enumerate(ctx)
			if err == nil {
				all.add(space)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		return &all, nil
	})
}

func (p *placement) enumerate(ctx context.Context) (*Space, error) {
	o, space := p.options, &Space{}
	if !o.known().NativeOnly {
		if !p.Whole() {
			// What the user should know of them is told before anything is solved.
			if _, err := p.Solvers(); err != nil {
				return nil, err
			}
		}
		var err error
		if space, err = p.programs(ctx); err != nil {
			return nil, err
		}
		if len(space.unexplored) == 0 {
			p.SetWhole()
		}
	}
	o.noticeMemory(space.Refusals)
	space.add(p.native())
	if !p.libraryGiven() {
		return space, nil
	}
	beside, err := o.besideGiven(ctx, p.Builder, p.problem)
	space.baselines = append(beside, space.baselines...)
	return space, err
}

// noticeMemory tells the user how many candidates were refused for want of memory, if any.
func (o *Options) noticeMemory(refusals []program.Refusal) {
	if n := program.ByReason(refusals)[string(program.NoMemory)]; n > 0 {
		o.Observer.Say(fmt.Sprintf("%s refused for want of memory: the limit is %v, and --memory sets another", units.Count(n, "candidate"), units.Bytes(o.Memory)))
	}
}

// programs makes the candidates that are programs: drafts, of which the most promising
// are built.
func (p *placement) programs(ctx context.Context) (*Space, error) {
	chosen, err := p.worthBuilding(ctx)
	if err != nil {
		return nil, err
	}
	drafts := slices.Concat(chosen.Drafts, chosen.settled.drafts)
	if p.expired != nil { // drafts will be built in the order of their estimates
		if err := p.Summarize(ctx, drafts, true); err != nil {
			return nil, err
		}
	}
	built, err := p.BuildAll(ctx, drafts, p.order(drafts), p.of, p.late(building, 1))
	if err != nil {
		return nil, err
	}
	own := built[:len(chosen.Drafts):len(chosen.Drafts)] // without those of settings
	capped, more, err := p.capped(ctx, chosen.Drafts, own)
	if err != nil {
		return nil, err
	}
	for i, d := range chosen.Drafts {
		if d.Compared && built[i] != nil && built[i].Refusal != nil {
			left, err := chosen.library.Instead(ctx, chosen.times, d)
			if err != nil {
				return nil, err
			}
			chosen.timeless[d] = left > 0
		}
	}
	chosen.Drafts, own = append(chosen.Drafts, capped.Drafts...), append(own, more...)
	chosen.Refusals = append(chosen.Refusals, capped.Refusals...)
	space := &Space{Refusals: chosen.Refusals, unexplored: chosen.Unexplored}
	for _, t := range chosen.times {
		if t.US > 0 || t.From == library.Unclocked {
			space.baselines = append(space.baselines, baseline{Time: t, inPlace: p.problem.InPlace})
		}
	}
	space.add(p.collect(chosen, own))
	space.add(p.settings(chosen.settled, drafts, built))
	return space, nil
}

// worthBuilding returns the drafts that are worth building, with what became of the others, and
// what the library takes.
func (p *placement) worthBuilding(ctx context.Context) (w worth, err error) {
	all, err := p.drafts(ctx)
	if err != nil {
		return w, err
	}
	if all.Drafts, err = p.routed(all.Drafts); err != nil {
		return w, err
	}
	short, err := p.shortlist(ctx, all.Drafts, maxSearched, maxChosen)
	if err != nil {
		return w, err
	}
	w.timeless = map[*program.Draft]bool{}
	w.Drafted = program.Drafted{Drafts: short.Drafts, Refusals: slices.Concat(all.Refusals, short.Refusals), Unexplored: all.Unexplored}
	if p.libraryGiven() {
		return w, nil
	}
	w.library = library.New(p.Builder, p.options.libraryOptions(p.problem.Topology), p.options.Observer.Say)
	chosen, err := w.library.Choose(ctx, p.problem.Sizes)
	w.Drafts, w.times = append(w.Drafts, chosen.Drafts...), chosen.Times
	if err == nil {
		w.settled, err = p.settle(ctx, w.library, w.Drafts)
	}
	return w, err
}

// libraryGiven reports whether a file, or the library itself, says what the library takes as called: a
// better source than the model.
func (p *placement) libraryGiven() bool {
	return p.options.Baseline != nil || p.options.chooses(p.problem.Collective)
}

// drafts enumerates the families asked for, and then the constructions.
func (p *placement) drafts(ctx context.Context) (all program.Drafted, err error) {
	o := p.options
	for i, f := range p.asked {
		o.Observer.Reach("tracing families", i, len(p.asked))
		some, err := p.Family(ctx, f, p.late(tracing, float64(i+1)/float64(len(p.asked))), p.late(tracing, 1))
		if err != nil {
			return program.Drafted{}, err
		}
		all.Add(some)
	}
	o.Observer.Reach("synthesising", 0, 1)
	for _, name := range o.constructions(p.problem.Collective) {
		found, err := p.Construct(ctx, name, p.problem.Sizes, p.late(tracing, 1))
		if err != nil {
			return program.Drafted{}, err
		}
		all.Add(found)
	}
	return all, nil
}

// routed returns the drafts of the routings asked for. The error, a *NothingFound, names others
// where there are none.
func (p *placement) routed(drafts []*program.Draft) (asked []*program.Draft, err error) {
	o := p.options
	if len(o.Routings) == 0 {
		return drafts, nil
	}
	var others []string
	wanted := lists.Map(o.Routings, unlimited)
	for _, d := range drafts {
		name := Routing(d.Name, d.Params)
		if slices.Contains(wanted, name) {
			asked = append(asked, d)
		} else if !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(asked) == 0 && len(others) > 0 {
		const most = 4
		return nil, &NothingFound{fmt.Sprintf("none of the routings asked for is there: want such as %s", strings.Join(others[:min(len(others), most)], ", "))}
	}
	return asked, nil
}
