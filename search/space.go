package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/templates"
)

// Space is what a search enumerated: the candidates that passed every check, and
// the refusals.
type Space struct {
	Candidates []autotune.Candidate
	Enumerated int
	Refusals   []Refusal
	// Baselines says what the vendor's library would run, by size.
	Baselines []Baseline

	unexplored map[string]int // numbers of candidates for which there was no time, by name; 0: not known
}

// pass says how the candidates of a problem are enumerated, once.
type pass struct {
	cache   *cache   // nil: none
	expired deadline // nil: there is time for all
}

// Enumerate makes the space of a problem, for all its placements. It needs no
// executor. Once ctx is done it returns within a moment, whatever it is doing.
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
		if err := e.enumerate(ctx, r.asked); err != nil {
			return nil, err
		}
		all.add(&e.space)
	}
	return &all, nil
}

// add adds the space of a placement.
func (s *Space) add(one *Space) {
	s.Candidates = append(s.Candidates, one.Candidates...)
	s.Refusals = append(s.Refusals, one.Refusals...)
	s.Baselines = append(s.Baselines, one.Baselines...)
	s.Enumerated += one.Enumerated
	for name, n := range one.unexplored {
		if s.unexplored == nil {
			s.unexplored = map[string]int{}
		}
		s.unexplored[name] += n
	}
}

// unexploredText names the candidates for which there was no time; empty where there was time
// for all.
func (s *Space) unexploredText() string {
	names := make([]string, 0, len(s.unexplored))
	for name, n := range s.unexplored {
		if n > 0 {
			name += fmt.Sprintf(" (%d)", n)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// enumerate makes the space of the placement.
func (e *enumeration) enumerate(ctx context.Context, asked []*templates.Family) error {
	defer e.close()
	o := e.options
	if !o.known().NativeOnly {
		if !e.isWhole() {
			// What the user should know of them is told before anything is solved.
			if _, err := e.solver(); err != nil {
				return err
			}
		}
		if err := e.programs(ctx, asked); err != nil {
			return err
		}
		if len(e.space.unexplored) == 0 {
			e.setWhole()
		}
	}
	if n := ByReason(e.space.Refusals)[string(NoMemory)]; n > 0 {
		o.Observer.notice(fmt.Sprintf("%s refused for want of memory: the limit is %v, and --memory sets another", units.Count(n, "candidate"), units.Bytes(o.Memory)))
	}
	return e.native()
}

// programs makes the candidates that are programs.
func (e *enumeration) programs(ctx context.Context, asked []*templates.Family) error {
	drafts, err := e.drafts(ctx, asked)
	if err != nil {
		return err
	}
	if drafts, err = e.shortlist(ctx, drafts, maxSearched, maxChosen); err != nil {
		return err
	}
	// A file, or the library itself, is a better source for the library's choice
	// than the model.
	if e.options.Baseline == nil && !e.options.chooses(e.problem.Collective) {
		compared, err := e.baseline(ctx)
		if err != nil {
			return err
		}
		drafts = append(drafts, compared...)
	}
	if e.expired != nil { // drafts will be built in the order of their estimates
		if err := e.summarizeAll(ctx, drafts); err != nil {
			return err
		}
	}
	built, err := e.build(ctx, drafts)
	if err != nil {
		return err
	}
	e.collect(drafts, built)
	return nil
}

// drafts enumerates the families asked for, and then the constructions.
func (e *enumeration) drafts(ctx context.Context, asked []*templates.Family) ([]*draft, error) {
	var all []*draft
	for i, f := range asked {
		e.through = float64(i+1) / float64(len(asked))
		e.options.Observer.stage("tracing "+f.Name, i, len(asked))
		drafts, err := e.family(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, drafts...)
	}
	e.through = 1
	e.options.Observer.stage("synthesising", 0, 1)
	found, err := e.synthesise(ctx)
	return append(all, found...), err
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
			if isConstruction(name) {
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
	for _, f := range all {
		if (len(o.Families) == 0 || slices.Contains(only, f)) && !slices.Contains(without, f) {
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

func (e *SameName) Error() string {
	return fmt.Sprintf("%s and %s both define family %q: want another name in one of them", e.First, e.Second, e.Family)
}

// UnknownFamily reports a requested family that does not exist.
type UnknownFamily struct{ err error }

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

func (e *NothingFound) Error() string { return "nothing found: " + e.Why }
