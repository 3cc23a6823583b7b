// Package cuda runs programs on NVIDIA GPUs: the interpreter of GC3 section 6.2
// as one kernel a GPU, through the driver's library, loaded when it is needed.
//
//	trial ─▶ plan ──────▶ tables ─────▶ device memory ─▶ interpret_LL128 ─▶ times
//	         what lies    blocks,       fill, spoil      a block of the     reference
//	         where        steps,        inputs           grid for each      counts what
//	                      chunks, …     and outputs      threadblock        came out wrong
//
//	check.go    what would lead out of a table           kernel/layout.h   the tables, in C
//	plan.go     memory of ranks, connections, counters
//	tables.go   the program as tables                    kernel/*.h        the interpreter
//	wants.go    what must come out                       kernel/device/    what a GPU is asked for
//	ordered.go  which programs need fenced messages      kernel/host/      the same of the host
//	trial.go    run, time, check                         ptx/              the kernels, built
//	fit.go      which kernel, how many threads
//	graphs.go   launches recorded as CUDA graphs         code.go           who makes machine code of them
//	runs.go     reductions that are one step here        settings.go       what a user can set
//	exchange.go programs of small messages, a block      inorder.go        a rank's steps in one order
//	            for each rank                            parts.go          what of them is one part
//
// A step that has a line for each thread at most, whole and aligned, is small: the
// host knows which are, and kernel/small.h carries them out with next to nothing
// computed between one message and the next. A program of few such steps is an
// exchange, a block for each rank, whose threads wait for messages and for nothing
// else: kernel/exchange.h.
//
// Kernels are C++ of a few hundred lines without the toolkit's headers. clang
// builds them to PTX (go generate), which is embedded, one file an element type;
// the driver compiles it for the device, or NVRTC the source where the driver
// can't. The same source builds for the host, where tests run what a GPU would
// be handed, under the thread sanitizer too; and package ptxtest executes the
// embedded PTX, as the driver's library would have a GPU do.
//
// Connections are FIFO buffers in the receiver's memory. Simple has slots with a
// head and a tail; LL has a flag beside every 4 bytes and LL128 one in each line
// of 128, so that data tells by itself that it has come. Counters, flags and
// semaphores only grow, over tiles and launches, and are never reset.
//
// Invariants: all blocks of a grid are resident or the trial is refused with
// numbers; a launch that stands still ends by itself and says who waits for
// what; every measurement is of a program whose result was right before and
// after it, by a reference that knows only the collective; ranks that share a
// GPU are never mixed with ranks that have one each.
//
// It does not choose programs, and knows no network: all GPUs are of one host.
package cuda
