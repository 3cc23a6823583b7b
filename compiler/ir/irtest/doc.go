// Package irtest makes programs for tests that need a program but no compiler.
//
//	p := irtest.Ring(4, 2, 0, true)    allreduce round a ring of 4 ranks, 2 instances, in place
//
// Invariants: equal arguments give equal programs, and other arguments give other
// hashes.
//
// Its programs are for tests only: users' programs come from packages templates
// and compiler.
package irtest
