package topologies

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
)

// generatorUsage is the form of a generator's name.
const generatorUsage = "KIND:DIMS[@BANDWIDTH[,LATENCY]] such as ring:8 or mesh:4x4@50GB/s,0.5us"

// Defaults of generated systems.
const (
	defaultBandwidth units.Bandwidth = 50e9
	defaultLatency   units.Duration  = 0.5
	defaultSMs                       = 108
)

// generator is a row of the table of kinds: what its dimensions mean, and which
// GPUs are linked. Without links, all GPUs are joined to one switch.
type generator struct {
	kind  string
	dims  string // what the dimensions are, for messages
	many  bool   // takes more than one dimension
	least int    // smallest dimension
	most  int    // largest
	ranks func(dims []int) int
	links func(dims []int) iter.Seq2[int, int] // each pair of linked GPUs, once
}

var generators = []generator{
	{"ring", "GPUs in a cycle", false, 2, maxRanks, product, torus},
	{"mesh", "GPUs along each side", true, 1, maxRanks, product, mesh},
	{"torus", "GPUs along each side", true, 1, maxRanks, product, torus},
	{"hypercube", "dimensions", false, 1, 16, powerOfTwo, cube},
	{"fullmesh", "GPUs, each joined to each", false, 2, maxRanks, product, pairs},
	{"hub", "GPUs on one switch", false, 2, maxRanks, product, nil},
}

func product(dims []int) int {
	n := 1
	for _, d := range dims {
		if n *= d; n > maxRanks {
			return maxRanks + 1
		}
	}
	return n
}

func powerOfTwo(dims []int) int { return 1 << dims[0] }

func mesh(dims []int) iter.Seq2[int, int]  { return grid(dims, false) }
func torus(dims []int) iter.Seq2[int, int] { return grid(dims, true) }

// grid links neighbours along every side; the first side varies slowest. A wrapped
// side of length two has one link, not two.
func grid(dims []int, wrap bool) iter.Seq2[int, int] {
	return func(yield func(a, b int) bool) {
		n, step := product(dims), product(dims)
		for _, d := range dims {
			step /= d
			for a := range n {
				b := a + step
				if at := a / step % d; at+1 == d {
					b -= d * step
					if !wrap || d <= 2 {
						continue
					}
				}
				if !yield(a, b) {
					return
				}
			}
		}
	}
}

func cube(dims []int) iter.Seq2[int, int] {
	return func(yield func(a, b int) bool) {
		for a := range powerOfTwo(dims) {
			for bit := range dims[0] {
				if b := a | 1<<bit; b != a && !yield(a, b) {
					return
				}
			}
		}
	}
}

func pairs(dims []int) iter.Seq2[int, int] {
	return func(yield func(a, b int) bool) {
		for a := range dims[0] {
			for b := a + 1; b < dims[0]; b++ {
				if !yield(a, b) {
					return
				}
			}
		}
	}
}

// generatorKind reports whether a name before a colon is meant as a
// generator's. Any word is, so that the error for a misspelt one lists the
// kinds.
func generatorKind(kind string) bool {
	return kind != "" && !strings.ContainsAny(kind, `/\.`)
}

// generatorKinds lists the kinds of generator.
func generatorKinds() []string {
	return lists.Map(generators, func(g generator) string { return g.kind })
}

// generate makes the blueprint of KIND:rest.
func generate(kind, rest string) (*blueprint, error) {
	i := slices.IndexFunc(generators, func(g generator) bool { return g.kind == kind })
	if i < 0 {
		return nil, fmt.Errorf("unknown generator %q%s: want one of %s", kind, suggest.DidYouMean(strings.ToLower(kind), generatorKinds()), strings.Join(generatorKinds(), ", "))
	}
	g := &generators[i]
	shape, speed, hasSpeed := strings.Cut(rest, "@")
	dims, err := g.readDims(shape)
	if err != nil {
		return nil, err
	}
	w := wire{kind: NVLink, count: 1, bandwidth: defaultBandwidth, latency: defaultLatency}
	if hasSpeed {
		if err := w.readSpeed(speed); err != nil {
			return nil, err
		}
	}
	b := &blueprint{name: kind + ":" + shape + w.speedName(), runtime: "nccl", arch: "ampere", generated: true, nodes: 1, order: []int{0}}
	if b.protocols, err = defaultProtocols(); err != nil {
		return nil, err
	}
	n := nodePlan{gpus: g.ranks(dims), sms: defaultSMs}
	if n.gpus < 2 || n.gpus > maxRanks {
		return nil, fmt.Errorf("%s is not a size: want 2 to %d GPUs", shape, maxRanks)
	}
	if g.links == nil {
		all := make([]int, n.gpus)
		for i := range all {
			all[i] = i
		}
		n.switches = []switchPlan{{name: "switch", gpus: all, wire: w}}
	} else {
		for x, y := range g.links(dims) {
			n.links = append(n.links, linkPlan{a: end(x), b: end(y), wire: w})
			if len(n.links) > maxEdges/2 { // enough to know that it is too large
				break
			}
		}
	}
	b.kinds = []nodePlan{n}
	return b, nil
}

// readSpeed reads BANDWIDTH or BANDWIDTH,LATENCY.
func (w *wire) readSpeed(text string) (err error) {
	rate, delay, hasDelay := strings.Cut(text, ",")
	if w.bandwidth, err = units.ParseBandwidth(rate); err != nil {
		return err
	}
	if hasDelay {
		if w.latency, err = units.ParseDuration(delay); err != nil {
			return err
		}
	}
	if w.bandwidth > maxBandwidth || !sane(w.latency) {
		return fmt.Errorf("%v and %v are out of range: want at most %v and %v", w.bandwidth, w.latency, maxBandwidth, maxDuration)
	}
	return nil
}

// speedName returns the part of a generated system's name that says its links'
// speed: empty for the default, so that a system has one name however it was
// asked for.
func (w *wire) speedName() (name string) {
	if w.bandwidth != defaultBandwidth || w.latency != defaultLatency {
		name += "@" + strings.ReplaceAll(w.bandwidth.String(), " ", "")
	}
	if w.latency != defaultLatency {
		name += "," + strings.ReplaceAll(w.latency.String(), " ", "")
	}
	return name
}

// readDims reads 8 or 4x4x4.
func (g *generator) readDims(s string) ([]int, error) {
	parts := strings.Split(s, "x")
	if len(parts) > 1 && !g.many {
		return nil, fmt.Errorf("%q: %s takes one number, its %s", s, g.kind, g.dims)
	}
	if len(parts) > 16 {
		return nil, fmt.Errorf("%d dimensions: want at most 16", len(parts))
	}
	dims := make([]int, len(parts))
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 31)
		if err != nil || int(n) < g.least || int(n) > g.most {
			return nil, fmt.Errorf("%q is not a size of %s: want its %s, %d to %d", p, g.kind, g.dims, g.least, g.most)
		}
		dims[i] = int(n)
	}
	return dims, nil
}
