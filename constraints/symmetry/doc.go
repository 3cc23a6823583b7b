// Package symmetry finds the automorphism group of a coloured directed multigraph:
// the permutations of its vertices that preserve colours and arcs.
//
//	0 ──▶ 1        g := symmetry.NewGraph([]int{0, 0, 0, 0})
//	▲     │        g.Arc(0, 1, 7) …
//	│     ▼        group := symmetry.Find(ctx, g, symmetry.Limit)
//	3 ◀── 2        group.Generators     [[1 2 3 0]]
//	               group.Order()        4
//
// A vertex or arc is only mapped to one of the same colour: a switch to a switch, a
// link of 50 GB/s to another of 50 GB/s. Parallel arcs count.
//
// The search is individualization and refinement, as in nauty (McKay 1981).
// Vertices are partitioned by colour, then by the colours of their neighbours, until
// nothing changes (colour refinement). If a cell has several vertices, one of them
// is individualized, and each of the others is tried as its image (backtracking).
// The individualized vertices are a base of the group (Schreier and Sims); the
// search goes from the last to the first, and tries one vertex of each orbit under
// the automorphisms found so far.
//
// Invariants: every generator has been checked against the graph, arc by arc; the
// same graph gives the same generators. If the work limit is met or the context
// ends first, Group.Complete is false and the generators are those of a subgroup.
//
// It knows no topologies, and does not enumerate groups: orders are products.
package symmetry
