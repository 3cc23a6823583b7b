package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// maxDevices limits the GPUs, and the NICs, of one node.
const maxDevices = 256

// machine is one node as its text describes it; complete fills in the rest.
type machine struct {
	file, format string

	model  *model
	sms    int // per GPU; taken from the model where the text does not say
	gpus   []device
	nics   []device
	links  map[[2]int]int // physical links from one GPU to another
	hub    []int          // links of each GPU to NVSwitches; nil if there are none
	host   []int          // links of each GPU to its processor; nil if there are none
	joined bool           // the text lists the GPUs' links, so what it does not list does not exist

	cpu      string // intel, amd, arm or power; empty if unknown
	cpuModel int

	notes     []string
	inferred  bool // links come from the model's usual machine, not from the text
	uncounted bool // the text says which GPUs are linked, but not by how many links
	asked     bool // NIC bandwidth comes from --nic
}

// device is a GPU or a NIC, with its position in the PCIe tree.
type device struct {
	id        string
	up        *place
	pcie      units.Bandwidth // of its link upwards; 0 if unknown
	bandwidth units.Bandwidth // of a NIC's network side; 0 if unknown
	from      string          // what gave the bandwidth, if not the text itself
	guess     string          // what the bandwidth was inferred from; empty if it was not
	serves    []int           // GPUs of a NIC that --nic added; nil for NICs of the text
	ib        bool            // InfiniBand, by its PCI class or its ports' link layer
}

func (d device) name() string { return d.id }

// place is an inner vertex of the PCIe tree: a PCIe switch, or a processor at a
// root.
type place struct {
	up        *place          // nil for a processor
	number    string          // NUMA node, for a processor
	bandwidth units.Bandwidth // of the link upwards; 0 if unknown
}

// processor returns the root above a place.
func (p *place) processor() *place {
	for p.up != nil {
		p = p.up
	}
	return p
}

// note records something that was inferred or left out, without repeating itself.
func (m *machine) note(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(m.notes, s) {
		m.notes = append(m.notes, s)
	}
}

// complete infers properties that the text lacks, or returns an error that
// names the option to supply them.
func (m *machine) complete(o Options) error {
	if len(m.gpus) == 0 {
		return fmt.Errorf("no GPUs in it")
	}
	if err := m.chooseModel(o.GPU); err != nil {
		return err
	}
	if err := m.inferLinks(); err != nil {
		return err
	}
	m.switched()
	if o.CPU != "" {
		m.cpu, m.cpuModel = o.CPU, 0
	}
	return m.chooseNICs(o)
}

func (m *machine) chooseModel(asked string) error {
	if asked != "" {
		chosen := modelNamed(asked)
		if chosen == nil {
			return fmt.Errorf("unknown GPU %q%s: want --gpu with one of %s", asked, suggest.DidYouMean(strings.ToLower(asked), ModelNames()), strings.Join(ModelNames(), ", "))
		}
		if m.model != nil && m.model.runtime() != chosen.runtime() {
			return fmt.Errorf("its GPUs are %s, not %s: want --gpu of the same maker, or none", m.model.name, chosen.name)
		}
		if m.model != nil && m.model != chosen {
			m.note("GPUs look like %s; taken for %s, as asked", m.model.name, chosen.name)
		}
		m.model = chosen
	}
	if m.model == nil {
		return fmt.Errorf("it does not say what GPUs these are: want --gpu with one of %s", strings.Join(ModelNames(), ", "))
	}
	if m.model.speed == "" && (len(m.links) > 0 || slices.Max(append([]int{0}, m.hub...)) > 0) {
		return fmt.Errorf("its GPUs are joined by links of their own, which %s has not: want --gpu with one that has", m.model.name)
	}
	if m.sms == 0 {
		m.sms = m.model.sms
	}
	return nil
}

// inferLinks assumes the links of the model's standard machine where the text says
// nothing about links.
func (m *machine) inferLinks() error {
	if m.joined || m.model.link == topologies.PCIe || len(m.gpus) == 1 {
		return nil
	}
	i := slices.IndexFunc(shapes, func(s shape) bool { return s.model == m.model.name && s.gpus == len(m.gpus) })
	switch {
	case i < 0 && m.model.name == "a100-pcie":
		return nil
	case i < 0:
		return fmt.Errorf("it does not say how its %d %s are joined, and there is no one way they are: want NCCL's own dump (NCCL_TOPO_DUMP_FILE), or the text of nvidia-smi topo -m",
			len(m.gpus), m.model.name)
	}
	s := shapes[i]
	m.inferred = true
	if s.hub > 0 {
		m.hub = make([]int, len(m.gpus))
		for g := range m.hub {
			m.hub[g] = s.hub
		}
		m.note("links inferred: %d %s are joined by switches, %d links a GPU", s.gpus, s.model, s.hub)
		return nil
	}
	m.links = map[[2]int]int{}
	for a := range m.gpus {
		for b := range m.gpus {
			if a != b {
				m.links[[2]int{a, b}] = s.mesh
			}
		}
	}
	m.note("links inferred: every two of %d %s are joined by %d", s.gpus, s.model, s.mesh)
	return nil
}

// slowest is the bandwidth below which a NIC is assumed to carry no
// collectives.
const slowest units.Bandwidth = 10e9 / 8

func (m *machine) chooseNICs(o Options) error {
	if o.NIC.None {
		if len(m.nics) > 0 {
			m.note("%d NICs left out, as asked", len(m.nics))
		}
		m.nics = nil
	}
	if len(o.HCA.names) > 0 {
		if err := m.only(o.HCA); err != nil {
			return err
		}
	}
	if len(o.IBStat) > 0 && !o.NIC.None {
		if err := m.rated(o.IBStat); err != nil {
			return err
		}
	}
	m.leaveOut(" as slower than 10 Gb/s", func(d device) bool { return d.bandwidth > 0 && d.bandwidth < slowest })
	if o.NIC.Bandwidth > 0 {
		if o.NIC.Count > 0 && o.NIC.Count != len(m.nics) || len(m.nics) == 0 {
			m.placeNICs(max(o.NIC.Count, 0), o.NIC.Bandwidth)
		}
		for i := range m.nics {
			m.nics[i].bandwidth = o.NIC.Bandwidth
		}
		m.asked = true
	}
	for _, d := range m.nics {
		if d.bandwidth == 0 {
			return fmt.Errorf("it does not say how fast NIC %s is: want --nic with a bandwidth such as 25GB/s, or none to leave NICs out, or --ibstat with what ibstat prints", d.id)
		}
	}
	m.noteApart()
	if o.Nodes > 1 && len(m.nics) == 0 {
		return fmt.Errorf("%d nodes and no NIC between them: want --nic with a bandwidth such as 25GB/s, or 4x25GB/s for four a node", o.Nodes)
	}
	return nil
}

// leaveOut drops the NICs that are out, and notes them.
func (m *machine) leaveOut(why string, out func(device) bool) {
	var left []string
	m.nics = slices.DeleteFunc(m.nics, func(d device) bool {
		if out(d) {
			left = append(left, d.id)
			return true
		}
		return false
	})
	if len(left) > 0 {
		m.note("left out%s: %s", why, some(left))
	}
}

// placeNICs replaces the NICs by count new ones, or one for each GPU if count is
// 0, and divides the GPUs among them in order.
func (m *machine) placeNICs(count int, bandwidth units.Bandwidth) {
	if len(m.nics) > 0 {
		m.note("%d NICs of the file replaced by %d, as asked", len(m.nics), count)
	}
	if count == 0 {
		count = len(m.gpus)
	}
	m.nics = nil
	n := len(m.gpus)
	for i := range count {
		first, last := i*n/count, max((i+1)*n/count, i*n/count+1)
		d := device{id: fmt.Sprintf("nic%d", i), up: m.gpus[first].up, bandwidth: bandwidth}
		for g := first; g < last; g++ {
			d.serves = append(d.serves, g)
		}
		m.nics = append(m.nics, d)
	}
	m.note("NICs as asked for; which GPUs they serve is inferred from the order")
}

// linked reports whether direct links and switches connect all GPUs, without PCIe.
func (m *machine) linked() bool {
	group := apart(len(m.gpus) + 1) // the last is the switch
	for p := range m.links {
		merge(group, p[0], p[1])
	}
	for g, c := range m.hub {
		if c > 0 {
			merge(group, g, len(m.gpus))
		}
	}
	return !slices.ContainsFunc(group[:len(m.gpus)], func(of int) bool { return of != group[0] })
}

// some lists names, abbreviated if there are many.
func some(names []string) string {
	if len(names) > 4 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// serving is a NIC and the GPUs that it is nearest to.
type serving struct {
	nic  int
	gpus []int
}

// servings assigns GPUs to NICs: each NIC serves the GPUs below the lowest place
// that has both, and NICs at the same place divide its GPUs. far lists the GPUs
// that no NIC serves.
func (m *machine) servings() (all []serving, far []int) {
	for i, d := range m.nics {
		if d.serves != nil {
			all = append(all, serving{i, d.serves})
		}
	}
	for _, s := range m.spots() {
		if n, g := len(s.nics), len(s.gpus); n > 1 {
			m.note("%d GPUs and %d NICs are equally near: which serves which is inferred from their order", g, n)
		}
		all = append(all, s.divided()...)
	}
	slices.SortFunc(all, func(a, b serving) int { return a.nic - b.nic })
	near := make([]bool, len(m.gpus))
	for _, s := range all {
		for _, g := range s.gpus {
			near[g] = true
		}
	}
	for g, ok := range near {
		if !ok && len(all) > 0 {
			far = append(far, g)
		}
	}
	return all, far
}

// spot is a place in the PCIe tree with its GPUs and the NICs for which it is the
// lowest place with any GPU.
type spot struct {
	at         *place // nil: the whole machine
	nics, gpus []int
}

// spots groups the NICs by the lowest place above them that has GPUs. NICs whose
// GPUs the user has given are left out.
func (m *machine) spots() (spots []spot) {
	below := map[*place][]int{}
	for g, d := range m.gpus {
		below[nil] = append(below[nil], g)
		for p := d.up; p != nil; p = p.up {
			below[p] = append(below[p], g)
		}
	}
	for i, d := range m.nics {
		if d.serves != nil {
			continue
		}
		at := d.up
		for at != nil && len(below[at]) == 0 {
			at = at.up
		}
		s := slices.IndexFunc(spots, func(s spot) bool { return s.at == at })
		if s < 0 {
			s = len(spots)
			spots = append(spots, spot{at: at, gpus: below[at]})
		}
		spots[s].nics = append(spots[s].nics, i)
	}
	return spots
}

// divided splits a spot's GPUs among its NICs in order, or where there are more NICs these among
// the GPUs, as evenly as numbers allow: messages take one way, so NICs that all GPUs shared would
// stand idle but for the first.
func (s spot) divided() (all []serving) {
	n, g := len(s.nics), len(s.gpus)
	for i, nic := range s.nics {
		all = append(all, serving{nic, s.gpus[i*g/n : max((i+1)*g/n, i*g/n+1)]})
	}
	return all
}
