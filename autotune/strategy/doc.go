// Package strategy decides which configuration to measure next, at which size, where every
// measurement costs time.
//
//	space: configurations × sizes, with the prior times of a model
//	history: what was measured ──▶ Next ──▶ points to measure ──▶ history
//
// A strategy sees no programs and no executors, so that the same one serves a campaign and
// a recorded space, on which it is scored. Next depends on the space, the options and the
// history alone: equal ones give equal points, in whichever process. All strategies but
// exhaustive begin with a trial of every size, coarse sizes first, so that any end leaves a
// whole table.
//
// Files: space.go, what is chosen from; strategy.go, the table of strategies; exhaustive.go
// (with random), halving.go and descent.go, a strategy each; model.go, the strategy of the
// fewest trials, over outlook.go, what is left to gain, posterior.go, a Gaussian process,
// kin.go, its covariance, learn.go, the hyperparameters, and units.go, jumps between numbers
// of workers; order.go, in which order sizes and configurations are tried; measured.go, what
// a history comes to.
package strategy
