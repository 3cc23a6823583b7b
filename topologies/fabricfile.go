package topologies

import "github.com/colltune/colltune/internal/suggest"

// readFabric reads [fabric].
func (b *blueprint) readFabric(t *table) *fabricPlan {
	f := &fabricPlan{name: t.text("name", "fabric"), planes: 1}
	if b.hasNICs() || t.has("latency") {
		f.latency = t.duration("latency")
	}
	if t.has("planes") {
		f.planes = t.whole("planes", 1, maxRanks)
		for _, k := range b.kinds {
			if n := len(k.nics); n > 0 && f.planes > n {
				t.fail("planes", "%d planes, but a node has %d NICs: want at most one plane a NIC", f.planes, n)
				f.planes = 1
			}
		}
	}
	if t.has("group") {
		f.group = t.whole("group", 1, maxRanks)
	}
	if t.has("spine") {
		if st := t.table("spine"); st != nil {
			f.spine = readSpine(st)
			if f.group == 0 && !(f.spine.across && f.planes > 1) {
				t.fail("spine", "joins nothing: want group, the nodes below a leaf, or planes and across")
			}
		}
	}
	if t.has("global") {
		if gt := t.table("global"); gt != nil {
			f.global = readGlobal(gt)
			if f.group == 0 {
				t.fail("global", "joins groups: want group, the nodes of one")
			}
		}
	}
	for _, ct := range t.tables("direct") {
		f.cables = append(f.cables, b.readCables(ct)...)
	}
	t.source()
	t.done()
	return f
}

func readSpine(t *table) *spinePlan {
	s := &spinePlan{latency: t.duration("latency"), across: t.flag("across")}
	switch {
	case t.has("oversubscription") && t.has("bandwidth"):
		t.fail("bandwidth", "oversubscription is there too: want one of them")
	case t.has("bandwidth"):
		s.bandwidth = t.bandwidth("bandwidth")
	default:
		s.over = t.ratio("oversubscription")
	}
	t.source()
	t.done()
	return s
}

func readGlobal(t *table) *wire {
	w := t.netWire()
	t.source()
	t.done()
	return &w
}

// readCables reads a [[fabric.direct]], which joins GPUs of different nodes
// directly.
func (b *blueprint) readCables(t *table) (cables []cablePlan) {
	gpus := 0
	for _, k := range b.kinds {
		gpus = max(gpus, k.gpus)
	}
	c := cablePlan{oneWay: t.flag("one_way"), wire: t.netWire(), message: t.duration("message")}
	if t.need("nodes", `"all", "next", or pairs of nodes such as [[0, 1]]`) {
		switch v := t.keys["nodes"].(type) {
		case string:
			c.next = v == "next"
			if !c.next && v != "all" {
				t.fail("nodes", `unknown value %q%s: want "all", "next", or pairs of nodes such as [[0, 1]]`, v, suggest.DidYouMean(v, []string{"all", "next"}))
			}
		default:
			for _, p := range t.couples("nodes", maxRanks) {
				if p[0] == p[1] {
					t.fail("nodes", "node %d is named twice", p[0])
					return nil
				}
				c.nodes = append(c.nodes, p)
			}
		}
	}
	t.source()
	pairs := t.couples("pairs", gpus)
	t.done()
	for _, p := range pairs {
		one := c
		one.a, one.b = p[0], p[1]
		cables = append(cables, one)
	}
	return cables
}

// netWire reads what all links between nodes have.
func (t *table) netWire() wire {
	w := wire{kind: Net, count: 1, bandwidth: t.bandwidth("bandwidth"), latency: t.duration("latency")}
	if t.has("count") {
		w.count = t.whole("count", 1, maxCount)
	}
	return w
}

// couples reads pairs of numbers below n.
func (t *table) couples(key string, n int) (all [][2]int) {
	if !t.need(key, "pairs such as [[0, 1]]") {
		return nil
	}
	list, ok := t.keys[key].([]any)
	if !ok || len(list) == 0 {
		t.fail(key, "%v: want pairs such as [[0, 1]]", shown(t.keys[key]))
		return nil
	}
	for _, x := range list {
		two, ok := x.([]any)
		if !ok || len(two) != 2 {
			t.fail(key, "%v: want two numbers such as [0, 1]", shown(x))
			return nil
		}
		var p [2]int
		for i, v := range two {
			k, ok := v.(int64)
			if !ok || k < 0 || k >= int64(n) {
				t.fail(key, "%v is out of range: want 0 to %d", shown(v), n-1)
				return nil
			}
			p[i] = int(k)
		}
		all = append(all, p)
	}
	return all
}
