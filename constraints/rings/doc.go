// Package rings finds ring orders of a topology's ranks that share no link, or by twos where that
// carries more (Sharing).
//
//	found, err := rings.Find(ctx, s, topo, rings.Options{Count: 1})
//	found.Orders[0]   [0 1 3 2 6 7 5 4] on a DGX-1: each step over a double NVLink
//	found.By          packing: few ring orders need a solver, all on nodes of more than 16
//
// Arguments that a user can verify by hand come before any search (refute.go,
// bounds.go). On nodes of more than 16 ranks exchange looks for rings that also run in
// reverse first (pairs.go): without these it finds no ring of mesh:16x16.
//
// Check judges orders by the topology alone.
package rings
