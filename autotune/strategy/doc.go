// Package strategy decides which configuration to measure next, at which size, where every
// measurement costs time.
//
//	space: configurations × sizes, with the prior times of a model
//	history: what was measured ──▶ Next ──▶ points to measure ──▶ history
//
// A strategy sees no programs and no executors, so that the same one serves a campaign and
// a recorded space, on which it is scored. Next depends on the space, the options and the
// history alone: equal ones give equal points, in whichever process.
//
// Files: space.go, what is chosen from; strategy.go, the table of strategies; one file for
// each of them.
package strategy
