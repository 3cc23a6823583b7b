package trees

import "context"

// removeSwitches removes every vertex that is not a rank, by splitting off: a link into
// the vertex and one out of it become a link past it. If as much leaves the vertex as
// enters it, its links can always be paired such that all trees still fit (Mader 1982,
// applied to the network in which every rank can send to the source without limit, which
// changes no relevant cut). It returns false if a vertex cannot be balanced, or if the
// trees need paths that a strict graph forbids.
func (g *graph) removeSwitches(ctx context.Context) (bool, error) {
	// Narrowing a link between two switches can unbalance the other switch. Links only
	// get narrower, so this terminates.
	for again := true; again; {
		again = false
		for w := g.Vertices - 1; w >= g.Ranks; w-- {
			changed, ok := g.balance(ctx, w)
			if !ok {
				return false, ctx.Err()
			}
			again = again || changed
		}
	}
	// Switches with a single link in or out come first, because they leave no choice;
	// then those of each node, and finally the fabric, whose neighbours are then ranks.
	left := make([]bool, g.Vertices)
	for again := true; again; {
		again = false
		for w := g.Ranks; w < g.Vertices; w++ {
			if ins, outs := g.incident(w); !left[w] && (len(ins) <= 1 || len(outs) <= 1) {
				left[w], again = true, true
				for _, in := range ins {
					for _, out := range outs {
						g.splitOff(in, out, min(g.links[in].capacity, g.links[out].capacity))
					}
				}
			}
		}
	}
	for _, fabric := range []bool{false, true} {
		for w := g.Ranks; w < g.Vertices; w++ {
			if left[w] || (g.node[w] < 0) != fabric {
				continue
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if !g.splitEvenly(ctx, w) && !g.splitPairs(ctx, w) {
				return false, ctx.Err()
			}
		}
	}
	if g.droppedPath && newFeasibility(ctx, g).missing(1) > 0 {
		return false, ctx.Err()
	}
	return true, nil
}

// forbids reports whether a strict graph forbids a link, because its ends are ranks that
// are not linked. Such flows leave a node through the fabric and come back to it.
func (g *graph) forbids(from, to int) bool {
	return g.strict && from < g.Ranks && to < g.Ranks && !g.linked(from, to)
}

// usesLinkedRanks reports whether all edges of the trees join linked ranks.
func (n *system) usesLinkedRanks(trees []Tree) bool {
	for _, t := range trees {
		for _, e := range t.Edges {
			if !n.linked(e.Parent, e.Child) {
				return false
			}
		}
	}
	return true
}

// splitOff replaces count trees' capacity on the links in and out by a link past the
// vertex between them. A path back to its start is dropped, and so is a forbidden one.
func (g *graph) splitOff(in, out int, count int64) {
	if count == 0 {
		return
	}
	from, to := g.links[in].from, g.links[out].to
	a, b := g.take(in, count), g.take(out, count)
	if from == to {
		return
	}
	if g.forbids(from, to) {
		g.droppedPath = true
		return
	}
	for len(a) > 0 {
		n := min(a[0].count, b[0].count)
		edges := append(append([]int(nil), a[0].edges...), b[0].edges...)
		g.add(from, to, []pathShare{{edges, n}})
		if a[0].count -= n; a[0].count == 0 {
			a = a[1:]
		}
		if b[0].count -= n; b[0].count == 0 {
			b = b[1:]
		}
	}
}

// balance narrows the links of a vertex until as much leaves it as enters: first each in
// proportion, then each as far as possible. ok is false if that fails.
func (g *graph) balance(ctx context.Context, w int) (changed, ok bool) {
	ins, outs := g.incident(w)
	enter, leave := g.capacityOf(ins), g.capacityOf(outs)
	wide := ins
	if enter < leave {
		wide, enter, leave = outs, leave, enter
	}
	excess := enter - leave
	if excess == 0 {
		return false, true
	}
	j := newFeasibility(ctx, g)
	narrow := func(at int, by int64) {
		l := g.links[at]
		if by = min(by, excess, l.capacity); by == 0 {
			return
		}
		j.addCapacity(l.from, l.to, -by)
		back := min(by, j.missing(by))
		j.addCapacity(l.from, l.to, back)
		g.take(at, by-back)
		excess -= by - back
	}
	for _, at := range wide {
		narrow(at, (enter-leave)*g.links[at].capacity/enter)
	}
	for _, at := range wide {
		narrow(at, excess)
	}
	return true, excess == 0
}

func (g *graph) capacityOf(links []int) (sum int64) {
	for _, l := range links {
		sum += g.links[l].capacity
	}
	return sum
}

// splitEvenly replaces a switch whose links all have the same capacity by links of nearly
// equal capacity: between GPUs with the same number in different nodes, or between all.
// It changes nothing and returns false if not all trees then fit.
func (g *graph) splitEvenly(ctx context.Context, w int) bool {
	ins, outs := g.incident(w)
	if len(ins) != len(outs) || len(ins) < 2 {
		return false
	}
	m, c := len(ins), g.links[ins[0]].capacity
	groups := 0 // groups of ranks of one node, all of the same size
	for i := range ins {
		a, b := g.links[ins[i]], g.links[outs[i]]
		if a.from != b.to || a.from >= g.Ranks || a.capacity != c || b.capacity != c {
			return false
		}
		if i == 0 || g.node[a.from] != g.node[g.links[ins[i-1]].from] {
			groups++
		}
	}
	steps := []int{1}
	if groups > 1 && m%groups == 0 {
		steps = []int{m / groups, 1}
	}
	for _, step := range steps {
		shifts := m/step - 1
		j := newFeasibility(ctx, g)
		share := func(shift int) int64 { // by shift·step positions, counted from 1
			s := c / int64(shifts)
			if int64(shift) <= c%int64(shifts) {
				s++
			}
			return s
		}
		forbidden := false
		for i := range m {
			for shift := 1; shift <= shifts; shift++ {
				from, to := g.links[ins[i]].from, g.links[outs[(i+shift*step)%m]].to
				forbidden = forbidden || g.forbids(from, to)
				j.allow(from, to)
			}
		}
		if forbidden {
			continue
		}
		for i := range m {
			j.addCapacity(g.links[ins[i]].from, w, -c)
			j.addCapacity(w, g.links[outs[i]].to, -c)
			for shift := 1; shift <= shifts; shift++ {
				j.addCapacity(g.links[ins[i]].from, g.links[outs[(i+shift*step)%m]].to, share(shift))
			}
		}
		if j.missing(1) > 0 {
			continue
		}
		for i := range m {
			for shift := 1; shift <= shifts; shift++ {
				g.splitOff(ins[i], outs[(i+shift*step)%m], share(shift))
			}
		}
		return true
	}
	return false
}

// splitPairs replaces a switch pair by pair, and moves as much onto each pair's direct
// link as still lets all trees fit: first a share of each pair, which keeps trees shallow,
// then everything. Moving n narrows the cuts between the pair and the switch by n, so if
// trees are missing afterwards, that many fewer are moved. It returns false if some
// capacity is left.
func (g *graph) splitPairs(ctx context.Context, w int) bool {
	ins, outs := g.incident(w)
	j := newFeasibility(ctx, g)
	for _, in := range ins {
		for _, out := range outs {
			j.allow(g.links[in].from, g.links[out].to)
		}
	}
	for _, share := range []int64{int64(max(1, len(ins)-1)), 1} {
		for i := range outs {
			for d := range ins {
				in, out := ins[(i+1+d)%len(ins)], outs[i]
				from, to := g.links[in].from, g.links[out].to
				most := min(g.links[in].capacity, g.links[out].capacity)
				nothing := from == to || g.forbids(from, to) // comes of the pair
				if share > 1 && nothing || most == 0 {
					continue
				}
				if share > 1 {
					most = min(most, (g.links[out].capacity-1)/share+1)
				}
				if ctx.Err() != nil {
					return false
				}
				pass := func(n int64) {
					j.addCapacity(from, w, -n)
					j.addCapacity(w, to, -n)
					if !nothing {
						j.addCapacity(from, to, n)
					}
				}
				pass(most)
				back := min(most, j.missing(most))
				pass(-back)
				g.splitOff(in, out, most-back)
			}
		}
	}
	return g.capacityOf(ins) == 0 && g.capacityOf(outs) == 0
}
