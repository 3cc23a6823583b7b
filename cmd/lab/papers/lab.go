package papers

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/search/workload"
	"github.com/colltune/colltune/topologies"
)

// Setting is where a collective is called.
type Setting struct {
	System     string // of the catalogue
	Nodes      int
	Collective string
}

// String is a setting as the page names it: allreduce, dgx-a100 × 2.
func (s Setting) String() string {
	return fmt.Sprintf("%s, %s × %d", s.Collective, s.System, s.Nodes)
}

// Program is a paper's program: a family with the parameters that the paper fixes, and the
// knobs that it tunes. The zero value is the vendor's library.
type Program struct {
	Name      string            // as the page names it
	Family    string            // empty: NCCL or RCCL, as its cost model chooses
	Fixed     map[string]string // parameters; those that are not fixed are tuned
	Instances []int             // of the whole program, tuned; none: those of a search
	Protocols []topologies.Proto
	// Together lists sizes that are simulated with the first that is asked for, since
	// compiling takes longer; nil: none.
	Together func(Setting) []int64
}

// Library is what the vendor's library would run.
var Library = Program{Name: "library"}

// knobs is what the page says of a program's knobs.
func (p Program) knobs() string {
	text := p.Family
	for _, name := range slices.Sorted(maps.Keys(p.Fixed)) {
		text += " " + name + "=" + p.Fixed[name]
	}
	switch {
	case len(p.Instances) == 1:
		text += fmt.Sprintf(" ×%d", p.Instances[0])
	case len(p.Instances) > 1:
		text += " ×" + strings.ReplaceAll(strings.Trim(fmt.Sprint(p.Instances), "[]"), " ", ", ")
	default:
		text += ", instances tuned"
	}
	if len(p.Protocols) == 0 {
		return text + ", protocol tuned"
	}
	for _, proto := range p.Protocols {
		text += " " + proto.String()
	}
	return text
}

// Lab simulates calls, each once. It is safe for concurrent use.
type Lab struct {
	ctx     context.Context
	mu      sync.Mutex
	cells   map[cell]*times
	vendors map[string]*vendor
}

// NewLab returns a lab whose simulations end with ctx.
func NewLab(ctx context.Context) *Lab {
	return &Lab{ctx: ctx, cells: map[cell]*times{}, vendors: map[string]*vendor{}}
}

// cell is a program where it is called; its times, in microseconds, are by size.
type (
	cell struct {
		Setting
		program string
	}
	times struct {
		sync.Mutex
		us map[int64]float64
	}
	vendor struct {
		sync.Mutex
		workload.Vendor
	}
)

// of returns what a map has at a key, made where it is new.
func of[K comparable, V any](l *Lab, m map[K]*V, key K, make func() *V) *V {
	l.mu.Lock()
	defer l.mu.Unlock()
	if m[key] == nil {
		m[key] = make()
	}
	return m[key]
}

// Times are the simulated times in microseconds of a program at sizes in bytes, each with
// the best of its knobs.
func (l *Lab) Times(at Setting, p Program, sizes []int64) ([]float64, error) {
	known := of(l, l.cells, cell{at, p.Name}, func() *times { return &times{us: map[int64]float64{}} })
	known.Lock()
	defer known.Unlock()
	var missing, more []int64
	if p.Together != nil {
		more = p.Together(at)
	}
	for _, n := range slices.Concat(sizes, more) {
		if _, there := known.us[n]; !there && !slices.Contains(missing, n) {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		simulate := l.program
		if p.Family == "" {
			simulate = l.library
		}
		found, err := simulate(at, p, missing)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", p.Name, at, err)
		}
		for i, n := range missing {
			known.us[n] = found[i]
		}
	}
	all := make([]float64, len(sizes))
	for i, n := range sizes {
		all[i] = known.us[n]
	}
	return all, nil
}

// library simulates the vendor's library.
func (l *Lab) library(at Setting, _ Program, sizes []int64) ([]float64, error) {
	t, err := topologies.Resolve(at.System, topologies.Options{Nodes: at.Nodes})
	if err != nil {
		return nil, err
	}
	all := make([]float64, len(sizes))
	for i, n := range sizes {
		if all[i], err = l.Library(at.System, workload.Kind{Collective: at.Collective, Bytes: n, Ranks: len(t.Ranks), Nodes: at.Nodes}); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// program simulates a family's programs, of which each size takes the fastest.
func (l *Lab) program(at Setting, p Program, sizes []int64) ([]float64, error) {
	t, err := topologies.Resolve(at.System, topologies.Options{Nodes: at.Nodes})
	if err != nil {
		return nil, err
	}
	call := collective.Call{Collective: at.Collective, Op: "sum", DType: "f32"}
	// One size is enough to enumerate: the library's choices, which depend on it, are timed apart.
	problem := search.Problem{Call: call, Topology: t, InPlace: collective.DefaultInPlace(at.Collective), Sizes: sizes[:1]}
	tried, protocols := p.Instances, p.Protocols
	if len(tried) == 0 {
		tried = []int{0}
	}
	if len(protocols) == 0 {
		protocols = topologies.AllProtocols[:]
	}
	best := slices.Repeat([]float64{math.Inf(1)}, len(sizes))
	for _, instances := range tried {
		o := search.Options{Families: []string{p.Family}, Parameters: p.Fixed, Instances: instances, Protocols: p.Protocols, Solver: "pb", Jobs: 1}
		space, err := search.Enumerate(l.ctx, problem, o)
		if err != nil {
			return nil, err
		}
		for _, c := range space.Candidates {
			if c.Reference {
				continue // the library's
			}
			prepared, err := sim.Prepare(c.Program, t)
			if err != nil {
				return nil, err
			}
			for _, proto := range protocols {
				if c.SlotsNeeded > t.Protocols[proto].Slots {
					continue
				}
				for i, n := range sizes {
					r, err := prepared.RunContext(l.ctx, sim.Knobs{Bytes: n, Protocol: proto, ElemBytes: call.ElemBytes()})
					if err != nil {
						return nil, err
					}
					best[i] = min(best[i], r.TimeUS)
				}
			}
		}
		if len(space.Candidates) == 0 && len(space.Refusals) > 0 {
			return nil, fmt.Errorf("%s: %s", space.Refusals[0].Candidate, space.Refusals[0].Detail)
		}
	}
	if i := slices.IndexFunc(best, func(us float64) bool { return math.IsInf(us, 1) }); i >= 0 {
		return nil, fmt.Errorf("no program of %s at %s", p.Family, units.Bytes(sizes[i]))
	}
	return best, nil
}

// Library is the simulated time in microseconds of a call of the vendor's library.
func (l *Lab) Library(system string, k workload.Kind) (float64, error) {
	t, err := l.vendorTime(system, k)
	return t.TimeUS, err
}

// vendorTime is the simulated time of a call of the vendor's library, with its interval.
func (l *Lab) vendorTime(system string, k workload.Kind) (t libraries.Time, err error) {
	v := of(l, l.vendors, system, func() *vendor {
		return &vendor{Vendor: workload.Vendor{Context: l.ctx, System: system}}
	})
	v.Lock()
	defer v.Unlock()
	all, err := v.Times(k)
	switch {
	case err != nil:
		return t, err
	case len(all) == 0:
		return t, fmt.Errorf("the library of %s has no time for %s", system, k)
	}
	return all[0], nil
}
