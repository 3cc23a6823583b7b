package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// What the catalogue has for the same, and where it has it.
const (
	pcieLatency = "0.5 us" // l40s-4
	hostLatency = "0.5 us"
	nicLatency  = "0.7 us" // dgx-a100
	nicMessage  = "1 us"
	fabLatency  = "1.3 us"
	farLatency  = "1.7 us" // ndv2: the processors' way
)

// writer collects lines of TOML.
type writer struct {
	strings.Builder
	m *machine
}

func (w *writer) linef(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// table begins a table and writes its keys, aligned: name, value, name, value.
// Names that begin with sourceOf go into the table of its sources.
func (w *writer) table(header string, pairs ...string) {
	if header != "" {
		w.linef("\n%s", header)
	}
	var own, sources []string
	for i := 0; i < len(pairs); i += 2 {
		if of, ok := strings.CutPrefix(pairs[i], sourceOf); ok {
			sources = append(sources, of, pairs[i+1])
		} else {
			own = append(own, pairs[i:i+2]...)
		}
	}
	w.aligned(own)
	if len(sources) > 0 {
		w.linef("\n[%s.source]", strings.Trim(header, "[]"))
		w.aligned(sources)
	}
}

func (w *writer) aligned(pairs []string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, len(pairs[i]))
	}
	for i := 0; i < len(pairs); i += 2 {
		w.linef("%-*s = %s", width, pairs[i], pairs[i+1])
	}
}

// sourceOf begins the name of a source of one key.
const sourceOf = "source."

// sources are the names and values of sources: key, text, key, text.
func sources(pairs ...string) (all []string) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, sourceOf+pairs[i], quote(pairs[i+1]))
	}
	return all
}

// quote is a TOML string; what does not belong in one is left out.
func quote(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '"' || r == '\\' || r == 0xfffd {
			return -1
		}
		return r
	}, s)
	if len(clean) > 300 {
		clean = strings.ToValidUTF8(clean[:300], "")
	}
	return `"` + clean + `"`
}

// rate is a bandwidth as files have it: whole bytes a second where GB/s would
// not be exact in a few digits.
func rate(w units.Bandwidth) string {
	if s := w.String(); len(s) <= 14 && !strings.Contains(s, "e") {
		return quote(s)
	}
	return quote(fmt.Sprintf("%d B/s", int64(w)))
}

func numbers(all []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ", ")
}

// write makes the file. What it cannot say in TOML has been refused before.
func (m *machine) write(o Options) []byte {
	w := &writer{m: m}
	body := &writer{m: m} // first, as it notes more
	body.node()
	switch {
	case len(m.gpus) == 1:
		body.nics()
	case m.linked():
		if m.host != nil {
			m.note("left out: NVLinks to processors, as GPUs reach each other without")
		}
		body.switches()
		body.links()
		body.nics()
	default:
		body.pcie()
	}
	if len(m.nics) > 0 {
		body.table("[fabric]", "latency", quote(fabLatency), "source", quote("inferred to join all nodes alike, as dgx-a100, not measured on this system"))
	}
	body.table("[protocol]", "like", quote(m.model.like), "source", quote("as "+m.model.like+": not measured on this system"))

	w.linef("# Imported from %s (%s).", strings.Trim(quote(m.file), `"`), m.format)
	for _, n := range m.notes {
		w.linef("# - %s", strings.Trim(quote(n), `"`))
	}
	w.table("", "name", quote(m.name(o)), "nodes", fmt.Sprint(max(o.Nodes, 1)), "runtime", quote(m.model.runtime()), "arch", quote(m.model.arch))
	w.WriteString(body.String())
	return []byte(w.String())
}

func (w *writer) node() {
	m := w.m
	pairs := []string{"gpus", fmt.Sprint(len(m.gpus)), "sms", fmt.Sprint(m.sms), "memory", quote(m.model.memory)}
	sheet := "data sheet of " + m.model.name
	from := sources("gpus", m.file, "sms", sheet, "memory", sheet)
	if m.sms != m.model.sms {
		from = sources("gpus", m.file, "sms", m.file, "memory", sheet)
	}
	if m.cpu != "" {
		pairs = append(pairs, "cpu", quote(m.cpu))
	}
	w.table("[node]", append(pairs, from...)...)
}

// linkSources say where a count of links is from, and what a link carries.
func (w *writer) linkSources() []string {
	m := w.m
	count := m.file
	switch {
	case m.inferred:
		count = fmt.Sprintf("inferred: %d %s are joined so", len(m.gpus), m.model.name)
	case m.uncounted:
		count = "inferred: one each"
	}
	return sources("count", count, "bandwidth", "a link of "+m.model.name+", as the catalogue has it", "latency", "inferred: that of "+m.model.name)
}

// switches writes the NVSwitch, as one: GPUs of one number of links each have a
// table, but one switch may only have one.
func (w *writer) switches() {
	m := w.m
	if m.hub == nil {
		return
	}
	most := slices.Max(m.hub)
	var gpus []int
	for g, c := range m.hub {
		if c == most {
			gpus = append(gpus, g)
		}
	}
	w.table("[[node.switch]]", append([]string{"name", quote("nvswitch"), "gpus", "[" + numbers(gpus) + "]", "kind", quote("nvlink"),
		"count", fmt.Sprint(most), "bandwidth", quote(m.model.speed), "latency", quote(cmp.Or(m.model.hop, m.model.direct))}, w.linkSources()...)...)
	for g, c := range m.hub {
		if c > 0 && c < most {
			w.table("[[node.link]]", append([]string{"pairs", fmt.Sprintf(`[[%d, "nvswitch"]]`, g), "kind", quote("nvlink"),
				"count", fmt.Sprint(c), "bandwidth", quote(m.model.speed), "latency", quote(cmp.Or(m.model.hop, m.model.direct))}, w.linkSources()...)...)
		}
	}
}

// links writes GPUs' direct links, a table for each count, and for those that
// are only there one way.
func (w *writer) links() {
	m := w.m
	both, single := map[int][][2]int{}, map[int][][2]int{}
	for _, p := range slices.SortedFunc(maps.Keys(m.links), func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) }) {
		c := m.links[p]
		switch back := m.links[[2]int{p[1], p[0]}]; {
		case back != c:
			single[c] = append(single[c], p)
		case p[0] < p[1]:
			both[c] = append(both[c], p)
		}
	}
	kind, speed, latency := m.model.link, m.model.speed, m.model.direct
	for i, group := range []map[int][][2]int{both, single} {
		counts := slices.Sorted(maps.Keys(group))
		slices.Reverse(counts)
		for _, c := range counts {
			var pairs []string
			for _, p := range group[c] {
				pairs = append(pairs, fmt.Sprintf("[%d, %d]", p[0], p[1]))
			}
			keys := []string{"pairs", "[" + strings.Join(pairs, ", ") + "]", "kind", quote(kind.String()), "count", fmt.Sprint(c),
				"bandwidth", quote(speed), "latency", quote(latency)}
			if i == 1 {
				keys = append(keys, "one_way", "true")
			}
			w.table("[[node.link]]", append(keys, w.linkSources()...)...)
		}
	}
}

// nics writes the NICs of GPUs that reach each other without PCIe: which GPUs
// each serves, and the others from afar.
func (w *writer) nics() {
	m := w.m
	all, far := m.servings()
	for i := 0; i < len(all); {
		j := i
		bandwidth, bus := m.nics[all[i].nic].bandwidth, m.bus(all[i])
		var groups []string
		var nics []device
		for ; j < len(all) && m.nics[all[j].nic].bandwidth == bandwidth && m.nics[all[j].nic].guess == m.nics[all[i].nic].guess && m.bus(all[j]) == bus; j++ {
			if len(far) > 0 && j > i {
				break // each has a far side of its own
			}
			groups = append(groups, "["+numbers(all[j].gpus)+"]")
			nics = append(nics, m.nics[all[j].nic])
		}
		keys := []string{"serves", "[" + strings.Join(groups, ", ") + "]", "bandwidth", rate(bandwidth)}
		if bus < bandwidth {
			keys = append(keys, "bus", rate(bus))
		}
		keys = append(keys, "latency", quote(nicLatency), "message", quote(nicMessage))
		w.table("[[node.nic]]", append(keys, w.nicSources(nics, bus < bandwidth)...)...)
		w.far(m.nics[all[i].nic], far, bus)
		i = j
	}
}

// far writes the GPUs that reach a NIC through its processor, and those that
// reach it through theirs and its.
func (w *writer) far(nic device, gpus []int, bus units.Bandwidth) {
	m := w.m
	var same, other []int
	for _, g := range gpus {
		if nic.up != nil && m.gpus[g].up.processor() == nic.up.processor() {
			same = append(same, g)
		} else {
			other = append(other, g)
		}
	}
	gbps, _ := between(m.cpu, m.cpuModel)
	for _, side := range []struct {
		gpus      []int
		bandwidth units.Bandwidth
		source    string
	}{
		{same, bus, "inferred: through the processor"},
		{other, min(bus, units.Bandwidth(gbps)*1e9), "inferred: between processors, as NCCL counts it"},
	} {
		if len(side.gpus) > 0 {
			w.table("[[node.nic.far]]", append([]string{"gpus", "[[" + numbers(side.gpus) + "]]", "bandwidth", rate(side.bandwidth),
				"latency", quote(farLatency)}, sources("bandwidth", side.source, "latency", "inferred: that of ndv2")...)...)
		}
	}
}

// nicSources say where what is told of these NICs is from, and the way to them.
func (w *writer) nicSources(nics []device, bus bool) []string {
	var names []string
	for _, d := range nics {
		names = append(names, d.id)
	}
	speed := w.m.file + ", " + some(names)
	if w.m.asked {
		speed = "as asked with --nic"
	} else if guess := nics[0].guess; guess != "" {
		speed = "inferred: " + guess
	}
	all := sources("bandwidth", speed)
	if bus {
		all = append(all, sources("bus", w.m.file+", as NCCL counts PCIe")...)
	}
	return append(all, sources("latency", "inferred: that of dgx-a100", "message", "inferred: that of dgx-a100")...)
}

// bus is what a GPU's way to a NIC carries where PCIe is clearly less than the
// NIC; NCCL's figures for PCIe are about three quarters of the line rate.
func (m *machine) bus(s serving) units.Bandwidth {
	nic := m.nics[s.nic]
	bus := nic.bandwidth
	note := func(w units.Bandwidth) {
		if w > 0 && w*4/3 < nic.bandwidth {
			bus = min(bus, w)
		}
	}
	note(nic.pcie)
	for _, g := range s.gpus {
		note(m.gpus[g].pcie)
	}
	return bus
}

// pcie writes a machine whose GPUs reach each other over PCIe: switches that
// join two things or more, processors, and what is between these.
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
		w.table("[[node.switch]]", "name", quote(t.names[p]), "source", quote(m.file))
	}
	for _, p := range t.places {
		var pairs []string
		var last units.Bandwidth
		flush := func() {
			if len(pairs) > 0 {
				b, source := known(last)
				w.table("[[node.link]]", append([]string{"pairs", "[" + strings.Join(pairs, ", ") + "]", "kind", quote("pcie"),
					"bandwidth", rate(b), "latency", quote(pcieLatency)}, sources("bandwidth", source, "latency", "inferred: that of l40s-4")...)...)
			}
			pairs = nil
		}
		add := func(from string, b units.Bandwidth) {
			if b != last {
				flush()
			}
			last = b
			pairs = append(pairs, fmt.Sprintf("[%s, %s]", from, quote(t.names[p])))
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
		flush()
	}
	w.processors(t)
	w.hosted(t)
	w.switches()
	w.links()
	w.hung(t)
}

// hosted writes GPUs joined to their processor by NVLinks.
func (w *writer) hosted(t *tree) {
	m := w.m
	for g, c := range m.host {
		if c > 0 {
			w.table("[[node.link]]", append([]string{"pairs", fmt.Sprintf("[[%d, %s]]", g, quote(t.names[m.gpus[g].up.processor()])), "kind", quote("nvlink"),
				"count", fmt.Sprint(c), "bandwidth", quote(m.model.speed), "latency", quote(m.model.direct)}, w.linkSources()...)...)
		}
	}
}

// processors joins every two of them, as NCCL does.
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
	w.table("[[node.link]]", append([]string{"pairs", "[" + strings.Join(pairs, ", ") + "]", "kind", quote("host"), "bandwidth", quote(fmt.Sprintf("%d GB/s", gbps)),
		"latency", quote(hostLatency)}, sources("bandwidth", "inferred: what NCCL counts between processors of "+cpu+" (topo.h)", "latency", "inferred: that of l40s-4")...)...)
}

// hung writes NICs where they hang.
func (w *writer) hung(t *tree) {
	m := w.m
	for i := 0; i < len(m.nics); {
		var at []string
		j := i
		for ; j < len(m.nics) && m.nics[j].bandwidth == m.nics[i].bandwidth && m.nics[j].guess == m.nics[i].guess; j++ {
			p, _ := t.above(m.nics[j].up, 0)
			at = append(at, quote(t.names[p]))
		}
		w.table("[[node.nic]]", append([]string{"at", "[" + strings.Join(at, ", ") + "]", "bandwidth", rate(m.nics[i].bandwidth), "latency", quote(nicLatency),
			"message", quote(nicMessage)}, w.nicSources(m.nics[i:j], false)...)...)
		i = j
	}
}

// tree is the PCIe tree with nothing in it that joins less than two things.
type tree struct {
	places []*place // that stay: processors, and switches that join something
	roots  []*place
	names  map[*place]string
}

func (m *machine) tree() *tree {
	children := map[*place]int{} // with devices below
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

// above is the place that stays, from p up, and what the way to it carries: 0
// where nothing tells.
func (t *tree) above(p *place, b units.Bandwidth) (*place, units.Bandwidth) {
	for t.names[p] == "" {
		if p.bandwidth > 0 && (b == 0 || p.bandwidth < b) {
			b = p.bandwidth
		}
		p = p.up
	}
	return p, b
}
