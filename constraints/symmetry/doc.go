// Package symmetry finds the automorphisms of a coloured directed graph: the
// ways of renaming its vertices that change nothing.
//
//	0 ──▶ 1        g := symmetry.NewGraph([]int{0, 0, 0, 0})
//	▲     │        g.Arc(0, 1, 7) …
//	│     ▼        group := symmetry.Find(ctx, g, symmetry.Limit)
//	3 ◀── 2        group.Generators     [[1 2 3 0]]
//	               group.Order()        4
//
// Colours say what may be taken for what: a switch for a switch, a link of
// 50 GB/s for another of 50 GB/s. Parallel arcs count.
//
// Vertices are told apart by their colours, then by those of their neighbours,
// until that tells no more (colour refinement); where vertices of one colour are
// left, one of them is picked and tried in the place of every other
// (backtracking). What is found for the last pick helps with those before it:
// vertices that a known automorphism takes to each other need one trial
// (Schreier and Sims).
//
// Invariants: every generator has been held to the graph, arc by arc; the same
// graph gives the same generators. Work is bounded, and ends with the context:
// where that is first, Group.Whole is false and the generators are those of a
// subgroup.
//
// It knows no topologies, and enumerates no group: orders are products.
package symmetry
