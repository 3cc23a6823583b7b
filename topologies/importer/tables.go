package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// escapes matches the terminal sequences with which nvidia-smi underlines its
// header.
var escapes = lazyregexp.New("\x1b\\[[0-9;]*[A-Za-z]")

// linesOf splits a text into lines of fields, without terminal sequences.
func linesOf(text []byte) (lines [][]string) {
	for line := range strings.Lines(escapes().ReplaceAllString(string(text), "")) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// matrix is a square table whose rows and columns have the same names.
type matrix struct {
	names []string
	cells [][]string
}

// readMatrix reads the matrix with its header at lines[at] and its rows on the
// lines after it. A header also has columns of other kinds: the matrix's are those
// that name a row.
func readMatrix(lines [][]string, at int) (*matrix, error) {
	header := lines[at]
	if len(header) > 2*maxDevices+16 {
		return nil, fmt.Errorf("a header of %d names: want at most %d devices", len(header), 2*maxDevices)
	}
	rows := map[string][]string{}
	for _, fields := range lines[at+1:] {
		if len(fields) == 0 {
			if len(rows) > 0 {
				break
			}
			continue
		}
		if !slices.Contains(header, fields[0]) {
			break
		}
		if _, twice := rows[fields[0]]; twice {
			return nil, fmt.Errorf("two rows of %s", cut(fields[0]))
		}
		rows[fields[0]] = fields[1:]
	}
	m := &matrix{}
	for _, name := range header {
		if _, ok := rows[name]; !ok || slices.Contains(m.names, name) {
			break // the affinity columns follow
		}
		m.names = append(m.names, name)
	}
	if len(m.names) != len(rows) {
		return nil, fmt.Errorf("a table of %d rows and %d columns: want as many", len(rows), len(m.names))
	}
	for _, name := range m.names {
		if len(rows[name]) < len(m.names) {
			return nil, fmt.Errorf("row %s of %d cells: want %d", cut(name), len(rows[name]), len(m.names))
		}
		m.cells = append(m.cells, rows[name][:len(m.names)])
	}
	return m, nil
}

var gpuLabel = lazyregexp.New(`^GPU[0-9]+$`)

func isNVIDIA(text []byte) bool {
	return slices.ContainsFunc(linesOf(text), func(f []string) bool { return len(f) > 0 && f[0] == "GPU0" })
}

func isROCm(text []byte) bool { return bytes.Contains(text, []byte("Link Type between two GPUs")) }

// nearness lists nvidia-smi's words for the path between two devices, nearest
// first: across one PCIe bridge, several bridges, a host bridge, several host
// bridges of one processor, or the link between processors.
var nearness = []string{"PIX", "PXB", "PHB", "NODE", "SYS"}

var nvLinks = lazyregexp.New(`^NV([0-9]{1,3})$`)

// readNVIDIA reads the output of nvidia-smi topo -m.
func readNVIDIA(_ string, text []byte, m *machine) error {
	lines := linesOf(text)
	at := slices.IndexFunc(lines, func(f []string) bool { return len(f) > 0 && f[0] == "GPU0" })
	// A row, unlike the header, has an X on the diagonal.
	if at+1 < len(lines) && len(lines[at]) > 1 && !gpuLabel().MatchString(lines[at][1]) && lines[at][1] != "CPU" && slices.Contains(lines[at], "X") {
		return errors.New("the header of the table is missing: want the whole text of nvidia-smi topo -m")
	}
	table, err := readMatrix(lines, at)
	if err != nil {
		return err
	}
	names := nicNames(lines)
	var gpus, nics []int
	for i, name := range table.names {
		if gpuLabel().MatchString(name) {
			gpus = append(gpus, i)
		} else {
			nics = append(nics, i)
		}
	}
	far, err := pairs(table, gpus, m)
	if err != nil {
		return err
	}
	places := cluster(far)
	for _, i := range gpus {
		m.gpus = append(m.gpus, device{id: table.names[i], up: places[i]})
	}
	for _, i := range nics {
		m.nics = append(m.nics, device{id: cmp.Or(names[table.names[i]], table.names[i]), up: places[i]})
	}
	m.joined = true
	return nil
}

// pairs reads the cells of the table. NVLinks between GPUs are recorded in the
// machine. far holds the nearness of every two devices as an index of nearness, or
// -1 where the cell shows NVLinks and so says nothing about PCIe.
func pairs(table *matrix, gpus []int, m *machine) (far [][]int, err error) {
	n := len(table.names)
	far = make([][]int, n)
	m.links = map[[2]int]int{}
	for i := range n {
		far[i] = make([]int, n)
		for j := range n {
			cell := table.cells[i][j]
			far[i][j] = slices.Index(nearness, cell)
			nv := nvLinks().FindStringSubmatch(cell)
			a, b := slices.Index(gpus, i), slices.Index(gpus, j)
			switch {
			case i == j:
				if cell != "X" {
					return nil, fmt.Errorf("%s to itself is %q: want X", table.names[i], cut(cell))
				}
				far[i][j] = -1
			case nv != nil && a >= 0 && b >= 0:
				count, err := strconv.Atoi(nv[1])
				if err != nil || count < 1 || count > 1024 {
					return nil, fmt.Errorf("%s to %s is %q: want 1 to 1024 links", table.names[i], table.names[j], cell)
				}
				m.links[[2]int{a, b}] = count
			case far[i][j] < 0:
				return nil, fmt.Errorf("%s to %s is %q: want X, NV and a number, or one of %s", table.names[i], table.names[j], cut(cell), strings.Join(nearness, ", "))
			}
		}
	}
	return far, nil
}

// nicNames reads the legend of NICs, whose lines look like NIC0: mlx5_0.
func nicNames(lines [][]string) map[string]string {
	names := map[string]string{}
	for _, f := range lines {
		if len(f) == 2 && strings.HasPrefix(f[0], "NIC") && strings.HasSuffix(f[0], ":") {
			names[strings.TrimSuffix(f[0], ":")] = f[1]
		}
	}
	return names
}

// cluster reconstructs a PCIe tree from pairwise nearness: devices at PIX share a
// switch, those at PXB a switch above it, and those at NODE or nearer a processor.
// Two GPUs whose cell shows NVLinks are placed by their nearness to the other
// devices.
func cluster(far [][]int) []*place {
	up := make([]*place, len(far))
	group := apart(len(far))
	for level := range nearness[:len(nearness)-1] {
		if nearness[level] == "PHB" {
			continue // there is no switch to add for a host bridge
		}
		merged := slices.Clone(group)
		for i := range far {
			for j := range i {
				if f := far[i][j]; f >= 0 && f <= level {
					merge(merged, i, j)
				}
			}
		}
		addLevel(up, group, merged, nearness[level] == "NODE")
		group = merged
	}
	return up
}

// apart returns the groups of n devices before any merge.
func apart(n int) []int {
	group := make([]int, n)
	for i := range group {
		group[i] = i
	}
	return group
}

// merge joins the groups of two devices. A group is identified by its first
// device.
func merge(group []int, i, j int) {
	from, to := max(group[i], group[j]), min(group[i], group[j])
	for k := range group {
		if group[k] == from {
			group[k] = to
		}
	}
}

// addLevel adds a place above every group that this level formed out of several
// smaller ones. The last level adds a processor above every group.
func addLevel(up []*place, before, merged []int, last bool) {
	made := map[int]*place{}
	for i := range up {
		grown := false
		for j := range up {
			grown = grown || merged[j] == merged[i] && before[j] != before[i]
		}
		if !grown && !last {
			continue
		}
		p := made[merged[i]]
		if p == nil {
			p = &place{}
			if last {
				p.number = strconv.Itoa(len(made))
			}
			made[merged[i]] = p
		}
		if up[i] == nil {
			up[i] = p
		} else if top := up[i].processor(); top != p {
			top.up = p
		}
	}
}

// readROCm reads the output of rocm-smi --showtopo. Two GPUs have a direct link if
// the type is XGMI and the weight that of one hop; the table of hops can't tell,
// as it shows 1 for any path over xGMI.
func readROCm(_ string, text []byte, m *machine) error {
	lines := linesOf(text)
	kinds, err := section(lines, "Link Type between two GPUs")
	if err != nil {
		return err
	}
	weights, err := section(lines, "Weight between two GPUs")
	if err != nil {
		return err
	}
	if !slices.Equal(kinds.names, weights.names) {
		return errors.New("its tables are of different GPUs")
	}
	if m.links, err = xgmiLinks(kinds, weights); err != nil {
		return err
	}
	m.joined = true
	if len(m.links) > 0 {
		m.uncounted = true
		m.note("how many xGMI links join two GPUs is not in the text: 1 each, inferred")
	}
	numa := numaNodes(lines)
	processors := map[string]*place{}
	for _, name := range kinds.names {
		node := numa[strings.TrimPrefix(name, "GPU")]
		if processors[node] == nil {
			processors[node] = &place{number: node}
		}
		m.gpus = append(m.gpus, device{id: name, up: processors[node]})
	}
	return nil
}

// section reads the table below a title.
func section(lines [][]string, title string) (*matrix, error) {
	at := slices.IndexFunc(lines, func(f []string) bool { return strings.Contains(strings.Join(f, " "), title) })
	if at < 0 {
		return nil, fmt.Errorf("no table %q: want the whole text of rocm-smi --showtopo", title)
	}
	for at++; at < len(lines) && len(lines[at]) == 0; at++ {
	}
	if at == len(lines) || !gpuLabel().MatchString(lines[at][0]) {
		return nil, fmt.Errorf("table %q has no header of GPUs", title)
	}
	t, err := readMatrix(lines, at)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", title, err)
	}
	return t, nil
}

// xgmiLinks finds the pairs of GPUs that are one xGMI hop apart.
func xgmiLinks(kinds, weights *matrix) (map[[2]int]int, error) {
	const hop = 15 // weight of one hop
	links := map[[2]int]int{}
	for i := range kinds.names {
		for j := range kinds.names {
			if i == j {
				continue
			}
			w, err := strconv.Atoi(weights.cells[i][j])
			if err != nil || w < 0 {
				return nil, fmt.Errorf("weight of %s to %s is %q: want a whole number", kinds.names[i], kinds.names[j], cut(weights.cells[i][j]))
			}
			switch kind := kinds.cells[i][j]; {
			case kind == "XGMI" && w <= hop:
				links[[2]int{i, j}] = 1
			case kind != "XGMI" && kind != "PCIE":
				return nil, fmt.Errorf("link of %s to %s is %q: want XGMI or PCIE", kinds.names[i], kinds.names[j], cut(kind))
			}
		}
	}
	return links, nil
}

// numaNodes reads lines such as GPU[0] : (Topology) Numa Node: 0.
func numaNodes(lines [][]string) map[string]string {
	nodes := map[string]string{}
	for _, f := range lines {
		text := strings.Join(f, " ")
		rest, ok := strings.CutPrefix(text, "GPU[")
		gpu, value, found := strings.Cut(rest, "]")
		if _, node, has := strings.Cut(value, "Numa Node:"); ok && found && has {
			if v := strings.TrimSpace(node); v != "" && v != "-1" {
				nodes[gpu] = v
			}
		}
	}
	return nodes
}

// switched infers an NVSwitch. nvidia-smi prints, for GPUs behind one, all of a
// GPU's links between every two of them; if GPU 0 would need more links than its
// model has, the links must go to a switch.
func (m *machine) switched() {
	if m.model.link != topologies.NVLink || len(m.hub) > 0 || len(m.gpus) < 3 || !strings.HasPrefix(m.format, "nvidia") {
		return
	}
	sum := 0
	for p, c := range m.links {
		if p[0] == 0 {
			sum += c
		}
	}
	if sum <= m.model.links {
		return
	}
	hub := make([]int, len(m.gpus))
	for p, c := range m.links {
		hub[p[0]] = max(hub[p[0]], c)
	}
	m.hub, m.links = hub, map[[2]int]int{}
	m.note("GPU 0 would need %d links for what is printed, and a %s has %d: a switch between GPUs is inferred", sum, m.model.name, m.model.links)
}

// pcieOf returns the bandwidth NCCL assumes for an x16 link of a PCIe generation.
func pcieOf(generation int) units.Bandwidth {
	return 12e9 << (generation - 3)
}
