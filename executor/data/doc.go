// Package data is the data that executors move and check: element types, reductions on
// bytes, reproducible inputs, and the expected result of a collective, taken from its
// definition and never from a program.
//
//	r, err := data.NewReference(collective, bytes, "bf16", "sum", seed)
//	r.Init(rank, &buffers)                  inputs filled, outputs and scratch poisoned
//	…run the program…
//	wrong := r.Wrong(ranks, buffers)        elements that differ from the expected ones
//
// # Layout
//
// A call of n bytes has N = ⌈bytes ÷ element⌉ elements. A collective's
// buffers are made of units (collective.Table defines them: the whole buffer of an
// allreduce, the part of a rank in an allgather), C chunks each,
// and the call's size is U units. Each unit has
//
//	S = ⌈N ÷ U⌉ elements, and chunk i of a buffer, with u = ⌊i ÷ C⌋ and j = i mod C, is
//	elements u·S + ⌊j·S ÷ C⌋ up to u·S + ⌊(j+1)·S ÷ C⌋ of it
//
// so every element belongs to one chunk, units lie next to each other as users
// have them, and a chunk has E = ⌈S ÷ C⌉ elements or one less. A message carries
// E elements for each of its chunks, and scratch has E for each of its own. A
// chunk of a user's buffer that has one less keeps the last one aside, in a
// place of its own: its value belongs to no result, but what a program parks in
// another chunk's place comes back whole.
//
// # Inputs
//
// Element e of the input of a rank is made of one 64-bit hash. All arithmetic is
// unsigned and modulo 2⁶⁴, >> shifts in zeros:
//
//	hash(seed, rank, e):  x = seed·0x2545f4914f6cdd1d + rank·0xd1b54a32d192ed03 + e·0x9e3779b97f4a7c15
//	                      x = (x ^ x>>30) · 0xbf58476d1ce4e5b9
//	                      x = (x ^ x>>27) · 0x94d049bb133111eb
//	                      hash = x ^ x>>31
//
// With h = hash(seed, rank, e), and below(n) = ((h >> 32) · n) >> 32, which is
// from 0 to n-1:
//
//	nothing is reduced           the low bits of h, as many as an element has
//	integers, prod               the same with the lowest bit set
//	integers, any other          the low bits of h
//	floats, min and max          the integer below(2M+1) - M
//	floats, sum and avg          the same where the rank's turn is, 0 elsewhere
//	floats, prod                 2 to the power below(3) - 1 where the rank's turn is, 1 elsewhere;
//	                             negative where the lowest bit of h is set
//	turn                         (rank + (hash(seed, 0xffffffff, e) >> 32)) mod K = 0, all the time where K = 1
//
// M and K follow from the terms T of the largest reduction (the ranks, but for
// custom collectives), the precision P of the type (8 bits for bf16, 11 for f16,
// 24 for f32, 53 for f64) and its exponents X (14 for f16, 126 for bf16 and f32,
// 1022 for f64):
//
//	sum, avg     M = 2^P ÷ T rounded down, from 1 to 2²⁰;  K = ⌈T ÷ 2^P⌉
//	prod         K = ⌈T ÷ X⌉
//	min, max     M = 2^P - 1, at most 2²⁰
//
// so that every partial result of every order is exact in the element type: any
// subset of a sum is an integer of at most 2^P, any subset of a product a power
// of two in the normal range; integers are exact modulo 2^bits. A right program
// gives the right bits whatever its order: nothing here needs a tolerance. An odd factor has
// an inverse, so a product of integers that lacks one is another value.
// Params has these constants.
//
// avg is the sum, divided once at the end by the number of terms: an executor runs the
// program with sum, then divides the outputs that are reductions.
// Integers are divided as signed or unsigned, towards zero; f16 and
// bf16 in f32, rounded once more; to the nearest, ties to even.
//
// # Poison
//
// Before a run every output element has the complement of its right value, so
// one that is not written is wrong. Scratch holds a value that spoils any result: Poison
// returns it for each reduction. Around every buffer lie GuardBytes bytes of Guard.
//
// Invariants: nothing here looks at a program; the folds of the reference share
// no code with Reduction.
//
// It does not run anything: that is for executor/cpu and executor/cuda.
package data
