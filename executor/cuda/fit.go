package cuda

import (
	"fmt"

	"github.com/colltune/colltune/executor"
)

// mostThreads is how many threads a block may have. leastThreads is the fewest
// that are tried: lines of LL128 need whole warps.
const (
	mostThreads  = 512
	leastThreads = 64
	warp         = 32
)

// fit chooses the kernel and the threads of a block. It begins with as many as the
// topology says, and halves them until all blocks are resident at once.
func (r *running) fit() error {
	r.threads = mostThreads
	if n := r.p.proto.Threads; n > 0 {
		r.threads = min(max(n/warp*warp, warp), mostThreads)
	}
	if x := r.p.exchange; x != nil {
		fits, err := r.fitExchange(x)
		if fits || err != nil {
			return err
		}
		r.p.exchange = nil
	}
	k := kernel(r.p.protocol)
	r.kernel = k
	for i := range r.p.devices {
		want := len(r.p.devices[i].blocks)
		for {
			room, err := r.m.room(i, k, r.threads)
			if err != nil {
				return err
			}
			if r.threads > room.threads {
				r.threads = room.threads
				continue
			}
			if room.blocks >= want {
				break
			}
			if r.threads/2 < min(leastThreads, room.threads) {
				return fmt.Errorf("%w: %d ranks of device %d have %d threadblocks, and %d of %d threads are resident at once", executor.ErrUnsupported, len(r.p.devices[i].ranks), i, want, room.blocks, r.threads)
			}
			r.threads = r.threads / 2 / warp * warp
		}
	}
	return nil
}

// fitExchange reports whether a block for each rank, with the threads that it takes,
// would be resident.
func (r *running) fitExchange(x *exchange) (bool, error) {
	r.kernel = exchangeLL + kernel(r.p.protocol)
	threads := max((x.threads+warp-1)/warp*warp, leastThreads)
	for i := range r.p.devices {
		room, err := r.m.room(i, r.kernel, r.threads)
		if err != nil {
			return false, err
		}
		threads = min(threads, r.threads, room.threads)
	}
	for i := range r.p.devices {
		room, err := r.m.room(i, r.kernel, threads)
		if err != nil {
			return false, err
		}
		if threads < x.threads || room.blocks < len(r.p.devices[i].ranks) {
			return false, nil
		}
	}
	r.threads = threads
	return true, nil
}

// blocks is how many blocks a device's grid has.
func (r *running) blocks(device int) int {
	if r.p.exchange != nil {
		return len(r.p.devices[device].ranks)
	}
	return len(r.p.devices[device].blocks)
}
