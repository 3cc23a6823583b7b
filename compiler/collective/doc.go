// Package collective defines the precondition and postcondition of every
// collective operation, chunk by chunk (GC3 section 3.2).
//
//	allreduce over 3 ranks, 3 chunks          allgather over 3 ranks, 1 chunk
//	in   r0: a0 a1 a2                          in   r0: a    r1: b    r2: c
//	     r1: b0 b1 b2                          out  r*: a b c
//	     r2: c0 c1 c2
//	out  r*: a0+b0+c0 a1+b1+c1 a2+b2+c2
//
// A collective is a row of a table: how many chunks the input and the output
// of a rank hold, what every output chunk must contain, and where an in-place
// call lets the two buffers overlap.
//
// The vector forms have a count for every rank, and a row built from those
// (vector.go); a custom collective is a table of the required value of every
// unit of output (custom.go). Both are part of the Spec.
//
// Invariants: the functions are pure and cheap, so a postcondition over 2,048
// ranks is evaluated chunk by chunk and never stored; a Spec is the complete
// serialised form, and New derives the rest from it.
//
// Collectives and element types have other names elsewhere: names.go and dtype.go hold all
// of them, once.
//
// It knows nothing of programs, links or sizes in bytes, except nccl-tests'
// bus bandwidth factors, which are a property of the collective.
package collective
