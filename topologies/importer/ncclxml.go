package importer

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// The largest XML read.
const (
	maxElements = 100_000
	maxDepth    = 64
)

// element is an XML element with its attributes; text is of no use here.
type element struct {
	name     string
	line     int
	attrs    map[string]string
	children []*element
}

func (e *element) get(name string) string { return e.attrs[name] }

// fail is an error at the element's line.
func (e *element) fail(format string, args ...any) error {
	return fmt.Errorf("line %d: <%s>: %s", e.line, e.name, fmt.Sprintf(format, args...))
}

// whole is an attribute's number; ok is false where there is none, and the
// error says that it is none.
func (e *element) whole(name string, lo, hi int) (n int, ok bool, err error) {
	s, ok := e.attrs[name]
	if !ok || strings.TrimSpace(s) == "" {
		return 0, false, nil
	}
	v, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	if err != nil || v < int64(lo) || v > int64(hi) {
		return 0, false, e.fail("%s=%q: want a whole number from %d to %d", name, cut(s), lo, hi)
	}
	return int(v), true, nil
}

func cut(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// parseXML reads the one element of a text. Entities and directives have no
// place in NCCL's files.
func parseXML(text []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Entity = map[string]string{}
	var root *element
	var open []*element
	count := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := d.InputPos()
		if err != nil {
			return nil, fmt.Errorf("line %d: not XML: %w", line, err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			count++
			switch {
			case count > maxElements:
				return nil, fmt.Errorf("line %d: more than %d elements", line, maxElements)
			case len(open) >= maxDepth:
				return nil, fmt.Errorf("line %d: elements nested more than %d deep", line, maxDepth)
			case len(open) == 0 && root != nil:
				return nil, fmt.Errorf("line %d: <%s> after the end of <%s>", line, cut(x.Name.Local), cut(root.name))
			}
			e := &element{name: x.Name.Local, line: line, attrs: make(map[string]string, len(x.Attr))}
			for _, a := range x.Attr {
				if _, twice := e.attrs[a.Name.Local]; !twice {
					e.attrs[a.Name.Local] = a.Value
				}
			}
			if len(open) == 0 {
				root = e
			} else {
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	if root == nil {
		return nil, fmt.Errorf("no element in it")
	}
	return root, nil
}

// gpuElement is a GPU as the file has it.
type gpuElement struct {
	device
	pci, gpu *element // gpu is nil for a bare PCI device
	order    int      // its rank, or its place by bus number
}

// dump is a topology dump on its way to a machine.
type dump struct {
	m    *machine
	gpus []gpuElement
	// what was left out, or taken for something
	unranked, classless, virtual, unused, adapters, speedless []string
	nets                                                      map[string]bool // names seen: virtual interfaces are there once a processor
}

// readXML reads a dump of NCCL (version 1) or RCCL (version 2).
func readXML(_ string, text []byte, m *machine) error {
	root, err := parseXML(text)
	if err != nil {
		return err
	}
	switch root.name {
	case "system":
	case "graphs":
		return errors.New("this is a graph file (NCCL_GRAPH_FILE: the rings and trees NCCL found), not a topology: want the file that NCCL_TOPO_DUMP_FILE names")
	case "algo":
		return errors.New("this is an MSCCL algorithm, not a topology: colltune verify reads it")
	default:
		return root.fail("want <system>, the root of NCCL's topology dumps")
	}
	if v := root.get("version"); v != "1" && v != "2" {
		return root.fail("version %q: want 1 (NCCL) or 2 (RCCL)", cut(v))
	}
	d := &dump{m: m, nets: map[string]bool{}}
	hosts := map[string]bool{}
	for _, c := range root.children {
		if c.name != "cpu" {
			continue
		}
		hosts[c.get("host_hash")] = true
		if err := d.processor(c); err != nil {
			return err
		}
	}
	if len(hosts) > 1 {
		return fmt.Errorf("it describes %d machines: want the dump of one, and --nodes %d", len(hosts), len(hosts))
	}
	return d.finish()
}

func (d *dump) processor(c *element) error {
	p := &place{number: cmp.Or(c.get("numaid"), "0")}
	model, _, err := c.whole("modelid", -1<<31, 1<<31)
	if err != nil {
		return err
	}
	if d.m.cpu == "" {
		d.m.cpu, d.m.cpuModel = maker(c), model
	}
	for _, child := range c.children {
		switch child.name {
		case "pci":
			err = d.pci(child, p)
		case "nic":
			err = d.interfaces(child, p, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func maker(c *element) string {
	switch arch := c.get("arch"); {
	case arch == "arm64" || arch == "aarch64":
		return "arm"
	case strings.HasPrefix(arch, "ppc"):
		return "power"
	case c.get("vendor") == "AuthenticAMD":
		return "amd"
	case arch == "" && c.get("vendor") == "":
		return ""
	}
	return "intel"
}

// lanes are NCCL's figures for a lane of PCIe, in 100 Mb/s (graph/topo.cc);
// what is unknown counts as the third generation.
func lane(speed string) int {
	number, _, _ := strings.Cut(strings.TrimSpace(speed), " ")
	switch strings.TrimSuffix(number, ".0") {
	case "2.5":
		return 15
	case "5":
		return 30
	case "16":
		return 120
	case "32":
		return 240
	case "64":
		return 480
	}
	return 60
}

// pcie is a device's link upwards.
func pcie(e *element) (units.Bandwidth, error) {
	width, _, err := e.whole("link_width", 0, 64)
	if width == 0 {
		width = 16
	}
	return units.Bandwidth(width*lane(e.get("link_speed"))) * 1e9 / 80, err
}

func (e *element) child(name string) *element {
	for _, c := range e.children {
		if c.name == name {
			return c
		}
	}
	return nil
}

// pci sorts a PCI device by what is in it, or its class.
func (d *dump) pci(e *element, up *place) error {
	class := strings.ToLower(strings.TrimPrefix(e.get("class"), "0x"))
	bandwidth, err := pcie(e)
	if err != nil {
		return err
	}
	dev := device{id: strings.ToLower(e.get("busid")), up: up, pcie: bandwidth}
	switch gpu := e.child("gpu"); {
	case gpu != nil && gpu.get("rank") == "":
		d.unranked = append(d.unranked, dev.id)
	case gpu != nil:
		rank, _, err := gpu.whole("rank", 0, 1<<20)
		if err != nil {
			return err
		}
		d.gpus = append(d.gpus, gpuElement{device: dev, pci: e, gpu: gpu, order: rank})
	case e.child("nic") != nil:
		return d.interfaces(e.child("nic"), up, bandwidth)
	case strings.HasPrefix(class, "0604"), class == "080100", len(e.children) > 0:
		p := &place{up: up, bandwidth: bandwidth}
		for _, c := range e.children {
			if c.name == "pci" {
				if err := d.pci(c, p); err != nil {
					return err
				}
			}
		}
	case strings.HasPrefix(class, "03"), class == "120000":
		d.gpus = append(d.gpus, gpuElement{device: dev, pci: e})
	case strings.HasPrefix(class, "02"):
		if strings.EqualFold(e.get("vendor"), "0x1d0f") && strings.EqualFold(e.get("device"), "0xefa0") {
			dev.bandwidth, dev.guess = 100e9/8, "an Elastic Fabric Adapter of AWS's first generation"
			d.adapters = append(d.adapters, dev.id)
		}
		d.m.nics = append(d.m.nics, dev)
	case class == "":
		d.classless = append(d.classless, dev.id)
	}
	return nil
}

// virtual interfaces: what containers, bridges and tunnels make.
var virtualNames = []string{"lo", "veth", "br-", "docker", "virbr", "cali", "tunl", "cni", "flannel", "vxlan", "dummy", "tap", "tun", "kube", "lxc", "nerdctl", "podman"}

// interfaces takes those of a <nic>: of a PCI device, whose link pcie is, or
// of none, but for those that some container made.
func (d *dump) interfaces(nic *element, up *place, pcie units.Bandwidth) error {
	for _, net := range nic.children {
		if net.name != "net" {
			continue
		}
		name := cmp.Or(net.get("name"), "nic "+net.get("dev"))
		if d.nets[name] {
			continue
		}
		d.nets[name] = true
		if pcie == 0 && slices.ContainsFunc(virtualNames, func(v string) bool { return strings.HasPrefix(name, v) }) {
			d.virtual = append(d.virtual, name)
			continue
		}
		mbps, _, err := net.whole("speed", -1<<31, 100_000_000)
		if err != nil {
			return err
		}
		dev := device{id: name, up: up, pcie: pcie, bandwidth: units.Bandwidth(mbps) * 1e6 / 8}
		if mbps <= 0 {
			dev.bandwidth, dev.guess = 10e9/8, "as NCCL takes a NIC without a speed"
			d.speedless = append(d.speedless, name)
		}
		d.m.nics = append(d.m.nics, dev)
	}
	return nil
}

// finish orders the GPUs, joins them, and tells what was left out.
func (d *dump) finish() error {
	m := d.m
	whole := slices.ContainsFunc(d.gpus, func(g gpuElement) bool { return g.gpu != nil })
	if whole {
		d.gpus = slices.DeleteFunc(d.gpus, func(g gpuElement) bool {
			if g.gpu == nil {
				d.unused = append(d.unused, g.id)
			}
			return g.gpu == nil
		})
	}
	if len(d.gpus) == 0 {
		switch {
		case len(d.classless) > 0:
			return fmt.Errorf("its %d devices have no class, and so no telling which are GPUs: it is a file to help NCCL find its way, not a dump; on that machine, run with NCCL_TOPO_DUMP_FILE set, and import what it writes", len(d.classless))
		case len(d.unranked) > 0:
			return fmt.Errorf("its %d GPUs have no rank: NCCL was not using them when it wrote this", len(d.unranked))
		}
		return errors.New("no GPUs in it")
	}
	if whole {
		slices.SortStableFunc(d.gpus, func(a, b gpuElement) int { return cmp.Compare(a.order, b.order) })
	} else {
		slices.SortStableFunc(d.gpus, func(a, b gpuElement) int { return cmp.Compare(a.id, b.id) })
		slices.SortStableFunc(m.nics, func(a, b device) int { return cmp.Compare(a.id, b.id) })
		m.note("GPUs are numbered by bus, as CUDA does with CUDA_DEVICE_ORDER=PCI_BUS_ID; the file has no numbers")
	}
	if len(d.gpus) > maxDevices || len(m.nics) > maxDevices {
		return fmt.Errorf("%d GPUs and %d NICs: want at most %d of each", len(d.gpus), len(m.nics), maxDevices)
	}
	at := map[string]int{}
	for i, g := range d.gpus {
		if _, twice := at[g.id]; twice || g.id == "" {
			return g.pci.fail("busid %q: want one of its own for each GPU", cut(g.id))
		}
		at[g.id] = i
		m.gpus = append(m.gpus, g.device)
	}
	if err := d.models(); err != nil {
		return err
	}
	if whole {
		m.joined = true
		if err := d.join(at); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		names []string
		why   string
	}{
		{d.unranked, "GPUs without a rank, which NCCL ignores"},
		{d.unused, "GPUs that NCCL did not use"},
		{d.virtual, "virtual interfaces"},
		{d.classless, "devices without a class"},
	} {
		if len(l.names) > 0 {
			m.note("left out: %s: %s", l.why, some(l.names))
		}
	}
	if len(d.speedless) > 0 {
		m.note("the file has no speed of NICs %s: 10 Gb/s, as NCCL takes it", some(d.speedless))
	}
	if len(d.adapters) > 0 {
		m.note("NICs of %s are Elastic Fabric Adapters of AWS's first generation: 100 Gb/s, inferred", some(d.adapters))
	}
	return nil
}

// models finds out what the GPUs are, where the file tells.
func (d *dump) models() error {
	m := d.m
	for i, g := range d.gpus {
		found := modelOf(g.pci.get("vendor"), g.pci.get("device"))
		sms := 0
		if g.gpu != nil {
			sm, _, err := g.gpu.whole("sm", 0, 1<<16)
			if err != nil {
				return err
			}
			gcn := g.gpu.get("gcn")
			if gcn != "" {
				sms = sm // RCCL writes compute units where NCCL writes the capability
			}
			for _, row := range byGCN {
				if found == nil && row.gcn == gcn && (row.cus == 0 || row.cus == sm) {
					found = modelNamed(row.name)
					m.inferModel(i, found, fmt.Sprintf("%s with %d compute units", gcn, sm))
				}
			}
			if name, ok := byCapability[sm]; ok && found == nil && gcn == "" {
				found = modelNamed(name)
				m.inferModel(i, found, fmt.Sprintf("compute capability %d.%d", sm/10, sm%10))
			}
		}
		if i == 0 {
			m.model, m.sms = found, sms
		} else if found != m.model || sms != m.sms {
			return g.pci.fail("this GPU is not like the first: want machines of one kind of GPU")
		}
	}
	return nil
}

func (m *machine) inferModel(i int, found *model, from string) {
	if i == 0 {
		m.note("GPUs inferred to be %s, from %s", found.name, from)
	}
}

// join reads the NVLinks or xGMI links.
func (d *dump) join(at map[string]int) error {
	m := d.m
	m.links = map[[2]int]int{}
	own, strangers := 0, 0
	for i, g := range d.gpus {
		for _, l := range g.gpu.children {
			if l.name != "nvlink" && l.name != "xgmi" {
				continue
			}
			count, ok, err := l.whole("count", 1, 1024)
			if err != nil {
				return err
			}
			if !ok {
				count = 1
			}
			target := strings.ToLower(l.get("target"))
			class := strings.ToLower(l.get("tclass"))
			peer, known := at[target]
			switch {
			case known && peer == i:
				own++
			case known:
				m.links[[2]int{i, peer}] = min(m.links[[2]int{i, peer}]+count, 1024)
			case class == "0x068001":
				m.host = grown(m.host, len(m.gpus))
				m.host[i] = min(m.host[i]+count, 1024)
			case class == "0x068000" || strings.HasPrefix(target, "fffffff"):
				m.hub = grown(m.hub, len(m.gpus))
				m.hub[i] = min(m.hub[i]+count, 1024)
			default:
				strangers++
			}
		}
	}
	if own > 0 {
		m.note("left out: %d links of a GPU to itself", own)
	}
	if strangers > 0 {
		m.note("left out: %d links to devices that are not in the file, or that NCCL ignores", strangers)
	}
	for p, c := range m.links {
		if m.links[[2]int{p[1], p[0]}] != c {
			m.note("links are not alike both ways; they are written one way each")
			break
		}
	}
	return nil
}

func grown(s []int, n int) []int {
	if s == nil {
		s = make([]int, n)
	}
	return s
}
