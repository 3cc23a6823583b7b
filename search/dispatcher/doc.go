// Package dispatcher says what to run for a call of any size on any number of nodes, from a map:
// the campaigns of one search over several numbers of nodes.
//
//	campaigns ──New──▶ rows of the map ──Between──▶ and of nodes between ──Choose(nodes, bytes)──▶ a row
//	     │                                  ▲                         └──Document──▶ colltune.dispatcher/v1
//	     └── measured ÷ estimated ──▶ the routings worth trying there ──▶ a short search (simulator)
//	                                                                  └──▶ the best by estimate (other executors)
//
// A winner on 4 nodes and one on 16 say little of 8: what wins between often wins on neither
// side. So the routings of the number in between are estimated by their costs (package
// search), each estimate is corrected by how far those of its kin were off on both sides, and
// the most promising are simulated.
//
// A recipe is what a program is made from and runs with: family, parameters, instances,
// protocol and tile. What is found for a topology, such as a ring's order, is no part of it.
// Regret is the time of what is chosen over the best time, on nodes that were left out.
//
// Files, in an order to read them in: recipe.go correction.go dispatcher.go between.go
// regret.go document.go
package dispatcher
