package topologies

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/tomlfile"
)

// readBlueprint reads a topology file, whose format is in docs/topologies.md. The
// error is an ErrorList with all faults.
func readBlueprint(file string, text []byte) (*blueprint, *reader, error) {
	t, err := parse(file, text)
	if err != nil {
		return nil, nil, err
	}
	b := &blueprint{
		name:    t.text("name", ""),
		runtime: t.choice("runtime", "nccl", "rccl"),
		arch:    t.choice("arch", architectures...),
	}
	if b.name != "" {
		if err := checkName(b.name); err != nil {
			t.fail("name", "%v", err)
		}
	}
	if t.has("library") {
		if lt := t.table("library"); lt != nil {
			b.readLibrary(lt)
		}
	}
	b.readNodes(t)
	if t.has("fabric") {
		if f := t.table("fabric"); f != nil {
			b.fabric = b.readFabric(f)
		}
	} else if b.hasNICs() {
		t.fail("fabric", "missing: the NICs of a node lead to it")
	}
	b.protocols = readProtocols(t)
	t.done()
	return b, t.r, t.r.err()
}

// readLibrary reads [library], how the vendor's library is set up.
func (b *blueprint) readLibrary(t *table) {
	b.noFiles = t.has("msccl_files") && !t.flag("msccl_files")
	if b.runtime == "nccl" {
		t.fail("msccl_files", `NCCL ships none: only of runtime = "rccl"`)
	}
	t.source()
	t.done()
}

// readNodes reads the kinds of node, and how many of each there are: either nodes
// = 4 and [node], or nodes = ["big", "big", "small"], [node.big] and [node.small].
func (b *blueprint) readNodes(t *table) {
	b.order = []int{0}
	labels, mixed := t.labels("nodes")
	if !mixed {
		b.nodes = t.whole("nodes", 1, maxRanks)
		b.kinds = make([]nodePlan, 1)
		if node := t.table("node"); node != nil {
			b.kinds[0].read(node)
		}
		return
	}
	if len(labels) == 0 {
		t.has("node") // which kinds it should have tables for is not known
		b.kinds = make([]nodePlan, 1)
		return
	}
	b.nodes, b.order = len(labels), nil
	node := t.table("node")
	for _, label := range labels {
		k := slices.IndexFunc(b.kinds, func(n nodePlan) bool { return n.label == label })
		if k < 0 {
			k = len(b.kinds)
			b.kinds = append(b.kinds, nodePlan{label: label})
			if node != nil {
				if kt := node.table(label); kt != nil {
					b.kinds[k].read(kt)
				}
			}
		}
		b.order = append(b.order, k)
	}
	if node != nil {
		node.done()
	}
}

// labels reads the list of kinds, one for each node. mixed is false if the key has
// no list.
func (t *table) labels(key string) (labels []string, mixed bool) {
	if !t.has(key) {
		return nil, false
	}
	list, ok := t.keys[key].([]any)
	if !ok {
		return nil, false
	}
	for _, x := range list {
		label, ok := x.(string)
		if !ok || label == "" || len(label) > 80 || strings.ContainsFunc(label, func(r rune) bool { return !tomlfile.Bare(r) }) {
			t.fail(key, "%v: want a number, or kinds of node such as [\"big\", \"small\"], each described by [node.big]", shown(x))
			return nil, true
		}
		labels = append(labels, label)
	}
	if len(labels) == 0 || len(labels) > maxRanks {
		t.fail(key, "%d kinds: want 1 to %d", len(labels), maxRanks)
		return nil, true
	}
	return labels, true
}

// checkName makes sure that a name from a file can be used in file names, tables
// and other formats.
func checkName(name string) error {
	fits := func(r rune) bool { return tomlfile.Bare(r) || strings.ContainsRune(".+:@,", r) }
	if name == "" || len(name) > 80 || name[0] == '.' || name[0] == '-' ||
		strings.ContainsFunc(name, func(r rune) bool { return !fits(r) }) {
		return fmt.Errorf("%s is not a name: want 1 to 80 letters, digits and . _ + : @ , -, not beginning with . or -", shown(name))
	}
	return nil
}

// architectures are the GPU generations that vendor libraries tell apart.
var architectures = []string{"ampere", "pascal", "volta", "turing", "ada", "hopper", "blackwell", "cdna1", "cdna2", "cdna3", "cdna4"}

// anyGPUs is the number of GPUs of a node if the file does not say. Any GPU number
// is accepted then, so that errors are about the fault and not about what follows
// from it.
const anyGPUs = -1

// gpus reads a list of local GPU numbers, or "all".
func (t *table) gpus(key string, n int) []int {
	if !t.need(key, `GPU numbers such as [0, 1, 2], or "all"`) {
		return nil
	}
	if t.keys[key] == "all" {
		all := make([]int, max(n, 1))
		for i := range all {
			all[i] = i
		}
		return all
	}
	if _, ok := t.keys[key].([]any); !ok {
		t.fail(key, `%s: want GPU numbers such as [0, 1, 2], or "all"`, sortOf(t.keys[key]))
		return nil
	}
	return t.numbers(key, t.keys[key], n)
}

// numbers reads a list of distinct local GPU numbers.
func (t *table) numbers(key string, v any, n int) []int {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		t.fail(key, "%v: want GPU numbers such as [0, 1, 2]", shown(v))
		return nil
	}
	seen := make(map[int]bool, len(list))
	gpus := make([]int, 0, len(list))
	for _, x := range list {
		g, ok := x.(int64)
		switch {
		case !ok:
			t.fail(key, "%v is no GPU number", shown(x))
		case g < 0 || g >= int64(n) && n != anyGPUs:
			t.fail(key, "gpu %d is not there: the node has GPUs 0 to %d", g, n-1)
		case seen[int(g)]:
			t.fail(key, "gpu %d is named twice", g)
		default:
			seen[int(g)] = true
			gpus = append(gpus, int(g))
			continue
		}
		return nil
	}
	return gpus
}

// groups reads lists of GPU numbers: one NIC each.
func (t *table) groups(key string, n int) [][]int {
	list, ok := t.keys[key].([]any)
	if !ok || len(list) == 0 {
		t.fail(key, "%v: want the GPUs of each NIC, such as [[0, 1], [2, 3]]", shown(t.keys[key]))
		return nil
	}
	groups := make([][]int, 0, len(list))
	for _, x := range list {
		g := t.numbers(key, x, n)
		if g == nil {
			return nil
		}
		slices.Sort(g)
		groups = append(groups, g)
	}
	return groups
}
