// Package cuda runs programs on NVIDIA GPUs: the interpreter of GC3 section 6.2 as one
// kernel a GPU, through the driver's library, which is loaded at run time.
//
//	trial ─▶ plan ──────▶ tables ─────▶ device memory ─▶ interpret_LL128 ─▶ times
//	         offsets in   blocks,       fill, spoil      a block of the     reference
//	         memory       steps,        inputs           grid for each      counts wrong
//	                      chunks, …     and outputs      threadblock        elements
//
//	check.go    bounds of buffers and tables             kernel/layout.h   the tables, in C
//	plan.go     memory of ranks, connections, counters
//	tables.go   the program as tables                    kernel/*.h        the interpreter
//	wants.go    the expected result                      kernel/device/    a GPU's operations
//	ordered.go  which programs need fenced messages      kernel/host/      the same for the host
//	trial.go    run, time, check                         ptx/              the kernels, built
//	fit.go      which kernel, how many threads
//	graphs.go   launches recorded as CUDA graphs         code.go           the compiler of the kernels
//	runs.go     reductions merged into one step          settings.go       [executor.cuda]
//	exchange.go programs of small messages, a block      inorder.go        a rank's steps in one order
//	            for each rank                            parts.go          steps merged into parts
//
// A step that has a line for each thread at most, whole and aligned, is small: the host
// marks them, and kernel/small.h executes them with little computation between messages. A
// program of few such steps is an exchange, a block for each rank, whose threads wait for
// messages alone: kernel/exchange.h.
//
// Kernels are C++ of a few hundred lines without the toolkit's headers. clang
// builds them to PTX (go generate), which is embedded compressed, one file an element type;
// the driver compiles it for the device, or NVRTC the source where the driver
// can't. The same source builds for the host, where tests run a GPU's tables, under the
// thread sanitizer too; and package ptxtest executes the embedded PTX behind the functions
// of the driver's library.
//
// Connections are FIFO buffers in the receiver's memory. Simple has slots with a
// head and a tail; LL has a flag beside every 4 bytes and LL128 one in each line
// of 128, so that the receiver sees from the data itself that it has arrived. Counters,
// flags and semaphores only grow, over tiles and launches, and are never reset.
//
// Invariants: all blocks of a grid are resident or the trial is refused; a launch that
// stands still ends by itself with an error that names a waiting threadblock and its event;
// the result is checked before and after the timed iterations, by a reference that knows
// only the collective; times of ranks that share a GPU are never mixed with those of ranks
// that have one each (the fingerprint).
//
// It does not choose programs, and all GPUs are of one host.
package cuda
