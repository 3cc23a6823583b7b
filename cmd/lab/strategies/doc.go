// Package strategies has those that the model is compared with, each of which decides what to
// measure next in a space of package autotune/model.
//
//	exhaustive random    every point, in an order known from the start   exhaustive.go
//	halving              fewer configurations at each halving of gaps    halving.go
//	descent              one trait at a time                             descent.go
//
// The table is in strategies.go. Below it, order.go has in which order configurations are
// tried, and measured.go what a history comes to.
//
// Invariant: equal spaces, options and histories give equal points.
package strategies
