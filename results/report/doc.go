// Package report makes one page of a campaign: a file of HTML that stands alone,
// for people who did not run the search.
//
//	what was asked ─ the system, drawn ─ who wins where ─ bandwidth, speedup and
//	every algorithm over size ─ the winning table ─ each winner's routing and steps
//	─ what became of candidates and trials, those that went wrong too
//
// Invariants: equal campaigns give equal bytes, whatever the folder is called and
// however long the trials took; every figure is one of the winning table's, which
// `results -o json` prints, or follows from them; the page asks for nothing over
// the network and runs no script; whatever a journal, a topology or a program
// says appears as text and never as markup; and however large a campaign is, its
// page is not: what is left out for that is told.
//
// It does not measure, and it judges nothing that the table does not.
package report
