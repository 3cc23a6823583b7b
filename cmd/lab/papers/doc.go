// Package papers holds what the papers claim against the simulator: GC3, SCCL, PCCL and
// MCR-DL.
//
//	Claim{says, published, evidence} ──Find, in a Lab──▶ Found ──Judge──▶ verdict ──Page──▶ cmd/lab/papers.md
//	                                                                     └──Changes◀──Recorded──┘
//
// A claim is a row that can be read aloud: where the paper makes it, what it says, what the
// text publishes, what is simulated and measured of that, and whose side the evidence is on
// where the two differ. Most evidence is a duel: the speedup of a paper's program, with the
// knobs that the paper tunes, over the vendor's library. There is no search.
//
// Invariants: a figure of the page comes from a simulation of the run, or from measured.csv;
// the same tree gives the same page; what is not simulated is named so, and has no verdict.
//
// Files, in an order to read them in:
//
//	claims      claim.go paper.go gc3.go sccl.go pccl.go mcrdl.go
//	evidence    lab.go curve.go step.go measured.go
//	the page    page.go
package papers
