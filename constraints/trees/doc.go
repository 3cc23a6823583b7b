// Package trees packs spanning trees into a topology's links such that together they
// meet the bandwidth bound of package bounds, without a solver.
//
//	p, err := trees.Pack(ctx, topo, trees.Options{})     // allgather on 2 DGX A100
//	p.Rate                        1040/3 GB/s, the bound
//	p.K                           13 trees from each of 16 ranks
//	p.Trees[0]                    from rank 0: 0 ─▶ 1, 0 ─▶ 8, 8 ─▶ 9, …
//	prog, err := p.Program(topo)  a chunk program: a tree carries a chunk
//
// Three steps, each exact in integers (ForestColl, arXiv 2402.06787, section 5):
//
//	bound     the rate, hence the number of trees of a root, and how many of
//	          them each link has capacity for                        pack.go
//	switches  replaced by links between the ranks on them, by splitting off
//	          pairs of links without losing a tree (Mader 1982)      split.go
//	pack      one tree after the other, a link at a time; a link is added if
//	          what is left still has capacity for the other trees
//	          (Edmonds 1973, Lovász 1976)                            grow.go
//
// Disjoint finds a few trees of one root that share no link at all, for templates that
// leave their trees open. It uses the same steps, one tree at a time, at the greatest
// width of the narrowest link, and makes the trees shallower by exchanging links. If
// there are too few trees, its error names the cut.
//
// Invariants: Packing.Check, and constraints.CheckTrees for Disjoint, judge by the
// topology alone and share no code with the search; a tree has edges between linked
// ranks only; the same topology gives the same packing.
//
// It considers bandwidth only: a packing is fastest for large sizes, and its trees may
// be deep. Package greedy considers latency.
package trees
