// Package irtest makes programs for tests that need one but not a compiler.
//
//	p := irtest.Ring(4, 2, 0, true)    allreduce round a ring of 4 ranks, 2 instances, in place
//
// Invariants: equal arguments give equal programs, and other arguments give other
// hashes.
//
// It does not stand in for the families: what is measured or exported for users
// comes from packages templates and compiler.
package irtest
