// Package ir is the program a runtime interprets (GC3 section 5): for every
// GPU its threadblocks, for every threadblock one connection to send on, one to
// receive on, and a list of steps.
//
//	gpu 0                          gpu 1
//	  tb 0 send→1 recv←1 ch 0        tb 0 send→0 recv←0 ch 0
//	    0 send  in[0]                  0 send  in[1]
//	    1 rrc   in[1]                  1 rrc   in[0]
//	    2 send  in[1]                  2 send  in[0]
//	    3 recv  in[0]                  3 recv  in[1]
//
// Invariants: plain data, with no behaviour but reading, writing, hashing, and
// Contiguous, which splits strided steps for runtimes without strides. All
// places are local to the step's GPU: it reads Src and writes Dst, in chunks
// that are contiguous or a stride apart; the peer's handling of a message is
// the peer's step. Every step named in a Dep has HasDep set. collective.Place
// is already applied: an aliased buffer of an in-place collective is never
// named.
//
// Encoding is canonical: equal programs have equal bytes, and Hash covers
// everything but names and comments.
//
// It checks nothing about a program's meaning: see package verify.
package ir
