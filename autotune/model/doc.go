// Package model decides which configuration to measure next, at which size, where every
// measurement costs time: the one of the largest expected gain for its cost.
//
//	space: configurations × sizes, with the prior times of another model
//	history: what was measured ──▶ Next ──▶ points to measure ──▶ history
//
// It sees no programs and no executors, so that the same model serves a campaign and a
// recorded space, on which it is scored (cmd/lab/score). Next depends on the space, the options
// and the history alone: equal ones give equal points, in whichever process. It begins with a
// trial of every size, coarse sizes first, so that any end leaves a whole table.
//
// Files: space.go, what is chosen from; order.go, in which order sizes are tried; model.go,
// the choice, over outlook.go, what is left to gain, posterior.go, a Gaussian process, kin.go,
// its covariance, learn.go, the hyperparameters, and units.go, jumps between numbers of workers.
package model
