package topologies

import (
	"fmt"
	"slices"
	"strings"
)

// readBlueprint reads a topology file: docs/topologies.md has the format. The
// error, an ErrorList, holds everything wrong with it.
func readBlueprint(file string, text []byte) (*blueprint, *reader, error) {
	t, err := parse(file, text)
	if err != nil {
		return nil, nil, err
	}
	b := &blueprint{
		name:    t.text("name", ""),
		runtime: t.choice("runtime", "nccl", "rccl"),
		arch:    t.choice("arch", architectures...),
		nodes:   t.whole("nodes", 1, maxRanks),
	}
	if b.name != "" {
		if err := checkName(b.name); err != nil {
			t.fail("name", "%v", err)
		}
	}
	if node := t.table("node"); node != nil {
		b.readNode(node)
	}
	if t.has("fabric") {
		if f := t.table("fabric"); f != nil {
			b.fabric = &fabricPlan{name: f.text("name", "fabric"), latency: f.duration("latency")}
			f.source()
			f.done()
		}
	} else if len(b.nics) > 0 {
		t.fail("fabric", "missing: the NICs of a node lead to it")
	}
	b.protocols = readProtocols(t)
	t.done()
	return b, t.r, t.r.err()
}

// checkName keeps the names of files' topologies fit for file names, tables and other formats' text.
func checkName(name string) error {
	fits := func(r rune) bool { return bare(r) || strings.ContainsRune(".+:@,", r) }
	if name == "" || len(name) > 80 || name[0] == '.' || name[0] == '-' ||
		strings.ContainsFunc(name, func(r rune) bool { return !fits(r) }) {
		return fmt.Errorf("%s is not a name: want 1 to 80 letters, digits and . _ + : @ , -, not beginning with . or -", shown(name))
	}
	return nil
}

// architectures are the GPU generations that vendor libraries tell apart.
var architectures = []string{"ampere", "pascal", "volta", "turing", "hopper", "blackwell", "cdna1", "cdna2", "cdna3", "cdna4"}

// kinds of link inside a node, by name.
var nodeLinks = map[string]LinkKind{"nvlink": NVLink, "xgmi": XGMI, "pcie": PCIe}

func (b *blueprint) readNode(t *table) {
	b.gpus = t.whole("gpus", 1, maxRanks)
	b.sms = t.whole("sms", 1, maxSMs)
	if t.has("cpu") {
		b.cpu = t.choice("cpu", "intel", "amd", "arm", "power")
	}
	t.source()
	for _, st := range t.tables("switch") {
		s := switchPlan{name: st.text("name", "switch"), gpus: st.gpus("gpus", b.gpus), wire: st.wire()}
		st.source()
		st.done()
		b.switches = append(b.switches, s)
	}
	for _, lt := range t.tables("link") {
		pairs := lt.pairs(b.gpus)
		oneWay := lt.flag("one_way")
		w := lt.wire()
		lt.source()
		lt.done()
		for _, p := range pairs {
			b.links = append(b.links, linkPlan{a: p[0], b: p[1], oneWay: oneWay, wire: w})
			if len(b.links) > maxEdges {
				lt.fail("", "more than %d links", maxEdges)
				return
			}
		}
	}
	for _, nt := range t.tables("nic") {
		b.readNICs(nt)
	}
	t.done()
}

// readNICs reads a [[node.nic]], which stands for one NIC a group of GPUs:
// serves for both directions, sends and receives where they differ.
func (b *blueprint) readNICs(t *table) {
	var sends, receives [][]int
	switch {
	case t.has("serves"):
		sends = t.groups("serves", b.gpus)
		receives = sends
		if t.has("sends") || t.has("receives") {
			t.fail("serves", "stands for both directions: want it, or sends and receives")
		}
	case t.has("sends") || t.has("receives"):
		if t.has("sends") {
			sends = t.groups("sends", b.gpus)
		}
		if t.has("receives") {
			receives = t.groups("receives", b.gpus)
		}
		if len(sends) > 0 && len(receives) > 0 && len(sends) != len(receives) {
			t.fail("receives", "%d groups, but sends has %d: want one of each for a NIC", len(receives), len(sends))
		}
	default:
		t.fail("serves", "missing: want the GPUs of each NIC, such as [[0, 1], [2, 3]]")
	}
	n := nicPlan{bandwidth: t.bandwidth("bandwidth"), latency: t.duration("latency"), message: t.duration("message")}
	t.source()
	t.done()
	for i := range max(len(sends), len(receives)) {
		nic := n
		if i < len(sends) {
			nic.sends = sends[i]
		}
		if i < len(receives) {
			nic.receives = receives[i]
		}
		b.nics = append(b.nics, nic)
	}
}

// wire reads what links and switches share.
func (t *table) wire() wire {
	w := wire{kind: nodeLinks[t.choice("kind", "nvlink", "xgmi", "pcie")], count: 1, bandwidth: t.bandwidth("bandwidth"), latency: t.duration("latency")}
	if t.has("count") {
		w.count = t.whole("count", 1, maxCount)
	}
	return w
}

// gpus reads a list of local GPU numbers, or "all".
func (t *table) gpus(key string, n int) []int {
	if !t.need(key, `GPU numbers such as [0, 1, 2], or "all"`) {
		return nil
	}
	if t.keys[key] == "all" {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
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
		case g < 0 || g >= int64(n):
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

// pairs reads which GPUs a [[node.link]] joins: `pairs`, or every two of `among`.
func (t *table) pairs(n int) (pairs [][2]int) {
	switch {
	case t.has("pairs") && t.has("among"):
		t.fail("among", "pairs is there too: want one of them")
	case t.has("among"):
		gpus := t.gpus("among", n)
		if len(gpus) > 2*1000 {
			t.fail("among", "%d GPUs make too many links: want at most 2000", len(gpus))
			return nil
		}
		for i, a := range gpus {
			for _, b := range gpus[i+1:] {
				pairs = append(pairs, [2]int{a, b})
			}
		}
	case t.has("pairs"):
		list, ok := t.keys["pairs"].([]any)
		if !ok {
			t.fail("pairs", "%v: want pairs of GPUs such as [[0, 1], [1, 2]]", shown(t.keys["pairs"]))
		}
		for _, x := range list {
			if two, ok := x.([]any); !ok || len(two) != 2 {
				t.fail("pairs", "%v: want two GPUs such as [0, 1]", shown(x))
				return nil
			}
			p := t.numbers("pairs", x, n)
			if p == nil {
				return nil
			}
			pairs = append(pairs, [2]int{p[0], p[1]})
		}
	default:
		t.fail("pairs", `missing: want pairs of GPUs such as [[0, 1], [1, 2]], or among = "all"`)
	}
	return pairs
}

// joinedTwice names two links of one kind between the same two GPUs, which the
// file should have written as one with a count.
func (b *blueprint) joinedTwice() error {
	type key struct {
		a, b int
		kind LinkKind
	}
	seen := map[key]bool{}
	for _, l := range b.links {
		ends := [][2]int{{l.a, l.b}, {l.b, l.a}}
		if l.oneWay {
			ends = ends[:1]
		}
		for _, e := range ends {
			k := key{e[0], e[1], l.kind}
			if seen[k] {
				return fmt.Errorf("gpu %d and gpu %d are joined twice by %v: want one link, with their count", l.a, l.b, l.kind)
			}
			seen[k] = true
		}
	}
	return nil
}
