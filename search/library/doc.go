// Package library says what the vendor's library takes for a call: the time, where it comes from,
// and the program if there is one.
//
//	target, bytes ─▶ nccl: the library's choices, its first, then what stands in ─▶ choose.go: the
//	first source that applies to a choice ─▶ Time
//
//	source         applies to                                    gives
//	nothing        kernels without a clock                       evidence unknown
//	vendor's model kernels for windows, PAT                      µs, evidence predicted
//	closed form    what no program here does, as NVLS            µs
//	steady state   programs too large to be candidates, or       µs, from fewer nodes
//	               between GPUs without a link
//	program        all others                                    a draft, built, simulated or tried
//
// A release is asked of the buffers as called, and, where Options.Others says so, in the other states
// that it knows (none, user, window): a state whose choice is that of a lesser one has no time of its
// own. Where a kernel needs windows that the call does not have, copies into and out of them count
// (copies.go).
//
// Times that ship with colltune, of systems of the catalogue on which models are far off, come before
// any of these where Options.Shipped says so.
//
// Call is the question of one call, Calls of several; Choose leaves programs to be built and tried
// beside others, as package search does. Where times of the library are given, they are asked
// before any of these: see From.
//
// Settings are what variables make the library run instead, with times as those of its own choices (settings.go).
//
// To add a source, add a row to sources (choose.go), its name (From in time.go), a file with what it
// does, and how a baseline of it is kept (point in search/baselines.go). To add what a
// release of NCCL or RCCL chooses, see packages nccl and rccl.
//
// Files, in an order to read them in:
// time.go release.go library.go draft.go entries.go steady.go copies.go shipped.go choose.go settings.go call.go
package library
