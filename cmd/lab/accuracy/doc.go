// Package accuracy compares simulated times with measured ones, and estimates from the
// differences how sure a simulated time is.
//
//	manifest ─┐
//	rows ─────┴─▶ Compare ──▶ Compared{measured, simulated} ──▶ Estimate ──▶ zones.csv
//	                                     └──LeaveOut one data set, Judge──▶ Verdicts ──Page──▶ docs/reference/simulator-errors.md
//
// A data set is a file of rows that were measured on one machine. Its manifest says what
// system that is, which programs its labels name, and which rows are not used and why.
// testdata has the manifest and the rows of which the shipped intervals and the page are
// made: each size of a call once. `make accuracy MEASURED=DIR` takes whole files, with
// repeated rows and all placements and element types, and fails where the shipped intervals
// hold too few of them.
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
// Invariants: an interval depends on its zone's residuals alone, in any order; nothing is fitted here but the intervals; a row is compared, or unused with
// a reason, and never dropped.
//
// It does not decide how zones are drawn: results/intervals does.
//
//	manifest.go rows.go once.go    data sets, and their rows
//	compare.go byhand.go           what ran at each row, simulated
//	backtoback.go                  calls that follow without a wait
//	estimate.go judge.go page.go   intervals of rows, and against them, and the page
package accuracy
