// Package nccl says what the vendor's library would do: which algorithm,
// protocol and how many channels NCCL's own cost model picks for a collective
// of a size on a topology.
//
//	dgx-a100, allreduce    1 MiB  ring LL     ×24    one ring, in 24 copies
//	                      16 MiB  ring LL128  ×24    (GC3 section 7.1.1)
//	                       1 GiB  ring Simple ×24
//
// Three stages, as in NCCL: channels and their speed from the topology (graph.go), which make a
// Communicator; a latency and bandwidth for each algorithm and protocol (Tuning); the least time, and
// fewer channels where the size does not fill them (Ranked). What differs between releases is a row
// (release.go). The last two choose as the releases' own sources do, to the last bit: testdata/selected.gz
// has what 2.26.6 to 2.31.2 answered to 140,000 questions. Collectives that NCCL builds of sends and
// receives are direct, with LL up to 16 KiB for each channel that a peer may have and Simple above
// (direct.go).
//
// The model tells what the library selects; what a call takes is library.Call's to say. It is no clock: measured times are
// up to twice as long at small sizes. What a call takes beyond a program's simulated time
// is in extra.go; only NVLS and PAT have a clock here (nvls.go, pat.go).
//
// Invariants: a choice depends on the topology, the collective and the size
// alone; a graph search is replaced by counting what each GPU's links, those
// between parts of a node and each node's NICs can carry. On links from GPU to GPU
// rings must exist as well: four GPUs have no three that share no link.
//
// What no program here does, as NVLS, where switches reduce, or PAT, is told
// as the library's choice, with its time by a closed form (docs/reference/simulator-rules.md), and with
// what the library would run otherwise behind it.
//
// Calls on windows ask package symmetric first (windows.go): its choices stand before the general ones, with a predicted time,
// at least what the links and switches need for the bytes, or an unknown one.
//
// A fork of NCCL, such as RCCL (package rccl), sees systems as NCCL does, and chooses by numbers of
// its own (fork.go).
//
// Settings of a call are what variables make of it (settings.go).
//
// Left says a choice in the form of NCCL's tuner (left.go), for files that have to name what
// they leave to NCCL.
//
// It does not choose CollNet, nor NVLS over nodes, which need a network that reduces; nodes that share an
// NVLink domain are one.
//
// To add a release: a row in release.go, from what its tuning code (src/tuning, transport/nvls.cc) changes.
// To add its answers: a program ORACLES/VERSION/oracle that has that code built against a communicator
// filled from the questions (asking.String in selector_test.go) and prints algorithm, protocol, channels,
// warps and the bits of the time; go test -run TestSelected -update-selected ORACLES writes them anew.
package nccl
