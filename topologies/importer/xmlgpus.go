package importer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// finish turns the collected elements into the machine's GPUs and links.
func (d *dump) finish() error {
	m := d.m
	whole := slices.ContainsFunc(d.gpus, func(g gpuElement) bool { return g.gpu != nil })
	if err := d.order(whole); err != nil {
		return err
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
	d.noteLeftOut()
	return nil
}

// order sorts the GPUs by NCCL's rank. A file in which no GPU has a <gpu> element
// (whole is false) is sorted by PCI bus instead.
func (d *dump) order(whole bool) error {
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
		return nil
	}
	slices.SortStableFunc(d.gpus, func(a, b gpuElement) int { return cmp.Compare(a.id, b.id) })
	slices.SortStableFunc(d.m.nics, func(a, b device) int { return cmp.Compare(a.id, b.id) })
	d.m.note("GPUs are numbered by bus, as CUDA does with CUDA_DEVICE_ORDER=PCI_BUS_ID; the file has no numbers")
	return nil
}

// noteLeftOut notes which devices were left out, and what was inferred about NICs.
func (d *dump) noteLeftOut() {
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
			d.m.note("left out: %s: %s", l.why, some(l.names))
		}
	}
	if len(d.speedless) > 0 {
		d.m.note("the file has no speed of NICs %s: 10 Gb/s, as NCCL takes it", some(d.speedless))
	}
	if len(d.adapters) > 0 {
		d.m.note("NICs of %s are Elastic Fabric Adapters of AWS's first generation: 100 Gb/s, inferred", some(d.adapters))
	}
}

// models determines the GPU model, where the file tells. All GPUs must agree.
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
				sms = sm // RCCL writes the number of compute units where NCCL writes the compute capability
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

// join reads the NVLinks or xGMI links between GPUs, to switches and to
// processors.
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
