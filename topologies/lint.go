package topologies

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Finding is a questionable but valid part of a topology.
type Finding struct {
	Line int    `json:"line"` // of the file; 0 if at no line
	Key  string `json:"key"`  // dotted, as in Error; empty for the system as a whole
	Msg  string `json:"message"`
}

// Lint resolves a topology like Resolve and returns warnings, sorted by line.
// arg is the argument of Resolve, and errors are Resolve's. A generated system has no
// warnings about a file.
func Lint(arg string, o Options) (*Topology, []Finding, error) {
	t, err := Resolve(arg, o)
	if err != nil {
		return nil, nil, err
	}
	var all []Finding
	if kind, _, ok := strings.Cut(arg, ":"); !ok || !generatorKind(kind) {
		file, text, err := open(arg)
		if err != nil {
			return nil, nil, err
		}
		b, r, err := readBlueprint(file, text)
		if err != nil {
			return nil, nil, err
		}
		all = append(append(r.unmeasured(), r.strayCables(b, t.Nodes)...), r.narrowBuses(b)...)
	}
	for _, rule := range lints {
		first, count := "", 0
		rule(t, func(format string, args ...any) {
			if count++; count == 1 {
				first = fmt.Sprintf(format, args...)
			}
		})
		if count > 1 {
			first += fmt.Sprintf("; %d more are like this", count-1)
		}
		if count > 0 {
			all = append(all, Finding{Msg: first})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Line < all[j].Line })
	return t, all, nil
}

// doubtfulWords are words in a source that is neither a measurement nor a data
// sheet.
var doubtfulWords = []string{"not measured", "assumed", "inferred", "general knowledge"}

// doubtful returns the index of the first of doubtfulWords in a source, or -1.
func doubtful(source string) int {
	return slices.IndexFunc(doubtfulWords, func(d string) bool { return strings.Contains(source, d) })
}

func (r *reader) unmeasured() (all []Finding) {
	for _, n := range r.notes {
		if i := doubtful(n.text); i >= 0 {
			msg := "a number here is " + n.text
			if !slices.ContainsFunc(doubtfulWords, func(d string) bool { return strings.HasPrefix(n.text, d) }) {
				msg = "a number here is " + doubtfulWords[i] + ": " + n.text
			}
			all = append(all, Finding{n.line, n.key, msg})
		}
	}
	return all
}

// strayCables finds entries of [[fabric.direct]] that name nodes which don't
// exist.
func (r *reader) strayCables(b *blueprint, nodes int) (all []Finding) {
	if b.fabric == nil {
		return nil
	}
	told := map[int]bool{}
	for _, c := range b.fabric.cables {
		for _, p := range c.nodes {
			if n := max(p[0], p[1]); n >= nodes && !told[n] {
				told[n] = true
				all = append(all, Finding{r.lines.Of("fabric.direct"), "fabric.direct", fmt.Sprintf("a cable leads to node %d, and there are %d nodes: it is left out", n, nodes)})
			}
		}
	}
	return all
}

// narrowBuses finds NICs that their GPUs cannot fill.
func (r *reader) narrowBuses(b *blueprint) (all []Finding) {
	for _, k := range b.kinds {
		for _, n := range k.nics {
			if n.bus < n.bandwidth {
				all = append(all, Finding{r.lines.Of(k.at("nic")), k.at("nic"), fmt.Sprintf("nic %d carries %v, and the way to it %v", n.number, n.bandwidth, n.bus)})
			}
		}
	}
	return all
}

// lints is the table of rules for a system as a whole. A rule calls found for each fault.
var lints = []func(t *Topology, found func(format string, args ...any)){lopsided, uneven, overMemory, idleSwitches}

// lopsided finds GPUs whose links carry more one way than the other.
func lopsided(t *Topology, found func(format string, args ...any)) {
	rate := map[[2]int]units.Bandwidth{}
	for _, e := range t.Edges {
		if max(e.From, e.To) < len(t.Ranks) {
			rate[[2]int{e.From, e.To}] += e.Bandwidth
		}
	}
	for _, e := range t.Edges {
		a, b := e.From, e.To
		if max(a, b) >= len(t.Ranks) {
			continue
		}
		if back := rate[[2]int{b, a}]; rate[[2]int{a, b}] > back {
			found("%s sends %s %v, and gets %v back", t.name(a), t.name(b), rate[[2]int{a, b}], back)
		}
	}
}

// inside returns the bandwidth of each rank within its node, out and in.
func (t *Topology) inside() (out, in []units.Bandwidth) {
	out, in = make([]units.Bandwidth, len(t.Ranks)), make([]units.Bandwidth, len(t.Ranks))
	for _, e := range t.Edges {
		if e.Kind == Net {
			continue
		}
		if e.From < len(t.Ranks) {
			out[e.From] += e.Bandwidth
		}
		if e.To < len(t.Ranks) {
			in[e.To] += e.Bandwidth
		}
	}
	return out, in
}

// uneven finds GPUs that can send more than others of their node.
func uneven(t *Topology, found func(format string, args ...any)) {
	out, _ := t.inside()
	for r := 1; r < len(out); r++ {
		if t.Ranks[r].Node == t.Ranks[r-1].Node && out[r] != out[r-1] {
			found("%s can send %v inside its node, and %s %v", t.name(r), out[r], t.name(r-1), out[r-1])
		}
	}
}

// overMemory finds GPUs whose links carry more than their memory.
func overMemory(t *Topology, found func(format string, args ...any)) {
	out, in := t.inside()
	for r, rank := range t.Ranks {
		if rank.Memory > 0 && out[r]+in[r] > rank.Memory {
			found("the links of %s carry %v both ways, and its memory %v", t.name(r), out[r]+in[r], rank.Memory)
		}
	}
}

// idleSwitches finds switches that join nothing.
func idleSwitches(t *Topology, found func(format string, args ...any)) {
	for v, x := range t.Vertices {
		if x.Kind == Switch && len(t.Out(v))+len(t.In(v)) < 4 {
			found("%s joins fewer than two things", t.name(v))
		}
	}
}
