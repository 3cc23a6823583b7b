// Package trees finds routings that move data as fast as any can, without a
// solver: it packs spanning trees into the links so that the bound of package
// bounds is met exactly.
//
//	p, err := trees.Pack(ctx, topo, trees.Options{})     // allgather on 2 DGX A100
//	p.Rate                        1040/3 GB/s, the bound
//	p.K                           13 trees from each of 16 ranks
//	p.Trees[0]                    from rank 0: 0 ─▶ 1, 0 ─▶ 8, 8 ─▶ 9, …
//	prog, err := p.Program(topo)  a chunk program: a tree carries a chunk
//
// Three steps, each exact in whole numbers (ForestColl, arXiv 2402.06787,
// section 5):
//
//	bound     how fast; hence how many trees a root needs, and how many of them
//	          each link has room for                                 units.go
//	switches  replaced by links between the ranks on them, such that nothing is
//	          lost (Mader 1982)                                      split.go
//	pack      one tree after the other, a link at a time; a link is taken where
//	          what is left still has room for the others (Edmonds 1973,
//	          Lovász 1976)                                           grow.go
//
// Disjoint finds a few trees of one root that share no link at all, for templates
// that leave their trees open: by the same steps, one tree at a time, at the widest
// that the narrowest link can be, and made shallower by exchanging links. That there
// are no more it says with the cut that lets no more through.
//
// Invariants: Check, and for Disjoint constraints.CheckTrees, judges by
// the topology alone and shares nothing with what made it; a tree has edges between
// linked ranks only, though flows may find more ways; the same topology gives the same
// packing.
//
// It knows bandwidths only: a packing says what is fastest for large sizes, and
// its trees may be deep. Latency is what package greedy looks at.
package trees
