// Package report makes one page of a campaign: a file of HTML that stands alone,
// for people who did not run the search.
//
//	the request ─ a picture of the system ─ the winner of each range of sizes ─
//	bandwidth, speedup and every algorithm over size ─ the winning table ─ time against SMs ─ each
//	winner's routing, steps and causes of its time ─ candidates, trials and failures
//
// Timeline is a page of when a training step does what (timeline.go), and Maps one of who is
// the fastest where, over sizes and ranks or nodes (maps.go).
//
// Invariants: equal campaigns give equal bytes, whatever the folder's name and however
// long the trials took; every figure is one of the winning table's, which
// `results -o json` prints, follows from them, or explains one of them; the page loads nothing over the
// network and runs no script; text of journals, topologies and programs appears as text
// and never as markup; the page of a large campaign stays small, and says what it leaves
// out.
//
// It does not measure, and draws no conclusion that the table does not.
package report
