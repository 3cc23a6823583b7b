package trees

import "context"

// removeSwitches takes out every vertex that is not a rank: a way in and a way
// out become a link that passes it. Whatever enters a vertex can leave it,
// where that much leaves it at all and what remains still has room for all
// trees; this exists always (Mader 1982, for a network in which every rank
// could send to the source without limit, which changes no cut that counts).
// It returns false where a vertex has more coming in than going out, or the
// other way round, and no link can be narrowed to mend that, and where the trees
// would need ways that a strict graph forbids.
func (g *graph) removeSwitches(ctx context.Context) (bool, error) {
	// Narrowing a link between two switches may unbalance the other one. Links
	// only ever get narrower, so this ends.
	for again := true; again; {
		again = false
		for w := g.vertices - 1; w >= g.ranks; w-- {
			changed, ok := g.balance(ctx, w)
			if !ok {
				return false, ctx.Err()
			}
			again = again || changed
		}
	}
	// Switches with a single link in or out leave no choice, so they come first;
	// then node after node, and finally the fabric, whose neighbours are then all
	// ranks.
	left := make([]bool, g.vertices)
	for again := true; again; {
		again = false
		for w := g.ranks; w < g.vertices; w++ {
			if ins, outs := g.around(w); !left[w] && (len(ins) <= 1 || len(outs) <= 1) {
				left[w], again = true, true
				for _, in := range ins {
					for _, out := range outs {
						g.splice(in, out, min(g.links[in].room, g.links[out].room))
					}
				}
			}
		}
	}
	for _, fabric := range []bool{false, true} {
		for w := g.ranks; w < g.vertices; w++ {
			if left[w] || (g.node[w] < 0) != fabric {
				continue
			}
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if !g.spread(ctx, w) && !g.split(ctx, w) {
				return false, ctx.Err()
			}
		}
	}
	if g.lost && newJudge(ctx, g).short(1) > 0 {
		return false, ctx.Err()
	}
	return true, nil
}

// forbids reports whether a strict graph allows nothing from one vertex to another,
// because both are ranks between which no message goes. What flows would leave a
// node through the fabric and come back to it.
func (g *graph) forbids(from, to int) bool {
	return g.strict && from < g.ranks && to < g.ranks && !g.linked(from, to)
}

// runnable reports whether messages go along all edges of the trees.
func (n *network) runnable(trees []Tree) bool {
	for _, t := range trees {
		for _, e := range t.Edges {
			if !n.linked(e.Parent, e.Child) {
				return false
			}
		}
	}
	return true
}

// splice lets count trees pass a vertex directly, from where in comes from to
// where out leads. A path back to where it came from is dropped, and so is one
// that no message takes.
func (g *graph) splice(in, out int, count int64) {
	if count == 0 {
		return
	}
	from, to := g.links[in].from, g.links[out].to
	a, b := g.take(in, count), g.take(out, count)
	if from == to {
		return
	}
	if g.forbids(from, to) {
		g.lost = true
		return
	}
	for len(a) > 0 {
		n := min(a[0].count, b[0].count)
		edges := append(append([]int(nil), a[0].edges...), b[0].edges...)
		g.add(from, to, []part{{edges, n}})
		if a[0].count -= n; a[0].count == 0 {
			a = a[1:]
		}
		if b[0].count -= n; b[0].count == 0 {
			b = b[1:]
		}
	}
}

// balance narrows the links of a vertex until as much leaves it as enters: first
// each in proportion, then each as far as possible.
func (g *graph) balance(ctx context.Context, w int) (changed, ok bool) {
	ins, outs := g.around(w)
	enter, leave := g.room(ins), g.room(outs)
	wide := ins
	if enter < leave {
		wide, enter, leave = outs, leave, enter
	}
	excess := enter - leave
	if excess == 0 {
		return false, true
	}
	j := newJudge(ctx, g)
	narrow := func(at int, by int64) {
		l := g.links[at]
		if by = min(by, excess, l.room); by == 0 {
			return
		}
		j.widen(l.from, l.to, -by)
		back := min(by, j.short(by))
		j.widen(l.from, l.to, back)
		g.take(at, by-back)
		excess -= by - back
	}
	for _, at := range wide {
		narrow(at, (enter-leave)*g.links[at].room/enter)
	}
	for _, at := range wide {
		narrow(at, excess)
	}
	return true, excess == 0
}

func (g *graph) room(links []int) (sum int64) {
	for _, l := range links {
		sum += g.links[l].room
	}
	return sum
}

// spread replaces a switch whose links are all equal by links that are as equal as
// possible: between GPUs with the same number in different nodes, or between all.
// It changes nothing and returns false if these don't have room for all trees.
func (g *graph) spread(ctx context.Context, w int) bool {
	ins, outs := g.around(w)
	if len(ins) != len(outs) || len(ins) < 2 {
		return false
	}
	m, c := len(ins), g.links[ins[0]].room
	groups := 0 // groups of ranks of one node, all of the same size
	for i := range ins {
		a, b := g.links[ins[i]], g.links[outs[i]]
		if a.from != b.to || a.from >= g.ranks || a.room != c || b.room != c {
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
		j := newJudge(ctx, g)
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
				j.may(from, to)
			}
		}
		if forbidden {
			continue
		}
		for i := range m {
			j.widen(g.links[ins[i]].from, w, -c)
			j.widen(w, g.links[outs[i]].to, -c)
			for shift := 1; shift <= shifts; shift++ {
				j.widen(g.links[ins[i]].from, g.links[outs[(i+shift*step)%m]].to, share(shift))
			}
		}
		if j.short(1) > 0 {
			continue
		}
		for i := range m {
			for shift := 1; shift <= shifts; shift++ {
				g.splice(ins[i], outs[(i+shift*step)%m], share(shift))
			}
		}
		return true
	}
	return false
}

// split replaces a switch pair by pair, moving as much onto each pair's direct
// link as leaves room for all trees: first a share of each pair, so that trees
// stay shallow, then everything. Moving an amount narrows the cuts that the pair
// crosses by that amount, so if trees are missing afterwards, so many less have to
// be moved.
func (g *graph) split(ctx context.Context, w int) bool {
	ins, outs := g.around(w)
	j := newJudge(ctx, g)
	for _, in := range ins {
		for _, out := range outs {
			j.may(g.links[in].from, g.links[out].to)
		}
	}
	for _, share := range []int64{int64(max(1, len(ins)-1)), 1} {
		for i := range outs {
			for d := range ins {
				in, out := ins[(i+1+d)%len(ins)], outs[i]
				from, to := g.links[in].from, g.links[out].to
				most := min(g.links[in].room, g.links[out].room)
				nothing := from == to || g.forbids(from, to) // comes of the pair
				if share > 1 && nothing || most == 0 {
					continue
				}
				if share > 1 {
					most = min(most, (g.links[out].room-1)/share+1)
				}
				if ctx.Err() != nil {
					return false
				}
				pass := func(n int64) {
					j.widen(from, w, -n)
					j.widen(w, to, -n)
					if !nothing {
						j.widen(from, to, n)
					}
				}
				pass(most)
				back := min(most, j.short(most))
				pass(-back)
				g.splice(in, out, most-back)
			}
		}
	}
	return g.room(ins) == 0 && g.room(outs) == 0
}
