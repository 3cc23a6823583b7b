package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// pcie writes a machine whose GPUs reach each other over PCIe: its processors, the
// switches that join at least two things, and the links between them.
func (w *writer) pcie() {
	m := w.m
	t := m.tree()
	fallback := pcieOf(m.model.pcie)
	known := func(b units.Bandwidth) (units.Bandwidth, string) {
		if b == 0 {
			return fallback, fmt.Sprintf("inferred: PCIe %d.0 x16 of %s as NCCL counts it", m.model.pcie, m.model.name)
		}
		return b, m.file + ", as NCCL counts PCIe"
	}
	for _, p := range t.places {
		w.table("[[node.switch]]", []string{"name", quote(t.names[p]), "source", quote(m.file)}, nil)
	}
	// All links of one bandwidth share a table, so that a user who knows better
	// changes one number.
	var rates []units.Bandwidth
	pairs := map[units.Bandwidth][]string{}
	for _, p := range t.places {
		add := func(from string, b units.Bandwidth) {
			if pairs[b] == nil {
				rates = append(rates, b)
			}
			pairs[b] = append(pairs[b], fmt.Sprintf("[%s, %s]", from, quote(t.names[p])))
		}
		for g := range m.gpus {
			if at, b := t.above(m.gpus[g].up, m.gpus[g].pcie); at == p && (m.host == nil || m.host[g] == 0) {
				add(fmt.Sprint(g), b)
			}
		}
		for _, q := range t.places {
			if q.up == nil {
				continue
			}
			if at, b := t.above(q.up, q.bandwidth); at == p {
				add(quote(t.names[q]), b)
			}
		}
	}
	for _, r := range rates {
		b, source := known(r)
		w.table("[[node.link]]", []string{"pairs", lined(pairs[r]), "kind", quote("pcie"),
			"bandwidth", rate(b), "latency", quote(pcieLatency)}, sources("bandwidth", source, "latency", "inferred: that of l40s-4"))
	}
	w.processors(t)
	w.hosted(t)
	w.switches()
	w.links()
	w.hung(t)
}

// hosted writes the NVLinks between GPUs and their processors.
func (w *writer) hosted(t *tree) {
	m := w.m
	for g, c := range m.host {
		if c > 0 {
			w.table("[[node.link]]", []string{"pairs", fmt.Sprintf("[[%d, %s]]", g, quote(t.names[m.gpus[g].up.processor()])), "kind", quote("nvlink"),
				"count", fmt.Sprint(c), "bandwidth", quote(m.model.speed), "latency", quote(m.model.direct)}, w.linkSources())
		}
	}
}

// processors links every two processors, as NCCL assumes.
func (w *writer) processors(t *tree) {
	var pairs []string
	for i, a := range t.roots {
		for _, b := range t.roots[i+1:] {
			pairs = append(pairs, fmt.Sprintf("[%s, %s]", quote(t.names[a]), quote(t.names[b])))
		}
	}
	if len(pairs) == 0 {
		return
	}
	gbps, cpu := between(w.m.cpu, w.m.cpuModel)
	if w.m.cpu == "" {
		w.m.note("the makers of the processors are not in the text: taken for Intel's; --cpu says what they are")
	}
	w.table("[[node.link]]", []string{"pairs", "[" + strings.Join(pairs, ", ") + "]", "kind", quote("host"), "bandwidth", quote(fmt.Sprintf("%d GB/s", gbps)),
		"latency", quote(hostLatency)}, sources("bandwidth", "inferred: what NCCL counts between processors of "+cpu+" (topo.h)", "latency", "inferred: that of l40s-4"))
}

// hung writes the NICs at their places in the PCIe tree.
func (w *writer) hung(t *tree) {
	m := w.m
	for i := 0; i < len(m.nics); {
		var at []string
		j := i
		for ; j < len(m.nics) && m.nics[j].bandwidth == m.nics[i].bandwidth && m.nics[j].guess == m.nics[i].guess; j++ {
			p, _ := t.above(m.nics[j].up, 0)
			at = append(at, quote(t.names[p]))
		}
		w.table("[[node.nic]]", []string{"at", "[" + strings.Join(at, ", ") + "]", "bandwidth", rate(m.nics[i].bandwidth), "latency", quote(nicLatency),
			"message", quote(m.message())}, w.nicSources(m.nics[i:j], false))
		i = j
	}
}

// tree is the PCIe tree reduced to what matters for bandwidth: switches that join
// fewer than two things are left out.
type tree struct {
	places []*place // processors and remaining switches
	roots  []*place
	names  map[*place]string
}

func (m *machine) tree() *tree {
	children := map[*place]int{} // how many devices or places hang directly below a place
	seen := map[*place]bool{}
	var order []*place
	for _, d := range slices.Concat(m.gpus, m.nics) {
		children[d.up]++
		for p := d.up; p != nil && !seen[p]; p = p.up {
			seen[p] = true
			order = append(order, p)
			if p.up != nil {
				children[p.up]++
			}
		}
	}
	t := &tree{names: map[*place]string{}}
	used := map[string]bool{}
	for _, p := range order {
		switch {
		case p.up == nil:
			name := "cpu " + strings.Trim(quote(p.number), `"`)
			for i := 0; len(name) > 20 || used[name] || name == "cpu "; i++ {
				name = fmt.Sprintf("cpu %d", i)
			}
			used[name] = true
			t.names[p] = name
			t.roots = append(t.roots, p)
		case children[p] > 1:
			t.names[p] = fmt.Sprintf("pcie %d", len(t.places)-len(t.roots))
		default:
			continue
		}
		t.places = append(t.places, p)
	}
	return t
}

// above climbs from p to the first place that the tree kept. It also returns the
// least bandwidth on the way, starting from b; 0 means unknown.
func (t *tree) above(p *place, b units.Bandwidth) (*place, units.Bandwidth) {
	for t.names[p] == "" {
		if p.bandwidth > 0 && (b == 0 || p.bandwidth < b) {
			b = p.bandwidth
		}
		p = p.up
	}
	return p, b
}
