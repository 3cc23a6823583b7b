// Package score plays strategies on a recorded space, over many seeds, and says how far their
// winners are from the best after how many trials.
//
//	recorded.Space ──▶ model.Space ──▶ Next ──▶ recorded time × noise ──▶ history ─┐
//	                                       ▲                                         │
//	                                       └─────────────────────────────────────────┘
//	each seed, each number of trials: time of the winners ÷ best time, by size ──▶ Curve
//
// The times of winners and best are the recorded ones, without the noise of trials.
//
// Files: space.go, what a strategy sees of a recorded space; score.go, the play; regret.go,
// what it comes to.
//
// Invariant: equal spaces and options give equal curves, however many jobs there are.
package score
