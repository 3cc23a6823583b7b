package cuda

import (
	"context"

	"github.com/colltune/colltune/executor/data"
)

// kernel is an entry point in kernel/kernels.cu.
type kernel uint8

const (
	interpretLL kernel = iota // in the order of topologies.Proto
	interpretLL128
	interpretSimple
	exchangeLL // only the protocols that exchanges can use
	exchangeLL128
	fillKernel
	spreadKernel
	referenceKernel
	emptyKernel
	holdKernel
	hopKernel
)

var kernelNames = [...]string{"interpret_LL", "interpret_LL128", "interpret_Simple", "exchange_LL", "exchange_LL128", "fill", "spread", "reference", "empty", "hold", "hop"}

func (k kernel) String() string { return kernelNames[k] }

// traits are a device's limits for a kernel.
type traits struct {
	blocks  int // resident at once
	threads int // the most of a block
}

// machine runs trials: GPUs through their driver or, in tests, the host build of the
// kernels. A device's launches run in order; those of different devices run at the same
// time.
type machine interface {
	// devices returns the number of devices.
	devices() int
	// use loads the kernels of an element type on the first n devices, and gives these
	// access to each other's memory.
	use(n int, d data.DType) error
	// wholeLines reports whether lines of 128 bytes arrive whole between the first
	// n devices, as LL128 needs them to.
	wholeLines(n int) bool
	// limits returns the limits for a kernel with blocks of the given threads.
	limits(device int, k kernel, threads int) (traits, error)
	// free returns the bytes of memory left on a device.
	free(device int) (int64, error)

	alloc(device int, bytes int64) (uint64, error)
	write(device int, address uint64, b []byte) error
	read(device int, address uint64, b []byte) error
	set(device int, address uint64, bytes int64, value byte) error
	// releaseAll releases everything that alloc has allocated.
	releaseAll() error

	// launch starts a kernel. With cooperative, all its blocks are resident at once.
	launch(device int, l launch) error
	// recorded returns a function that repeats the launches of start on the first n
	// devices: as graphs, if the machine uses them.
	recorded(n int, start func() error) (func() error, error)
	// launches returns how programs are launched: "launches" or "graphs".
	launches() string
	// wait waits for the end of all launches. If ctx is done first, it cancels the
	// kernels and waits for their end, because their memory can't be freed before.
	wait(ctx context.Context) error
	// timed returns the time of the launches of start on the slowest device, in
	// microseconds of the devices' own clocks. If the host was too slow to queue them,
	// it repeats them, at most attempts times in all.
	timed(ctx context.Context, devices int, start func() error) (float64, error)
	// queuedLate returns the number of times, since the last call, that include the
	// host's calls all the same.
	queuedLate() int

	// status returns the address of the statusRecord for kernels. readStatus reads it,
	// even while they run, and resetStatus clears it.
	status() uint64
	readStatus() (statusRecord, error)
	resetStatus() error
}

// launch is one kernel on a grid.
type launch struct {
	kernel      kernel
	blocks      int
	threads     int
	cooperative bool
	parameter   []byte
}
