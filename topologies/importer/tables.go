package importer

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// escapes are what nvidia-smi underlines its header with.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")

// linesOf are a text's lines as fields, without colours.
func linesOf(text []byte) (lines [][]string) {
	for line := range strings.Lines(escapes.ReplaceAllString(string(text), "")) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// matrix is a square table with a name for each row and column.
type matrix struct {
	names []string
	cells [][]string
}

// readMatrix reads a matrix whose header is lines[at]: names, of which those
// that begin a row below are columns. The rows are the lines after.
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
			break // from here on affinities
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

var gpuLabel = regexp.MustCompile(`^GPU[0-9]+$`)

func isNVIDIA(text []byte) bool {
	return slices.ContainsFunc(linesOf(text), func(f []string) bool { return len(f) > 0 && f[0] == "GPU0" })
}

func isROCm(text []byte) bool { return bytes.Contains(text, []byte("Link Type between two GPUs")) }

// nearness are nvidia-smi's words for the way between two devices, nearest
// first: over one PCIe bridge, over several, over a host bridge, over several
// of one processor, between processors.
var nearness = []string{"PIX", "PXB", "PHB", "NODE", "SYS"}

var nvLinks = regexp.MustCompile(`^NV([0-9]{1,3})$`)

// readNVIDIA reads nvidia-smi topo -m.
func readNVIDIA(_ string, text []byte, m *machine) error {
	lines := linesOf(text)
	at := slices.IndexFunc(lines, func(f []string) bool { return len(f) > 0 && f[0] == "GPU0" })
	if at+1 < len(lines) && len(lines[at]) > 1 && !gpuLabel.MatchString(lines[at][1]) && lines[at][1] != "CPU" && !isHeader(lines[at]) {
		return errors.New("the header of the table is missing: want the whole text of nvidia-smi topo -m")
	}
	table, err := readMatrix(lines, at)
	if err != nil {
		return err
	}
	names := nicNames(lines)
	var gpus, nics []int
	for i, name := range table.names {
		if gpuLabel.MatchString(name) {
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
		id := table.names[i]
		if name, ok := names[id]; ok {
			id = name
		}
		m.nics = append(m.nics, device{id: id, up: places[i]})
	}
	m.joined = true
	return nil
}

// pairs reads the cells of the table: NVLinks between GPUs go to the machine, and
// what is returned is how near two devices are, as an index of nearness. Of that
// NVLinks say nothing: -1.
func pairs(table *matrix, gpus []int, m *machine) (far [][]int, err error) {
	n := len(table.names)
	far = make([][]int, n)
	m.links = map[[2]int]int{}
	for i := range n {
		far[i] = make([]int, n)
		for j := range n {
			cell := table.cells[i][j]
			far[i][j] = slices.Index(nearness, cell)
			nv := nvLinks.FindStringSubmatch(cell)
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

// isHeader tells a row of names from a row of the table.
func isHeader(fields []string) bool {
	return !slices.Contains(fields, "X")
}

// nicNames reads the legend: NIC0: mlx5_0.
func nicNames(lines [][]string) map[string]string {
	names := map[string]string{}
	for _, f := range lines {
		if len(f) == 2 && strings.HasPrefix(f[0], "NIC") && strings.HasSuffix(f[0], ":") {
			names[strings.TrimSuffix(f[0], ":")] = f[1]
		}
	}
	return names
}

// cluster makes a PCIe tree of pairwise nearness: devices that are PIX apart
// share a switch, PXB a switch above, and NODE or nearer a processor. Where
// only NVLinks are told between two, what others say of both decides.
func cluster(far [][]int) []*place {
	up := make([]*place, len(far))
	group := make([]int, len(far))
	for i := range group {
		group[i] = i
	}
	for level := range nearness[:len(nearness)-1] {
		if nearness[level] == "PHB" {
			continue // a host bridge of its own is no switch
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

// merge makes the groups of two devices one, which is named for its first device.
func merge(group []int, i, j int) {
	from, to := max(group[i], group[j]), min(group[i], group[j])
	for k := range group {
		if group[k] == from {
			group[k] = to
		}
	}
}

// addLevel puts a place above every group that was merged of several at this level.
// At the last every group has one: its processor.
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
			continue
		}
		top := up[i]
		for top.up != nil {
			top = top.up
		}
		if top != p {
			top.up = p
		}
	}
}

// readROCm reads rocm-smi --showtopo: two GPUs have a link where the type is
// XGMI and the weight that of one hop; hops are 1 for all of xGMI.
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
	if at == len(lines) || !gpuLabel.MatchString(lines[at][0]) {
		return nil, fmt.Errorf("table %q has no header of GPUs", title)
	}
	t, err := readMatrix(lines, at)
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", title, err)
	}
	return t, nil
}

// xgmiLinks finds the pairs of GPUs that one hop over xGMI joins.
func xgmiLinks(kinds, weights *matrix) (map[[2]int]int, error) {
	const hop = 15 // the weight of a hop
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

// numaNodes reads GPU[0] : (Topology) Numa Node: 0.
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

// switched tells whether links between GPUs are the links of each to a switch,
// as nvidia-smi prints them: every two GPUs have all of a GPU's links.
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

// pcieOf is the bandwidth of a x16 link of a generation, as NCCL counts it.
func pcieOf(generation int) units.Bandwidth {
	return 12e9 << (generation - 3)
}
