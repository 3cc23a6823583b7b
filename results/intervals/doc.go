// Package intervals says how far simulated times may be from those that would be
// measured, by zone.
//
//	residuals of measured rows ──▶ Table ──At(zones)──▶ interval of one time
//	                                     └──Speedup──▶ interval of a ratio of two
//
// A residual is ln(measured ÷ simulated) of one row. A zone is what rows are alike in: the
// kind of system and its network, the collective, the band of sizes, and whether the
// vendor's library ran or a program.
//
// An algorithm of the library, or a family of programs, that no row is of has no interval:
// nothing measured supports its simulated time, as of NVLS over nodes (NVLSTree) and PAT.
//
// Invariants: a zone has one interval, or none; the shipped
// table is zones.csv, which `make accuracy UPDATE=1` writes.
//
// A row of the winning table gets its interval, and its speedup a verdict, in
// results/table/bands.go (Row.addBands).
//
// It does not simulate, nor make intervals of residuals: package cmd/lab/accuracy does.
//
//	zone.go        zones, and those of a system
//	interval.go    intervals of times, and of ratios
//	table.go       the shipped table, and its form
//	model.go       the intervals of one system's times
package intervals
