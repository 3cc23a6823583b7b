// Package maxflow finds maximum flows with integer capacities, by Dinic's
// algorithm, in networks that are built once and asked many times with
// capacities that change.
//
//	g := maxflow.New(4)
//	a := g.Arc(0, 1, 3)       0 ─3─▶ 1 ─2─▶ 3
//	g.Arc(1, 3, 2)             └─1─▶ 2 ─5─▶┘
//	g.Arc(0, 2, 1)
//	g.Arc(2, 3, 5)
//	g.Run(0, 3, maxflow.Unlimited)   // 3
//	g.Flow(a)                        // 2
//	g.Reached(1)                     // true: 1 is on the source's side of the cut
//
// Invariants: a run starts from no flow, unless it is told to go on; capacities
// are at most Unlimited, and their sum over any cut that is asked for fits an
// int64. It knows no topologies and is not safe for concurrent use.
package maxflow
