package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
)

// adapter is a NIC as ibstat or ibstatus describes it.
type adapter struct {
	name      string
	bandwidth units.Bandwidth // sum over its ports that are up; 0 if none is
	ib        bool            // the link layer of one that is up is InfiniBand
}

var (
	adapterLine = lazyregexp.New(`^(?:CA|Infiniband device) '([^']+)'`)
	portLine    = lazyregexp.New(`^(?:Port [0-9]+:|Infiniband device '[^']+' port [0-9]+ status:)$`)
	rateLine    = lazyregexp.New(`^[Rr]ate:\s+([0-9]+(?:\.[0-9]+)?)(?:\s+Gb/sec.*)?$`)
	layerLine   = lazyregexp.New(`^(?:Link layer|link_layer):\s+InfiniBand$`)
	stateLine   = lazyregexp.New(`^[Ss]tate:\s+(?:[0-9]+:\s*)?(\w+)`)
)

// port is the port whose lines are being read.
type port struct {
	up, ib bool
	rate   units.Bandwidth
}

// readIBStat reads the output of ibstat or ibstatus: each adapter with the rates
// of its ports, in Gb/s.
func readIBStat(text []byte) ([]adapter, error) {
	var all []adapter
	var now port
	add := func() {
		if now.up && len(all) > 0 {
			one := &all[len(all)-1]
			one.bandwidth, one.ib = one.bandwidth+now.rate, one.ib || now.ib
		}
		now = port{}
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if m := adapterLine().FindStringSubmatch(line); m != nil {
			add()
			if len(all) >= maxDevices {
				return nil, fmt.Errorf("line %d: more than %d adapters", number, maxDevices)
			}
			if len(all) == 0 || all[len(all)-1].name != m[1] { // ibstatus repeats the adapter's name for each port
				all = append(all, adapter{name: m[1]})
			}
			continue
		}
		if portLine().MatchString(line) {
			add()
			continue
		}
		if m := stateLine().FindStringSubmatch(line); m != nil {
			now.up = strings.EqualFold(m[1], "active")
		}
		now.ib = now.ib || layerLine().MatchString(line)
		if m := rateLine().FindStringSubmatch(line); m != nil {
			gbps, err := strconv.ParseFloat(m[1], 64)
			if err != nil || gbps > 1e5 {
				return nil, fmt.Errorf("line %d: rate %s: want Gb/s, up to 100000", number, cut(m[1]))
			}
			now.rate = units.Bandwidth(gbps * 1e9 / 8)
		}
	}
	add()
	if len(all) == 0 {
		return nil, errors.New("no adapter in it: want the text of ibstat or ibstatus")
	}
	return all, nil
}

// rated gives the NICs the rates from ibstat's output. It drops NICs with no port
// up and NICs that the output does not list.
func (m *machine) rated(text []byte) error {
	all, err := readIBStat(text)
	if err != nil {
		return fmt.Errorf("ibstat: %w", err)
	}
	var names []string
	rates, ib := map[string]units.Bandwidth{}, map[string]bool{}
	for _, a := range all {
		ib[a.name] = ib[a.name] || a.ib
		if names = append(names, a.name); !slices.Contains(names[:len(names)-1], a.name) {
			rates[a.name] = a.bandwidth
		}
	}
	m.leaveOut(", as no port of them is active", func(d device) bool {
		rate, known := rates[d.id]
		return known && rate == 0
	})
	m.leaveOut(", as ibstat does not know them", func(d device) bool { return rates[d.id] == 0 })
	for i := range m.nics {
		m.nics[i].bandwidth, m.nics[i].from, m.nics[i].guess = rates[m.nics[i].id], "ibstat", ""
		m.nics[i].ib = ib[m.nics[i].id]
	}
	if len(m.nics) == 0 {
		return fmt.Errorf("ibstat: none of the NICs is up: it has %s", some(names))
	}
	return nil
}

// HCA selects NICs in the syntax of NCCL_IB_HCA: mlx5 takes those whose name
// begins so, =mlx5_1,mlx5_2 exactly these, and ^mlx5_bond all others.
type HCA struct {
	but, exact bool
	names      []string
}

// ParseHCA reads a value of NCCL_IB_HCA. It returns an error for port numbers, which are
// not supported.
func ParseHCA(s string) (HCA, error) {
	var h HCA
	rest, but := strings.CutPrefix(s, "^")
	rest, exact := strings.CutPrefix(rest, "=")
	h.but, h.exact = but, exact
	for name := range strings.SplitSeq(rest, ",") {
		if name = strings.TrimSpace(name); name == "" || strings.ContainsAny(name, ":^= ") {
			return HCA{}, fmt.Errorf("%q: want names with commas between, such as mlx5_0,mlx5_1, or ^mlx5_bond for all but those that begin so", s)
		}
		h.names = append(h.names, name)
	}
	return h, nil
}

// takes reports whether the selection includes a NIC.
func (h HCA) takes(id string) bool {
	of := slices.ContainsFunc(h.names, func(name string) bool {
		return id == name || !h.exact && strings.HasPrefix(id, name)
	})
	return of != h.but
}

// only drops the NICs that the selection does not include.
func (m *machine) only(h HCA) error {
	had := lists.Map(m.nics, device.name)
	for _, name := range h.names {
		one := HCA{exact: h.exact, names: []string{name}}
		if !slices.ContainsFunc(had, one.takes) {
			return fmt.Errorf("--hca: no NIC is called %s: it has %s", cut(name), some(had))
		}
	}
	m.leaveOut(", as asked", func(d device) bool { return !h.takes(d.id) })
	if len(m.nics) == 0 {
		return fmt.Errorf("--hca leaves out all NICs: want --nic none for that")
	}
	return nil
}

// noteApart notes NICs that are close to no GPU: they are often for storage or
// management and should not carry collectives.
func (m *machine) noteApart() {
	home := map[*place]bool{}
	for _, g := range m.gpus {
		if g.up != nil {
			home[g.up.processor()] = true
		}
	}
	var far []string
	for _, d := range m.nics {
		if d.up != nil && len(d.serves) == 0 && !home[d.up.processor()] {
			far = append(far, d.id)
		}
	}
	if len(far) > 0 && len(far) < len(m.nics) {
		m.note("near no GPU, and perhaps not for their data: %s; --hca, as NCCL_IB_HCA, leaves NICs out", some(far))
	}
}
