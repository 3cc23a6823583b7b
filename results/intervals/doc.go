// Package intervals says how far simulated times may be from those that would be
// measured, by zone.
//
//	residuals of measured rows ──Estimate──▶ Table ──At(zones)──▶ interval of one time
//	                                                └──Speedup──▶ interval of a ratio of two
//
// A residual is ln(measured ÷ simulated) of one row. A zone is what rows are alike in: the
// kind of system and its network, the collective, the band of sizes, and whether the
// vendor's library ran or a program.
//
// The next machine differs from the measured ones as they differ from each other, and not
// as one row from the next. So each data set has the same weight, however many its rows:
// an interval reaches from the 5th to the 95th percentile of residuals so weighed, and each
// end then moves out by 15 % of that width. For the next of n data sets theory would have
// more where n is below 7 (Student's t), but a zone is not to be more than 1.3 times as
// wide as its own residuals ask.
//
// How data sets differ takes some to tell: a zone has an interval where four measured it,
// so that three are left when one is left out. Elsewhere the zone of the same size counts
// that takes in any system and collective, on one node or on several.
//
// An algorithm of the library, or a family of programs, that no row is of has no interval:
// nothing measured supports its simulated time, as of NVLS over nodes (NVLSTree) and PAT.
//
// Invariants: an interval depends on its zone's residuals alone, in any order. The shipped
// table is zones.csv, which `make accuracy UPDATE=1` writes.
//
// A row of the winning table gets its interval, and its speedup a verdict, in
// results/table/bands.go (Row.addBands); the interval itself is intervalOf's.
//
// It does not simulate: package cmd/lab/accuracy makes the residuals.
//
//	zone.go        zones, and those of a system
//	estimate.go    intervals of residuals, and of ratios
//	table.go       the shipped table, and its form
//	model.go       the intervals of one system's times
package intervals
