package topologies

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/units"
)

// nodeLinks are the kinds of link that a node may have inside, in the order in
// which errors list them.
var nodeLinks = []LinkKind{NVLink, XGMI, PCIe, Host}

// NICPaths are NCCL's names of a way from a GPU to a NIC, the nearest first: over one PCIe
// switch, over several, over a link between chips and the processor's PCIe, over NVLink and the PCIe
// of another GPU, over the processor's host bridge, between processors.
var NICPaths = []string{"pix", "pxb", "p2c", "pxn", "phb", "sys"}

// at returns the dotted key of one of the kind's tables.
func (n *nodePlan) at(key string) string {
	if n.label == "" {
		return "node." + key
	}
	return "node." + n.label + "." + key
}

func (n *nodePlan) read(t *table) {
	if n.gpus = t.whole("gpus", 1, maxRanks); !t.right("gpus") {
		n.gpus = anyGPUs
	}
	n.sms = t.whole("sms", 1, maxSMs)
	if t.has("memory") {
		n.memory = t.bandwidth("memory")
	}
	if t.has("cpu") {
		n.cpu = t.choice("cpu", "intel", "amd", "arm", "power")
	}
	if t.has("nic_path") {
		n.nicPath = t.choice("nic_path", NICPaths...)
	}
	t.source()
	for _, st := range t.tables("switch") {
		n.readSwitch(st)
	}
	for _, lt := range t.tables("link") {
		if !n.readLinks(lt) {
			break
		}
	}
	for _, nt := range t.tables("nic") {
		n.readNICs(nt)
	}
	t.done()
}

// readSwitch reads a [[node.switch]]. It has the GPUs joined to the switch, or
// only a name if links lead to it.
func (n *nodePlan) readSwitch(t *table) {
	s := switchPlan{name: t.text("name", "switch")}
	if len(s.name) > 80 || s.name == "all" {
		t.fail("name", "%s is not a name: want 1 to 80 bytes, and not all", shown(s.name))
	}
	if t.has("gpus") || t.has("bandwidth") || t.has("kind") || t.has("count") {
		s.gpus, s.wire = t.gpus("gpus", n.gpus), t.wire()
	} else if t.has("latency") {
		t.fail("latency", "of which links? want gpus, kind and bandwidth too, or none of them")
	}
	t.source()
	t.done()
	n.switches = append(n.switches, s)
}

// readLinks reads a [[node.link]], which describes several links: one for each
// pair.
func (n *nodePlan) readLinks(t *table) bool {
	pairs := n.pairs(t)
	oneWay := t.flag("one_way")
	w := t.wire()
	t.source()
	t.done()
	for _, p := range pairs {
		n.links = append(n.links, linkPlan{a: p[0], b: p[1], oneWay: oneWay, wire: w})
	}
	if len(n.links) > maxEdges {
		t.fail("", "more than %d links", maxEdges)
		return false
	}
	return true
}

// wire reads what links and switches have in common.
func (t *table) wire() wire {
	names := lists.Map(nodeLinks, LinkKind.String)
	kind := nodeLinks[slices.Index(names, t.choice("kind", names...))]
	w := t.netWire()
	w.kind, w.counted = kind, t.counted()
	return w
}

// counted reads what the vendor's library counts of a bandwidth; 0: the bandwidth.
func (t *table) counted() units.Bandwidth {
	if !t.has("counted") {
		return 0
	}
	return t.bandwidth("counted")
}

// pairs reads which ends a [[node.link]] joins: `pairs` of GPUs and switches, or
// every two GPUs of `among`.
func (n *nodePlan) pairs(t *table) (pairs [][2]end) {
	switch {
	case t.has("pairs") && t.has("among"):
		t.fail("among", "pairs is there too: want one of them")
	case t.has("among"):
		gpus := t.gpus("among", n.gpus)
		if len(gpus) > 1000 {
			t.fail("among", "%d GPUs make too many links: want at most 1000", len(gpus))
			return nil
		}
		for i, a := range gpus {
			for _, b := range gpus[i+1:] {
				pairs = append(pairs, [2]end{end(a), end(b)})
			}
		}
	case t.has("pairs"):
		list, ok := t.keys["pairs"].([]any)
		if !ok {
			t.fail("pairs", "%v: want pairs of GPUs such as [[0, 1], [1, 2]]", shown(t.keys["pairs"]))
		}
		for _, x := range list {
			two, ok := x.([]any)
			if !ok || len(two) != 2 {
				t.fail("pairs", "%v: want two GPUs such as [0, 1], or switches by their names", shown(x))
				return nil
			}
			a, okA := n.end(t, two[0])
			b, okB := n.end(t, two[1])
			if !okA || !okB {
				return nil
			}
			if a == b {
				t.fail("pairs", "%s is named twice", n.called(a))
				return nil
			}
			pairs = append(pairs, [2]end{a, b})
		}
	default:
		t.fail("pairs", `missing: want pairs of GPUs such as [[0, 1], [1, 2]], or among = "all"`)
	}
	return pairs
}

// end reads a GPU's number, or a switch's name.
func (n *nodePlan) end(t *table, v any) (end, bool) {
	if name, ok := v.(string); ok {
		i, ok := n.switchNamed(t, "pairs", name)
		return ^end(i), ok
	}
	g := t.numbers("pairs", []any{v}, n.gpus)
	if g == nil {
		return 0, false
	}
	return end(g[0]), true
}

func (n *nodePlan) switchNamed(t *table, key, name string) (int, bool) {
	same := func(s switchPlan) bool { return s.name == name }
	i := slices.IndexFunc(n.switches, same)
	if i >= 0 && slices.ContainsFunc(n.switches[i+1:], same) {
		t.fail(key, "%q is the name of several switches: want names that differ", name)
		return i, false
	}
	if i < 0 {
		names := lists.Map(n.switches, func(s switchPlan) string { return s.name })
		t.fail(key, "unknown switch %s%s: want the name of a [[%s]]", shown(name), suggest.DidYouMean(name, names), n.at("switch"))
	}
	return i, i >= 0
}

// called returns the name of an end in errors.
func (n *nodePlan) called(e end) string {
	if e < 0 {
		return fmt.Sprintf("switch %q", n.switches[^e].name)
	}
	return gpuName(int(e))
}

// readNICs reads a [[node.nic]], which describes several NICs: one for each group
// of GPUs, given by `serves`, or by `sends` and `receives` if those differ; or one
// for each switch of `at`.
func (n *nodePlan) readNICs(t *table) {
	var sends, receives [][]int
	var at []int
	if t.has("at") {
		at = n.readAt(t)
		if t.has("serves") || t.has("sends") || t.has("receives") {
			t.fail("at", "NICs hang on switches or serve GPUs: want it, or serves")
		}
	} else {
		sends, receives = t.serves(n.gpus)
	}
	nic := nicPlan{at: -1, bandwidth: t.bandwidth("bandwidth"), latency: t.duration("latency"), message: t.duration("message")}
	nic.bus, nic.counted = nic.bandwidth, t.counted()
	if t.has("bus") {
		nic.bus = t.bandwidth("bus")
	}
	many := max(len(sends), len(receives), len(at))
	far := n.readFar(t, many)
	t.source()
	t.done()
	for i := range many {
		one := nic
		one.number = len(n.nics)
		if i < len(sends) {
			one.sends = sends[i]
		}
		if i < len(receives) {
			one.receives = receives[i]
		}
		if i < len(at) {
			one.at = at[i]
		}
		for _, f := range far {
			for _, g := range f[i].gpus {
				if slices.Contains(one.sends, g) || slices.Contains(one.receives, g) {
					t.fail("far", "gpu %d is near already", g)
					return
				}
			}
			one.far = append(one.far, f[i])
		}
		n.nics = append(n.nics, one)
	}
}

// serves reads which groups of GPUs send and receive through each NIC.
func (t *table) serves(gpus int) (sends, receives [][]int) {
	switch {
	case t.has("serves"):
		sends = t.groups("serves", gpus)
		receives = sends
		if t.has("sends") || t.has("receives") {
			t.fail("serves", "stands for both directions: want it, or sends and receives")
		}
	case t.has("sends") || t.has("receives"):
		if t.has("sends") {
			sends = t.groups("sends", gpus)
		}
		if t.has("receives") {
			receives = t.groups("receives", gpus)
		}
		if len(sends) > 0 && len(receives) > 0 && len(sends) != len(receives) {
			t.fail("receives", "%d groups, but sends has %d: want one of each for a NIC", len(receives), len(sends))
		}
	default:
		t.fail("serves", "missing: want the GPUs of each NIC, such as [[0, 1], [2, 3]], or at, the switch of each")
	}
	return sends, receives
}

// readAt reads the switch of each NIC, by name.
func (n *nodePlan) readAt(t *table) (at []int) {
	list, ok := t.keys["at"].([]any)
	if !ok || len(list) == 0 {
		t.fail("at", "%v: want the switch of each NIC, such as [\"cpu 0\", \"cpu 1\"]", shown(t.keys["at"]))
		return nil
	}
	for _, x := range list {
		name, ok := x.(string)
		if !ok {
			t.fail("at", "%v is no switch's name", shown(x))
			return nil
		}
		i, ok := n.switchNamed(t, "at", name)
		if !ok {
			return nil
		}
		at = append(at, i)
	}
	return at
}

// readFar reads [[node.nic.far]]: other GPUs that reach each NIC, and what their
// way costs. The result has a plan for each NIC.
func (n *nodePlan) readFar(t *table, nics int) (all [][]detourPlan) {
	for _, ft := range t.tables("far") {
		var groups [][]int
		if ft.need("gpus", "the GPUs of each NIC's far side, such as [[2, 3], [0, 1]]") {
			groups = ft.groups("gpus", n.gpus)
		}
		bw, latency := ft.bandwidth("bandwidth"), ft.duration("latency")
		ft.source()
		ft.done()
		if groups != nil && len(groups) != nics {
			ft.fail("gpus", "%d groups for %d NICs: want one for each", len(groups), nics)
			groups = nil
		}
		far := make([]detourPlan, nics)
		for i := range far {
			far[i] = detourPlan{bandwidth: bw, latency: latency}
			if groups != nil {
				far[i].gpus = groups[i]
			}
		}
		all = append(all, far)
	}
	return all
}

// joinedTwice finds two links of one kind between the same ends. The file should
// have written them as one, with a count.
func (n *nodePlan) joinedTwice() error {
	type key struct {
		a, b end
		kind LinkKind
	}
	seen := map[key]bool{}
	twice := func(a, b end, kind LinkKind) error {
		if seen[key{a, b, kind}] {
			return fmt.Errorf("%s and %s are joined twice by %v: want one link, with their count", n.called(a), n.called(b), kind)
		}
		seen[key{a, b, kind}] = true
		return nil
	}
	for i, s := range n.switches {
		for _, g := range s.gpus {
			seen[key{end(g), ^end(i), s.kind}] = true
			seen[key{^end(i), end(g), s.kind}] = true
		}
	}
	for _, l := range n.links {
		err := twice(l.a, l.b, l.kind)
		if err == nil && !l.oneWay {
			err = twice(l.b, l.a, l.kind)
		}
		if err != nil {
			return err
		}
	}
	for i, nic := range n.nics {
		near := map[int]bool{}
		for _, f := range nic.far {
			for _, g := range f.gpus {
				if near[g] {
					return fmt.Errorf("gpu %d is far from nic %d twice: want it once", g, i)
				}
				near[g] = true
			}
		}
	}
	return nil
}
