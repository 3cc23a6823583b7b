// Package accuracy compares simulated times with measured ones, and estimates from the
// differences how sure a simulated time is.
//
//	manifest ─┐
//	rows ─────┴─▶ Compare ──▶ Compared{measured, simulated} ──▶ Study ──Table──▶ zones.csv
//	                                                             └──LeaveOut a machine──▶ Verdicts ──Page──▶ docs/reference/simulator-errors.md
//
// A data set is a file of rows that were measured on one machine. Its manifest says what
// system that is, which release of the library ran, which programs its labels name, and which
// rows are not used and why. testdata has the manifest and all rows that are used, of which the
// shipped intervals and the page are made. `make accuracy MEASURED=DIR` takes them from files.
//
// The next machine differs from the measured ones as they differ from each other, and not
// as one row from the next. So each machine has the same weight, however many its rows, and the
// next is one more: as any of those, or as any that measured the next wider zone. An interval
// reaches from the 5th to the 95th percentile of residuals so weighed, and of the zone's rows
// each for itself.
//
// What the next machine adds beyond that is told by leaving out one at a time, with all its
// data sets: intervals are as much wider as it takes for 91 % of all such rows, 85 % in the mean
// over machines, and 80 % of a zone's to lie inside. Those of a zone that would say too little
// stay as narrow as says something; whether that holds three rows of four, the table says.
//
// Invariants: an interval does not depend on the order of rows; nothing is fitted here but the
// intervals; a row is compared, or unused with a reason, and never dropped.
//
// It does not decide how zones are drawn: results/intervals does.
//
//	manifest.go rows.go            data sets, and their rows
//	compare.go byhand.go           what ran at each row, simulated
//	backtoback.go                  calls that follow without a wait
//	estimate.go judge.go           intervals of rows, and against them
//	limits.go page.go             what limits errors, and the page
package accuracy
