package program

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/search/program/cost"
	"github.com/colltune/colltune/templates"
)

// entries are what a cache has of a target.
type entries struct {
	cache  *Cache // nil: nothing
	target *Target
}

// keyOf is the key of an entry of the target. source tells a user's family from a
// built-in one of the same name.
func (e *entries) keyOf(kind, source, name string) string {
	if e.cache == nil {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %q %q %q", e.cache.base, Placement(e.target.InPlace), kind, source, name))
	return hex.EncodeToString(sum[:])
}

// grid returns a family's grid with some of its parameters fixed: as a candidate's, or as one of the
// library's choices, which has no reason for being empty.
func (e *entries) grid(kind string, f *templates.Family, fixed map[string]string, make func() (*grid, error)) (*grid, error) {
	key := e.keyOf(kind, f.Source, fmt.Sprintf("%s %q", f.Name, fixed)) // in the order of names
	load := func() (*grid, error) {
		g := new(grid)
		if _, ok := e.cache.load(key, g); !ok {
			return nil, nil
		}
		for _, params := range g.Params {
			restoreNumbers(params)
		}
		return g, nil
	}
	return cached(e.cache, key, load, make, func(g *grid) {
		if jsonKeeps(g.Params) {
			e.cache.save(key, g, "", nil)
		}
	})
}

// jsonKeeps reports whether sets of parameters are read back as they are.
func jsonKeeps(all []script.Params) bool {
	for _, params := range all {
		text, err := json.Marshal(params)
		var back script.Params
		if err != nil || json.Unmarshal(text, &back) != nil || !reflect.DeepEqual(script.Params(restoreNumbers(back)), params) {
			return false
		}
	}
	return true
}

// cachedTrace is a trace without its program, which is traced again if it is to be
// compiled. Its cost is there once it was asked for.
type cachedTrace struct {
	Refusal    *Refusal      `json:"refusal,omitempty"`
	Operations int           `json:"operations,omitempty"`
	Cost       *cost.Summary `json:"cost,omitempty"`
}

// trace returns the trace of a routing by its name; again traces it once more.
func (e *entries) trace(source, name string, apart bool, again retrace, make func() (*trace, error)) (*trace, error) {
	key := e.keyOf("trace", source, name)
	load := func() (*trace, error) {
		var k cachedTrace
		_, ok := e.cache.load(key, &k)
		switch {
		case !ok || k.Refusal == nil && k.Operations < 1:
			return nil, nil
		case k.Refusal != nil:
			return &trace{refused: k.Refusal}, nil
		}
		return &trace{routing: &Routing{source: source, key: key, size: k.Operations, cost: k.Cost, apart: apart, retrace: again}}, nil
	}
	return cached(e.cache, key, load, make, func(t *trace) {
		if t.routing != nil {
			t.routing.key = key
		}
		e.saveTrace(key, t)
	})
}

func (e *entries) saveTrace(key string, t *trace) {
	k := cachedTrace{Refusal: t.refused}
	if t.routing != nil {
		k.Operations, k.Cost = t.routing.Operations(), t.routing.cost
	}
	e.cache.save(key, k, "", nil)
}

// finds are what a construction found, or why it found nothing. Their programs are in
// memory alone: one that is to be compiled is found again.
type finds struct {
	Refusal *Refusal `json:"refusal,omitempty"`
	Finds   []find   `json:"finds,omitempty"`
}

// find is a routing that was found, with what distinguishes it from others of its kind.
type find struct {
	Params script.Params `json:"params"`
	Origin string        `json:"origin"` // how it was found, for the IR
	// Apart means that receiving and forwarding are done by two threadblocks. A
	// fused one has one peer in each direction, so a rank would need one for every
	// pair of its links.
	Apart bool `json:"apart,omitempty"`

	program *lang.Program
}

func (e *entries) finds(construction string, make func() (*finds, error)) (*finds, error) {
	key := e.keyOf("finds", synthesised, construction)
	load := func() (*finds, error) {
		f := new(finds)
		if _, ok := e.cache.load(key, f); !ok {
			return nil, nil
		}
		for i := range f.Finds {
			restoreNumbers(f.Finds[i].Params)
		}
		return f, nil
	}
	return cached(e.cache, key, load, make, func(f *finds) { e.cache.save(key, f, "", nil) })
}

// isWhole reports whether an earlier run enumerated all of the target, and setWhole
// says so to later ones.
func (e *entries) isWhole() bool {
	_, ok := e.cache.load(e.keyOf("whole", "", ""), new(struct{}))
	return ok
}

func (e *entries) setWhole() { e.cache.save(e.keyOf("whole", "", ""), struct{}{}, "", nil) }

// cachedBuild is a built draft but for its program, which lies beside.
type cachedBuild struct {
	Refusal *Refusal `json:"refusal,omitempty"`
	Needs   int      `json:"needs,omitempty"` // Built.Needs
}

// built returns a built draft, from the cache or as make makes it. A cached program is verified like one just compiled, and
// compiled again if it is refused.
func (e *entries) built(d *Draft, verify func(*ir.Program) (*Built, error), make func() (*Built, error)) (*Built, error) {
	name := d.String()
	if d.Threadblocks > 0 { // a candidate of that name has no such limit
		name += fmt.Sprintf(" of %d threadblocks", d.Threadblocks)
	}
	kind := "draft"
	if d.Reference { // one that is only compared with need not run in the runtime asked for
		kind = "reference"
	}
	key := e.keyOf(kind, d.Routing.source, name)
	load := func() (*Built, error) {
		var k cachedBuild
		program, ok := e.cache.load(key, &k)
		switch {
		case !ok:
			return nil, nil
		case k.Refusal != nil:
			return &Built{Refusal: k.Refusal, Needs: k.Needs}, nil
		case program == nil || !e.target.isOf(program):
			return nil, nil
		}
		v, err := verify(program)
		if err != nil || v.Refusal != nil {
			return nil, err
		}
		v.Needs = k.Needs
		e.cache.remember(key, v)
		return v, nil
	}
	return cached(e.cache, key, load, make, func(v *Built) {
		if v.Refusal != nil {
			e.cache.save(key, cachedBuild{Refusal: v.Refusal, Needs: v.Needs}, "", nil)
		} else {
			e.cache.save(key, cachedBuild{Needs: v.Needs}, v.Hash, v.Program)
		}
	})
}

func (t *Target) isOf(p *ir.Program) bool {
	of := p.Collective
	return of.Name == t.Collective && of.Ranks == len(t.Topology.Ranks) && of.Root == t.Root
}

// restoreNumbers restores the types of parameters' numbers, which JSON has lost.
func restoreNumbers(parameters map[string]any) map[string]any {
	for name, v := range parameters {
		parameters[name] = restored(v)
	}
	return parameters
}

func restored(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v)
		}
	case []any:
		for i := range v {
			v[i] = restored(v[i])
		}
		if list, ok := allOf[int](v); ok {
			return list
		}
		if list, ok := allOf[[]int](v); ok {
			return list
		}
	}
	return v
}

// allOf converts a list to one type, if all its values have that type; an empty
// list has none.
func allOf[T any](values []any) (list []T, ok bool) {
	for _, v := range values {
		one, ok := v.(T)
		if !ok {
			return nil, false
		}
		list = append(list, one)
	}
	return list, len(list) > 0
}
