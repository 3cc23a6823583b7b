package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/templates"
)

// Space is what a search enumerated: the candidates that passed every check, and
// the refusals.
type Space struct {
	Candidates []autotune.Candidate
	Refusals   []Refusal
	Baselines  []Baseline // what the vendor's library would run, by size

	unexplored []unexplored
}

// Enumerated counts the candidates that were looked at: those refused, and those that
// can win.
func (s *Space) Enumerated() int { return len(s.Refusals) + s.contenders() }

// pass says how the candidates of a problem are enumerated, once.
type pass struct {
	cache   *cache   // nil: none
	expired deadline // nil: there is time for all
}

// Enumerate makes the space of a problem, for all its placements. It needs no
// executor. Once ctx is done it soon returns the context's error. Other errors are as
// those of Check, and *NothingFound if no family implements the collective.
func Enumerate(ctx context.Context, p Problem, o Options) (*Space, error) {
	r, err := resolve(p, o)
	if err != nil {
		return nil, err
	}
	return enumerateOnce(ctx, r, pass{})
}

// enumerateOnce enumerates a request with a cache and as far as there is time.
func enumerateOnce(ctx context.Context, r *request, how pass) (*Space, error) {
	return runAbandonable(ctx, func(say func(func())) (*Space, error) {
		o := r.options
		o.Observer = o.Observer.through(say)
		return enumeratePlacements(ctx, &request{r.problem, o, r.asked}, how)
	})
}

// enumeratePlacements enumerates each placement.
func enumeratePlacements(ctx context.Context, r *request, how pass) (*Space, error) {
	var all Space
	placements := r.problem.placements()
	for i := range placements {
		one := &placements[i]
		e := &enumeration{problem: one, options: &r.options, machine: machineOf(one.Topology), cache: how.cache, expired: how.expired, placement: i, of: len(placements)}
		space, err := e.enumerate(ctx, r.asked)
		if err != nil {
			return nil, err
		}
		all.add(space)
	}
	return &all, nil
}

// add adds another space, as of a placement.
func (s *Space) add(one *Space) {
	s.Candidates = append(s.Candidates, one.Candidates...)
	s.Refusals = append(s.Refusals, one.Refusals...)
	s.Baselines = append(s.Baselines, one.Baselines...)
	s.unexplored = append(s.unexplored, one.unexplored...)
}

// unexploredText names the candidates for which there was no time; empty where there was time
// for all.
func (s *Space) unexploredText() string {
	all := map[string]int{}
	for _, u := range s.unexplored {
		all[u.name] += u.n
	}
	names := make([]string, 0, len(all))
	for name, n := range all {
		if n > 0 {
			name += fmt.Sprintf(" (%d)", n)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// enumerate makes the space of the placement.
func (e *enumeration) enumerate(ctx context.Context, asked []*templates.Family) (*Space, error) {
	defer e.close()
	o, space := e.options, &Space{}
	if !o.known().NativeOnly {
		if !e.isWhole() {
			// What the user should know of them is told before anything is solved.
			if _, err := e.solver(); err != nil {
				return nil, err
			}
		}
		var err error
		if space, err = e.programs(ctx, asked); err != nil {
			return nil, err
		}
		if len(space.unexplored) == 0 {
			e.setWhole()
		}
	}
	o.noticeMemory(space.Refusals)
	space.add(e.native())
	return space, nil
}

// programs makes the candidates that are programs: drafts, of which the most promising
// are built.
func (e *enumeration) programs(ctx context.Context, asked []*templates.Family) (*Space, error) {
	chosen, clocked, err := e.worthBuilding(ctx, asked)
	if err != nil {
		return nil, err
	}
	if e.expired != nil { // drafts will be built in the order of their estimates
		if err := e.summarizeAll(ctx, chosen.drafts, true); err != nil {
			return nil, err
		}
	}
	built, err := e.build(ctx, chosen.drafts)
	if err != nil {
		return nil, err
	}
	instead, err := e.steadyInstead(ctx, chosen.drafts, built)
	if err != nil {
		return nil, err
	}
	space := &Space{Refusals: chosen.refusals, Baselines: append(clocked, instead...), unexplored: chosen.unexplored}
	space.add(e.collect(chosen.drafts, built))
	return space, nil
}

// worthBuilding returns the drafts that are worth building, those of the baseline last, with what
// became of the others, and the baselines that are none but have a time.
func (e *enumeration) worthBuilding(ctx context.Context, asked []*templates.Family) (chosen drafted, clocked []Baseline, err error) {
	all, err := e.drafts(ctx, asked)
	if err != nil {
		return drafted{}, nil, err
	}
	if all.drafts, err = e.routed(all.drafts); err != nil {
		return drafted{}, nil, err
	}
	short, err := e.shortlist(ctx, all.drafts, maxSearched, maxChosen)
	if err != nil {
		return drafted{}, nil, err
	}
	chosen = drafted{short.drafts, slices.Concat(all.refusals, short.refusals), all.unexplored}
	// A file, or the library itself, is a better source for the library's choice
	// than the model.
	if e.options.Baseline == nil && !e.options.chooses(e.problem.Collective) {
		var compared []*draft
		if compared, clocked, err = e.baseline(ctx); err != nil {
			return drafted{}, nil, err
		}
		chosen.drafts = append(chosen.drafts, compared...)
	}
	return chosen, clocked, nil
}

// drafts enumerates the families asked for, and then the constructions.
func (e *enumeration) drafts(ctx context.Context, asked []*templates.Family) (all drafted, err error) {
	for i, f := range asked {
		e.options.Observer.stage("tracing "+f.Name, i, len(asked))
		some, err := e.family(ctx, f, e.late(tracing, float64(i+1)/float64(len(asked))))
		if err != nil {
			return drafted{}, err
		}
		all.add(some)
	}
	e.options.Observer.stage("synthesising", 0, 1)
	found, err := e.synthesise(ctx, e.late(tracing, 1))
	all.add(found)
	return all, err
}

// families lists all families, built-in ones and the user's, and those of them
// that are asked for. An unknown name is an error.
func (o *Options) families() (all, asked []*templates.Family, err error) {
	own, err := o.own()
	if err != nil {
		return nil, nil, err
	}
	all = append(templates.Builtin(), own...)
	named := func(names []string) (some []*templates.Family, err error) {
		for _, name := range names {
			if IsConstruction(name) {
				continue
			}
			f, err := templates.Find(all, name, "")
			if err != nil && (o.isNative(name) || o.unknown()) {
				continue
			}
			if err != nil {
				return nil, &UnknownFamily{err}
			}
			some = append(some, f)
		}
		return some, nil
	}
	only, err := named(o.Families)
	if err != nil {
		return nil, nil, err
	}
	without, err := named(o.Exclude)
	if err != nil {
		return nil, nil, err
	}
	routed, err := named(o.routingFamilies())
	if err != nil {
		return nil, nil, err
	}
	for _, f := range all {
		if (len(o.Families) == 0 || slices.Contains(only, f)) && (len(o.Routings) == 0 || slices.Contains(routed, f)) && !slices.Contains(without, f) {
			asked = append(asked, f)
		}
	}
	return all, asked, nil
}

// own lists the user's families. Two with the same name are an error, as the name
// would be ambiguous.
func (o *Options) own() (all []*templates.Family, err error) {
	files := map[string]string{}
	for _, t := range o.Templates {
		f, err := templates.Parse(t.Name, []byte(t.Text))
		if err != nil {
			return nil, err
		}
		if other, taken := files[f.Name]; taken {
			return nil, &SameName{f.Name, other, t.Name}
		}
		files[f.Name] = t.Name
		all = append(all, f)
	}
	return all, nil
}

// SameName reports two of the user's files with a family of the same name.
type SameName struct{ Family, First, Second string }

// Error names the family and both files.
func (e *SameName) Error() string {
	return fmt.Sprintf("%s and %s both define family %q: want another name in one of them", e.First, e.Second, e.Family)
}

// UnknownFamily reports a requested family that does not exist.
type UnknownFamily struct{ err error }

// Error names the family and a similar one, or all.
func (e *UnknownFamily) Error() string { return e.err.Error() }

// noFamily says why nothing was enumerated at all.
func noFamily(families []*templates.Family, p *Problem) error {
	var have []string
	for _, f := range templates.ForCollective(families, p.Collective) {
		have = append(have, f.Name)
	}
	if len(have) == 0 {
		return &NothingFound{"no family does " + p.Collective}
	}
	return &NothingFound{fmt.Sprintf("no family asked for does %s: those that do are %s", p.Collective, strings.Join(have, ", "))}
}

// NothingFound reports a search without any candidate left, and why.
type NothingFound struct{ Why string }

// Error says why nothing was found.
func (e *NothingFound) Error() string { return "nothing found: " + e.Why }
