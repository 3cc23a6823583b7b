// Package intervals says how far simulated times may be from those that would be
// measured, by zone.
//
//	residuals of measured rows ──▶ Table ──At(zones)──▶ interval of one time
//	                                     └──Speedup──▶ interval of a ratio of two
//
// A residual is ln(measured ÷ simulated) of one row. A zone is what rows are alike in, by what
// makes a simulated time wrong: what the time comes from, the links and the network, the
// generation of the GPUs, the protocol, the pattern of the collective or its primitives, and
// the band of sizes. Whose program it was says nothing: the library's rings and trees are
// simulated as any other program is.
//
// A zone that holds too few rows of machines that it was not made from, or whose interval is
// too wide to say something, is unsupported, and so is what no zone has a row of, as the
// library's NVLS over nodes (NVLSTree) and PAT. A system whose constants no row was measured
// with has wider intervals.
//
// Invariants: a zone has one interval, or none; the shipped
// table is zones.csv, which `make accuracy UPDATE=1` writes.
//
// A row of the winning table gets its interval, and its speedup a verdict, in
// results/table/bands.go (Row.addBands).
//
// It does not simulate, nor make intervals of residuals: package cmd/lab/accuracy does.
//
//	zone.go system.go shape.go    zones, and what of a call, a system and a program they ask
//	interval.go                   intervals of times, and of ratios
//	table.go                      the shipped table, and its form
//	model.go                      the intervals of one system's times
package intervals
