// Package maxflow finds maximum flows with integer capacities by Dinic's algorithm
// (1970). A network is built once and solved many times with changing capacities.
//
//	g := maxflow.New(4)
//	a := g.Arc(0, 1, 3)       0 ─3─▶ 1 ─2─▶ 3
//	g.Arc(1, 3, 2)             └─1─▶ 2 ─5─▶┘
//	g.Arc(0, 2, 1)
//	g.Arc(2, 3, 5)
//	g.MaxFlow(0, 3, maxflow.Unlimited)   // 3
//	g.Flow(a)                            // 2
//	g.OnSourceSide(1)                    // true: 1 is on the source's side of the minimum cut
//
// Capacities must be 0 to Unlimited, and their sum over any cut that is asked for
// must fit an int64. A Graph is not safe for concurrent use. It knows no
// topologies.
package maxflow
