package search

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
)

// begun is what an enumeration has come to, so that one which was cut short goes on from
// there: in the same search all of it, in a later one the programs that were compiled,
// which a file keeps, and what was found out of those that were only traced.
//
//	budget ├ trace ─┼ compile ─┼ tune ──────────┤     a quarter, a quarter, and the rest;
//	                           ├ trace ┼ compile ┼ tune ┤    what was left, where time is
type begun struct {
	late patience  // nil: all is enumerated
	of   int       // placements
	file keeper    // nil: none
	from time.Time // since when it is enumerated

	mu     sync.Mutex
	grids  map[string]*grid // by placement and name, like what follows
	traced map[string]trace
	built  map[string]*built
	found  map[string][]construct
	left   map[string]int
	unkept error // why the file took no more
}

// keeper keeps what has begun for later searches: a *results.Begun.
type keeper interface {
	Known(name string, note any) (p *ir.Program, hash string, ok bool)
	Keep(name string, note any, hash string, p *ir.Program) error
	Close() error
}

// trace is a routing, or why there is none.
type trace struct {
	routing *routing
	refused *Refusal
}

// The stages of an enumeration.
type stage int

const (
	tracing stage = iota
	building
)

// patience tells whether it is too late to begin more of a stage, in one of so many
// placements, with such a part of the stage to be gone through by then.
type patience func(s stage, placement, of int, through float64) bool

// halfOf is the patience for half of what is left of a budget, a stage of a placement
// after the other, each family with its part of the tracing.
func halfOf(left time.Duration, from time.Time) patience {
	return func(s stage, placement, of int, through float64) bool {
		return time.Since(from).Seconds() > left.Seconds()/2*(float64(2*placement+int(s))+through)/float64(2*of)
	}
}

func newBegun() *begun {
	return &begun{from: time.Now(), grids: map[string]*grid{}, traced: map[string]trace{}, built: map[string]*built{}, found: map[string][]construct{}, left: map[string]int{}}
}

// keepAfter is how long an enumeration without a budget goes on before what it makes is
// kept: what is quickly made is made again as quickly.
const keepAfter = 5 * time.Second

// keptTrace is a trace without its program, which is traced again if it is to be compiled.
type keptTrace struct {
	Refusal    *Refusal `json:"refusal,omitempty"`
	Operations int      `json:"operations,omitempty"`
	Promise    *promise `json:"promise,omitempty"`
}

// whole tells whether it is what a search keeps.
func (k *keptTrace) whole() bool { return k.Refusal != nil || k.Operations > 0 && k.Promise != nil }

// What the keys of grids and traces begin with in the file; those of built drafts are
// their own.
const (
	gridKey   = "grid "
	tracedKey = "traced "
)

// keptBuilt is a built draft but for its program, which lies beside.
type keptBuilt struct {
	Refusal *Refusal `json:"refusal,omitempty"`
}

// isLate tells whether a stage of the enumeration begins nothing more.
func (e *enumeration) isLate(s stage) bool {
	return e.begun.late != nil && e.begun.late(s, e.placement, e.begun.of, e.through)
}

// leave notes candidates that were not looked at; 0: nobody knows how many.
func (e *enumeration) leave(name string, n int) { e.begun.left[name] += n }

// key is what a candidate is called in what has begun: a user's family may have the
// name of another.
func (e *enumeration) key(source, name string) string {
	return fmt.Sprintf("%s %s %s", placementOf(e.problem.InPlace), source, name)
}

// gridAs is the sets of parameters to be traced of a family, which are found once; nil,
// if make gives none.
func (b *begun) gridAs(key string, make func() (*grid, error)) (*grid, error) {
	if g := b.grids[key]; g != nil {
		return g, nil
	}
	g := new(grid)
	if b.file != nil && b.fileHas(gridKey+key, g) {
		for _, params := range g.Params {
			whole(params)
		}
	} else {
		var err error
		if g, err = make(); g == nil || err != nil {
			return nil, err
		}
		b.keepGrid(key, g)
	}
	if b.late != nil {
		b.grids[key] = g
	}
	return g, nil
}

// keepGrid puts the sets of parameters of a family into the file, if they are read back
// as they are.
func (b *begun) keepGrid(key string, g *grid) {
	if !b.keeps() {
		return
	}
	for _, params := range g.Params {
		text, err := json.Marshal(params)
		var back script.Params
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(script.Params(whole(back)), params) {
			return
		}
	}
	b.put(gridKey+key, g, "", nil)
}

// tracedAs is what a routing came to, which is traced once. known gives what the file
// keeps of it, as what an earlier search traced.
func (b *begun) tracedAs(key string, known func(*keptTrace) trace, make func() (trace, error)) (trace, error) {
	b.mu.Lock()
	t, ok := b.traced[key]
	b.mu.Unlock()
	if ok {
		return t, nil
	}
	var err error
	var note keptTrace
	switch {
	case b.file != nil && b.fileHas(tracedKey+key, &note) && note.whole():
		t = known(&note)
	default:
		if t, err = make(); err == nil {
			b.keepTrace(key, &t)
		}
	}
	if err == nil && t != (trace{}) && b.late != nil {
		b.mu.Lock()
		b.traced[key] = t
		b.mu.Unlock()
	}
	return t, err
}

// fileHas tells whether the file has a note under a key, and reads it.
func (b *begun) fileHas(key string, note any) bool {
	_, _, ok := b.file.Known(key, note)
	return ok
}

// keepTrace puts what a routing came to into the file.
func (b *begun) keepTrace(key string, t *trace) {
	if !b.keeps() || *t == (trace{}) || t.routing != nil && t.routing.promised == nil {
		return
	}
	note := keptTrace{Refusal: t.refused}
	if t.routing != nil {
		note.Operations, note.Promise = t.routing.operations(), t.routing.promised
	}
	b.put(tracedKey+key, note, "", nil)
}

// put keeps something in the file. A file that can't be written ends no search: what it
// misses can be made again.
func (b *begun) put(name string, note any, hash string, p *ir.Program) {
	err := b.file.Keep(name, note, hash, p)
	if err == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unkept == nil {
		b.unkept = err
	}
}

// keeps tells whether what is made is kept in the file: under a budget all of it, since
// the next search may have no more time than this one.
func (b *begun) keeps() bool {
	b.mu.Lock()
	full := b.unkept != nil
	b.mu.Unlock()
	return b.file != nil && !full && (b.late != nil || time.Since(b.from) >= keepAfter)
}

// builtAs is what a draft came to, which is built once. A program that the file keeps is
// judged like one just compiled.
func (b *begun) builtAs(key string, judge func(*ir.Program) (*built, error), make func() (*built, error)) (*built, error) {
	b.mu.Lock()
	known := b.built[key]
	b.mu.Unlock()
	if known != nil {
		return known, nil
	}
	one, err := b.fromFile(key, judge)
	if one != nil || err != nil {
		return one, err
	}
	if one, err = make(); err != nil {
		return nil, err
	}
	if b.late != nil {
		b.mu.Lock()
		b.built[key] = one
		b.mu.Unlock()
	}
	if !b.keeps() {
		return one, nil
	}
	if one.refusal != nil {
		b.put(key, keptBuilt{one.refusal}, "", nil)
	} else {
		b.put(key, keptBuilt{}, one.hash, one.program)
	}
	return one, nil
}

func (b *begun) fromFile(key string, judge func(*ir.Program) (*built, error)) (*built, error) {
	if b.file == nil {
		return nil, nil
	}
	var note keptBuilt
	program, _, ok := b.file.Known(key, &note)
	switch {
	case !ok:
		return nil, nil
	case note.Refusal != nil:
		return &built{refusal: note.Refusal}, nil
	case program == nil:
		return nil, nil
	}
	return judge(program)
}

// unlooked says which candidates were not looked at; empty where all were.
func (b *begun) unlooked() string {
	if len(b.left) == 0 {
		return ""
	}
	names := make([]string, 0, len(b.left))
	for name, n := range b.left {
		if n > 0 {
			name += fmt.Sprintf(" (%d)", n)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// close leaves the file as it is.
func (b *begun) close() {
	if b.file != nil {
		_ = b.file.Close()
	}
}
