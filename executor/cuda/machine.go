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
	blocks  int // of n threads that are resident at once
	threads int // the most of a block
}

// machine is what trials run on: GPUs through their driver or, in tests, the host
// build of the kernels. A device's launches follow one another; those of different
// devices run at the same time.
type machine interface {
	// devices is how many there are.
	devices() int
	// use makes the kernels of an element type ready on the first n devices,
	// which from then on see each other's memory.
	use(n int, d data.DType) error
	// wholeLines reports whether lines of 128 bytes arrive whole between the first
	// n devices, as LL128 needs them to.
	wholeLines(n int) bool
	// room is the limits for a kernel with blocks of n threads.
	room(device int, k kernel, threads int) (traits, error)
	// free is how much memory is left on a device.
	free(device int) (int64, error)

	alloc(device int, bytes int64) (uint64, error)
	write(device int, address uint64, b []byte) error
	read(device int, address uint64, b []byte) error
	set(device int, address uint64, bytes int64, value byte) error
	// releaseAll releases everything that alloc has allocated.
	releaseAll() error

	// launch starts a kernel. With cooperative, all its blocks are resident at
	// once.
	launch(device int, l launch) error
	// recorded returns what launches again what start launches on the first n
	// devices: as graphs, if the machine uses them.
	recorded(n int, start func() error) (func() error, error)
	// launches says how programs are launched: "launches" or "graphs".
	launches() string
	// wait waits for the end of all launches. If ctx is done first, it tells the
	// kernels to end and waits for that, because their memory can't be freed
	// before.
	wait(ctx context.Context) error
	// timed is how long what start launches took on the slowest device, in
	// microseconds of the devices' own clocks. If the host was too slow to queue it,
	// it is launched again, at most attempts times in all.
	timed(ctx context.Context, devices int, start func() error) (float64, error)
	// queuedLate is how many times, since the last call, include the host's calls
	// all the same.
	queuedLate() int

	// status is the address at which kernels see the statusRecord. readStatus
	// reads it, even while they run, and resetStatus clears it.
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
