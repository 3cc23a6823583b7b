package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// gpuElement is a GPU with the XML elements that describe it.
type gpuElement struct {
	device
	pci, gpu *element // gpu is nil for a PCI device without a <gpu> element
	order    int      // NCCL's rank
}

// dump is a topology dump while it is being turned into a machine.
type dump struct {
	m    *machine
	gpus []gpuElement
	// Names of devices that were left out or inferred, by reason, for the notes.
	unranked, classless, virtual, unused, adapters, speedless []string
	nets                                                      map[string]bool // interfaces seen so far: a virtual one is listed under every processor
}

// readXML reads a topology dump of NCCL (version 1) or RCCL (version 2).
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

// lanes are the bandwidths NCCL assumes for one PCIe lane, in 100 Mb/s (graph/topo.cc).
var lanes = map[string]int{"2.5": 15, "5": 30, "16": 120, "32": 240, "64": 480}

// lane returns the bandwidth of one PCIe lane. Like NCCL, it takes an unknown speed for the
// third generation.
func lane(speed string) int {
	number, _, _ := strings.Cut(strings.TrimSpace(speed), " ")
	return cmp.Or(lanes[strings.TrimSuffix(number, ".0")], 60)
}

// pcie returns the bandwidth of a device's link upwards.
func pcie(e *element) (units.Bandwidth, error) {
	width, _, err := e.whole("link_width", 0, 64)
	if width == 0 {
		width = 16
	}
	return units.Bandwidth(width*lane(e.get("link_speed"))) * 1e9 / 80, err
}

// infinibandClass is the PCI class of InfiniBand controllers; that of Ethernet's, RoCE's too, is 0200.
const infinibandClass = "0207"

// pci sorts a PCI device into GPUs, NICs and switches, by its child elements or
// else by its PCI class.
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
		from := len(d.m.nics)
		err := d.interfaces(e.child("nic"), up, bandwidth)
		for i := range d.m.nics[from:] {
			d.m.nics[from+i].ib = strings.HasPrefix(class, infinibandClass)
		}
		return err
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
		dev.ib = strings.HasPrefix(class, infinibandClass)
		d.m.nics = append(d.m.nics, dev)
	case class == "":
		d.classless = append(d.classless, dev.id)
	}
	return nil
}

// virtualNames are prefixes of interfaces that containers, bridges and tunnels
// create.
var virtualNames = []string{"lo", "veth", "br-", "docker", "virbr", "cali", "tunl", "cni", "flannel", "vxlan", "dummy", "tap", "tun", "kube", "lxc", "nerdctl", "podman"}

// interfaces adds the network interfaces of a <nic>. pcie is the bandwidth of the
// PCI device it sits on, or 0 if it sits on none; then interfaces with the names
// of virtual ones are left out.
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
