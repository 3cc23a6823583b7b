// Package accuracy compares simulated times with measured ones, and estimates from the
// differences how sure a simulated time is.
//
//	manifest ─┐
//	rows ─────┴─▶ Compare ──▶ Compared{measured, simulated} ──▶ intervals.Estimate ──▶ zones.csv
//	                                     └──LeaveOut one data set, Judge──▶ Verdicts ──Page──▶ docs/simulator.md
//
// A data set is a file of rows that were measured on one machine. Its manifest says what
// system that is, which programs its labels name, and which rows are not used and why.
// testdata has the manifest and the rows of which the shipped intervals and the page are
// made: each size of a call once. `make accuracy MEASURED=DIR` takes whole files, with
// repeated rows and all placements and element types, and fails where the shipped intervals
// hold too few of them.
//
// Invariants: nothing is fitted here but the intervals; a row is compared, or unused with
// a reason, and never dropped.
//
// It does not decide how zones are drawn or how wide an interval is: results/intervals does.
//
//	manifest.go rows.go once.go    data sets, and their rows
//	compare.go byhand.go           what ran at each row, simulated
//	backtoback.go                  calls that follow without a wait
//	judge.go page.go               intervals against rows, and the page
package accuracy
