package library

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
)

// Chosen is what the library would run at some sizes.
type Chosen struct {
	Times []Time // one for a size and state of the buffers at most, in the order of the sizes, as called first
	// Drafts are the programs of Times that come from one, and those that the library runs
	// otherwise where it has a closed form.
	Drafts []*program.Draft
}

// Choose returns what the library would choose at each size, by its own cost model. Sizes with the
// same choice share a draft. If a choice has no time here, the next best that has one stands in,
// and the user is told.
func (l *Library) Choose(ctx context.Context, sizes []int64) (Chosen, error) {
	over, err := l.target.Over(len(l.target.Topology.Ranks), l.target.InPlace)
	if err != nil {
		return Chosen{}, err
	}
	forced, err := l.forced()
	if err != nil {
		return Chosen{}, err
	}
	c := choosing{Library: l, said: map[string]bool{}, without: map[string][]int64{}}
	lacking := map[string][]int64{} // sizes without a choice, by reason
	measured := 0
	unreached := map[nccl.Registered][]int64{} // sizes at which no more than that state is reached
	for _, bytes := range sizes {
		choices, err := l.system.Choices(over, bytes, forced)
		reached := l.reached(over, choices, bytes, forced)
		if reached != forced.Registered {
			unreached[reached] = append(unreached[reached], bytes)
		}
		shipped, there := l.shipped(bytes, reached)
		switch {
		case there && !l.options.Given:
			c.Times, measured, err = append(c.Times, shipped), measured+1, nil
		case err == nil && !l.options.Given:
			err = c.first(ctx, choices, bytes, forced.Registered, reached)
		case err != nil && !l.options.Given:
			lacking[err.Error()] = append(lacking[err.Error()], bytes)
			err = nil
		}
		if err == nil && l.options.Others && !there {
			err = c.others(ctx, over, choices, bytes, forced)
		}
		if err != nil {
			return Chosen{}, err
		}
	}
	if l.options.Shipped && measured < len(sizes) {
		l.sayScatter(sizes)
	}
	for _, state := range nccl.States() {
		if at := unreached[state]; len(at) > 0 {
			l.say(fmt.Sprintf("registered %s: at %s %s runs what it runs on buffers registered: %s", forced.Registered, sizesText(at), l.options.Release, state))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(c.without)) {
		l.say(fmt.Sprintf("at %s the library runs %s; what it runs otherwise stands in, and speedups are overstated there", sizesText(c.without[why]), why))
	}
	for _, why := range slices.Sorted(maps.Keys(lacking)) {
		at, where := lacking[why], ""
		if len(at) < len(sizes) {
			where = " at " + strings.Join(texts(at), " ")
		}
		l.say(fmt.Sprintf("no baseline%s: %s", where, why))
	}
	return c.Chosen, nil
}

// choosing is what Choose knows so far.
type choosing struct {
	*Library
	Chosen
	said    map[string]bool    // by family: reasons that were told
	without map[string][]int64 // sizes where another choice stands in, by reason
}

// drafted is the program of a choice, or why there is none.
type drafted struct {
	draft *program.Draft
	why   string
}

// others takes the library's first choice with the buffers in other states than as called, where that
// differs from all of those that are less registered, and from called.
func (c *choosing) others(ctx context.Context, over collective.Collective, called []nccl.Choice, bytes int64, forced nccl.Forced) error {
	as, known := forced.Registered, [][]nccl.Choice{called}
	for _, state := range nccl.States() {
		if state == as {
			continue
		}
		forced.Registered = state
		choices, err := c.system.Choices(over, bytes, forced)
		same := func(o []nccl.Choice) bool { return len(o) > 0 && reflect.DeepEqual(o[0], choices[0]) }
		if err != nil || slices.ContainsFunc(known, same) || c.options.Given && choices[0].Kernel == "" {
			continue
		}
		known = append(known, choices)
		if err := c.first(ctx, choices[:1], bytes, state, state); err != nil {
			return err
		}
	}
	return nil
}

// Reached is, by size, the least registered state of the buffers in which the library chooses what it
// does as called.
func (l *Library) Reached(sizes []int64) (map[int64]nccl.Registered, error) {
	over, err := l.target.Over(len(l.target.Topology.Ranks), l.target.InPlace)
	if err != nil {
		return nil, err
	}
	forced, err := l.forced()
	if err != nil {
		return nil, err
	}
	all := map[int64]nccl.Registered{}
	for _, bytes := range sizes {
		choices, _ := l.system.Choices(over, bytes, forced) // none: as called
		all[bytes] = l.reached(over, choices, bytes, forced)
	}
	return all, nil
}

// reached is Reached of a size, given the choices as called.
func (l *Library) reached(over collective.Collective, called []nccl.Choice, bytes int64, forced nccl.Forced) nccl.Registered {
	as := forced.Registered
	for forced.Registered = nccl.None; forced.Registered < as && len(called) > 0; forced.Registered++ {
		if less, err := l.system.Choices(over, bytes, forced); err == nil && reflect.DeepEqual(less[0], called[0]) {
			return forced.Registered
		}
	}
	return as
}

// first takes the first of the library's choices at a size, with the buffers in a state, that has a time,
// or that is known to have none. reached is the least registered state with the same.
func (c *choosing) first(ctx context.Context, choices []nccl.Choice, bytes int64, state, reached nccl.Registered) error {
	standIn, timed := "", false
	for i := range choices {
		choice := &choices[i]
		s := c.sourceOf(choice)
		switch {
		case s == nil:
			of := strings.ToUpper(choice.Family)
			c.without[of+": "+choice.Lacks] = append(c.without[of+": "+choice.Lacks], bytes)
			standIn = ", for " + of
			continue
		case timed && s.From != Program:
			return nil
		}
		name := routingName(choice)
		t, why, err := s.time(c, ctx, c.untimed(s, choice, bytes, standIn, state, reached))
		switch {
		case err != nil:
			return err
		case why != "":
			if of := choice.Family + why; !c.said[of] {
				c.said[of] = true
				c.say(fmt.Sprintf("baseline %s has no program here: %s", name, why))
			}
			continue
		case !timed:
			c.Times = append(c.Times, t)
			if t.Draft != nil {
				t.Draft.Compared = true
			}
		}
		if timed = true; choice.Lacks == "" || choice.Kernel != "" || c.options.Alone {
			return nil // later choices would only stand in for it
		}
	}
	return nil
}

// untimed is what a source of a choice starts from.
func (c *choosing) untimed(s *source, choice *nccl.Choice, bytes int64, standIn string, state, reached nccl.Registered) Time {
	t := Time{Bytes: bytes, Name: routingName(choice) + " " + choice.Protocol.String() + standIn, From: s.From,
		Protocol: choice.Protocol, Tile: choice.TileBytes, StandIn: standIn != "", choice: choice,
		Release: c.options.Release, Registered: state, Reached: reached, Evidence: nccl.Fitted, CTAs: choice.Blocks}
	if !c.options.Measured {
		t.ExtraUS, t.LeastUS = choice.ExtraUS, choice.LeastUS
	}
	return t
}

func texts(sizes []int64) (all []string) {
	for _, n := range sizes {
		all = append(all, units.Bytes(n).String())
	}
	return all
}

// sizesText names sizes that follow one another by the first and the last.
func sizesText(sizes []int64) string {
	if all := texts(sizes); len(all) < 3 {
		return strings.Join(all, " and ")
	}
	return units.Bytes(sizes[0]).String() + " to " + units.Bytes(sizes[len(sizes)-1]).String()
}

// source is a way to a time of one of the library's choices.
type source struct {
	From    From
	applies func(*Library, *nccl.Choice) bool
	time    func(*choosing, context.Context, Time) (t Time, why string, err error) // why: there is none
}

// sources are tried in order: the first that applies to a choice gives its time.
var sources = []source{
	{Unclocked, (*Library).isUnclocked, (*choosing).byNothing},
	{Vendor, (*Library).hasVendor, (*choosing).byClock},
	{ClosedForm, (*Library).hasClock, (*choosing).byClock},
	{SteadyState, (*Library).outgrown, (*choosing).bySteadyState},
	{Program, (*Library).hasProgram, (*choosing).byProgram},
}

// sourceOf returns the source of a choice's time; nil: there is none.
func (l *Library) sourceOf(c *nccl.Choice) *source {
	for i := range sources {
		if s := &sources[i]; s.applies(l, c) {
			return s
		}
	}
	return nil
}

func (l *Library) isUnclocked(c *nccl.Choice) bool { return c.Kernel != "" && c.ClockUS == 0 }

// byNothing is of a kernel of which nothing says the time.
func (c *choosing) byNothing(_ context.Context, t Time) (Time, string, error) {
	t.Name, t.CTAs, t.Evidence, t.ExtraUS, t.LeastUS = kernelName(t.choice), t.choice.CTAs, nccl.Unknown, 0, 0
	return t, "", nil
}

// hasVendor reports whether the vendor's own model says a time: beside measured ones, too, of kernels.
func (l *Library) hasVendor(c *nccl.Choice) bool {
	return c.ClockUS > 0 && c.Evidence == nccl.Predicted && (c.Kernel != "" || !l.options.Measured)
}

func (l *Library) hasClock(c *nccl.Choice) bool { return c.ClockUS > 0 && !l.options.Measured }

func (c *choosing) byClock(_ context.Context, t Time) (Time, string, error) {
	t.Name, t.CTAs = t.choice.Family+" "+t.Protocol.String(), t.choice.Channels
	if t.choice.Kernel != "" {
		t.Name, t.CTAs = kernelName(t.choice), t.choice.CTAs
	}
	t.Evidence, t.US, t.ExtraUS, t.LeastUS = t.choice.Evidence, t.choice.ClockUS, 0, 0
	if c.options.copies(t.Registered) && t.choice.Kernel != "" {
		t.CopiesUS = t.Release.copiesUS(c.target.Topology, c.target.Collective, t.Bytes)
		t.US += t.CopiesUS
	}
	return t, "", nil
}

// kernelName is a kernel for windows and its threadblocks: AllGather_TmaST ×12.
func kernelName(c *nccl.Choice) string {
	if c.CTAs == 0 {
		return c.Kernel
	}
	return fmt.Sprintf("%s ×%d", c.Kernel, c.CTAs)
}

func (c *choosing) bySteadyState(ctx context.Context, t Time) (Time, string, error) {
	return c.steadyTime(ctx, t)
}

func (l *Library) hasProgram(c *nccl.Choice) bool { return c.Lacks == "" }

// byProgram drafts the choice's program. Sizes with the same choice share one.
func (c *choosing) byProgram(ctx context.Context, t Time) (Time, string, error) {
	key := routingName(t.choice)
	known, ok := c.drafts[key]
	if !ok {
		var err error
		if known.draft, known.why, err = c.draft(ctx, t.choice); err != nil {
			return t, "", err
		}
		c.drafts[key] = known
	}
	if known.draft != nil && !slices.Contains(c.Drafts, known.draft) {
		c.Drafts = append(c.Drafts, known.draft)
	}
	t.Draft = known.draft
	return t, known.why, nil
}
