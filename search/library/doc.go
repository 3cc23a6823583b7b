// Package library says what the vendor's library takes for a call: the time, where it comes from,
// and the program if there is one.
//
//	target, bytes ─▶ nccl: the library's choices, its first, then what stands in ─▶ choose.go: the
//	first source that applies to a choice ─▶ Time
//
//	source         applies to                                    gives
//	closed form    what no program here does, as NVLS            µs
//	steady state   programs too large to be candidates, or       µs, from fewer nodes
//	               between GPUs without a link
//	program        all others                                    a draft, built, simulated or tried
//
// Call is the question of one call, Calls of several; Choose leaves programs to be built and tried
// beside others, as package search does. Where times of the library are given, they are asked
// before any of these: see From.
//
// To add a source, add a row to sources (choose.go), its name (From in time.go), a file with what it
// does, and how a baseline of it is kept (point in search/baselines.go). To add what a
// release of NCCL or RCCL chooses, see packages nccl and rccl.
//
// Files, in an order to read them in: time.go release.go library.go draft.go entries.go steady.go choose.go call.go
package library
