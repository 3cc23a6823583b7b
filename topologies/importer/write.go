package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
)

// Values that no text gives: those of the catalogue, from the topology named.
const (
	pcieLatency = "0.5 us" // l40s-4
	hostLatency = "0.5 us"
	nicLatency  = "0.7 us" // dgx-a100
	nicMessage  = "1 us"
	newMessage  = "0.25 us" // dgx-h100
	fabLatency  = "1.3 us"
	farLatency  = "1.7 us" // ndv2, between processors
)

// write writes the file. Names that TOML cannot express have been rejected
// before.
func (m *machine) write(o Options) []byte {
	w := &writer{m: m}
	body := &writer{m: m} // written first, because it adds notes, which go at the top of the file
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
		var named []string
		source := "inferred to join all nodes alike, as dgx-a100, not measured on this system"
		if !slices.ContainsFunc(m.nics, func(d device) bool { return !d.ib }) {
			named, source = []string{"name", quote("infiniband")}, "all NICs are InfiniBand; "+source
		}
		body.table("[fabric]", append(named, "latency", quote(fabLatency), "source", quote(source)), nil)
	}
	body.table("[protocol]", []string{"like", quote(m.model.like), "source", quote("as " + m.model.like + ": not measured on this system")}, nil)

	w.linef("# Imported from %s (%s).", strings.Trim(quote(m.file), `"`), m.format)
	for _, n := range m.notes {
		w.linef("# - %s", strings.Trim(quote(n), `"`))
	}
	w.table("", []string{"name", quote(m.name(o)), "nodes", fmt.Sprint(max(o.Nodes, 1)), "runtime", quote(m.model.runtime()), "arch", quote(m.model.arch)}, nil)
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
	w.table("[node]", pairs, from)
}

// linkSources returns the sources of the number of links and of their speed.
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

// switches writes the NVSwitches as one switch. The format gives all GPUs of a
// [[node.switch]] the same number of links, so GPUs with fewer get tables of their
// own.
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
	w.table("[[node.switch]]", []string{"name", quote("nvswitch"), "gpus", "[" + numbers(gpus) + "]", "kind", quote("nvlink"),
		"count", fmt.Sprint(most), "bandwidth", quote(m.model.speed), "latency", quote(cmp.Or(m.model.hop, m.model.direct))}, w.linkSources())
	for g, c := range m.hub {
		if c > 0 && c < most {
			w.table("[[node.link]]", []string{"pairs", fmt.Sprintf(`[[%d, "nvswitch"]]`, g), "kind", quote("nvlink"),
				"count", fmt.Sprint(c), "bandwidth", quote(m.model.speed), "latency", quote(cmp.Or(m.model.hop, m.model.direct))}, w.linkSources())
		}
	}
}

// links writes the direct links between GPUs: one table for each count, and
// separate ones for links that exist in one direction only.
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
			pairs := lists.Map(group[c], func(p [2]int) string { return fmt.Sprintf("[%d, %d]", p[0], p[1]) })
			keys := []string{"pairs", "[" + strings.Join(pairs, ", ") + "]", "kind", quote(kind.String()), "count", fmt.Sprint(c),
				"bandwidth", quote(speed), "latency", quote(latency)}
			if i == 1 {
				keys = append(keys, "one_way", "true")
			}
			w.table("[[node.link]]", keys, w.linkSources())
		}
	}
}

// nics writes the NICs of a machine whose GPUs reach each other without PCIe:
// which GPUs each serves, and how the others reach it.
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
				break // each needs a table of far GPUs of its own
			}
			groups = append(groups, "["+numbers(all[j].gpus)+"]")
			nics = append(nics, m.nics[all[j].nic])
		}
		keys := []string{"serves", "[" + strings.Join(groups, ", ") + "]", "bandwidth", rate(bandwidth)}
		if bus < bandwidth {
			keys = append(keys, "bus", rate(bus))
		}
		keys = append(keys, "latency", quote(nicLatency), "message", quote(m.message()))
		w.table("[[node.nic]]", keys, w.nicSources(nics, bus < bandwidth))
		w.far(m.nics[all[i].nic], far, bus)
		i = j
	}
}

// far writes the GPUs that a NIC does not serve: those below the same processor,
// and those that also have to cross between processors.
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
			w.table("[[node.nic.far]]", []string{"gpus", "[[" + numbers(side.gpus) + "]]", "bandwidth", rate(side.bandwidth),
				"latency", quote(farLatency)}, sources("bandwidth", side.source, "latency", "inferred: that of ndv2"))
		}
	}
}

// nicSources returns the sources of the NICs' bandwidth and latencies.
func (w *writer) nicSources(nics []device, bus bool) []string {
	names := lists.Map(nics, device.name)
	speed := w.m.file + ", " + some(names)
	if from := nics[0].from; from != "" {
		speed = from + ", " + some(names)
	}
	if w.m.asked {
		speed = "as asked with --nic"
	} else if guess := nics[0].guess; guess != "" {
		speed = "inferred: " + guess
	}
	all := sources("bandwidth", speed)
	if bus {
		all = append(all, sources("bus", w.m.file+", as NCCL counts PCIe")...)
	}
	from := "dgx-a100"
	if w.m.message() == newMessage {
		from = "dgx-h100"
	}
	return append(all, sources("latency", "inferred: that of dgx-a100", "message", "inferred: that of "+from)...)
}

// message is the time that a message occupies a NIC: that of the NICs which GPUs of NVIDIA's came with,
// from Hopper on.
func (m *machine) message() string {
	if m.model.arch == "hopper" || m.model.arch == "blackwell" {
		return newMessage
	}
	return nicMessage
}

// bus returns the bandwidth between GPUs and a NIC. PCIe limits it only where it is
// clearly slower than the NIC: NCCL's figures for PCIe are about three quarters of
// the line rate.
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
