// Package intervals says how far simulated times may be from those that would be
// measured, by zone.
//
//	residuals of measured rows ──Estimate──▶ Table ──At(zones)──▶ interval of one time
//	                                                └──Speedup──▶ interval of a ratio of two
//
// A residual is ln(measured ÷ simulated). A zone is what residuals are alike in: the kind
// of system and its network, the collective, the band of sizes, and whether the vendor's
// library ran or a program. A zone has an interval, which holds nine in ten of its
// residuals, where at least three data sets measured it; elsewhere the next wider zone's
// counts: any system, then any collective as well. The shipped table is zones.csv, which
// `make accuracy UPDATE=1` writes.
//
// Invariants: an interval depends on its zone's residuals alone, in any order; it is
// 1.3 times as wide as from their 5th to their 95th percentile, where each data set has
// the same weight.
//
// A row of the winning table gets its interval, and its speedup a verdict, in
// results/table/bands.go (Row.addBands); the interval itself is intervalOf's.
//
// It does not simulate: package search/accuracy makes the residuals.
//
//	zone.go        zones, and those of a system
//	estimate.go    intervals of residuals, and of ratios
//	table.go       the shipped table, and its form
//	model.go       the intervals of one system's times
package intervals
