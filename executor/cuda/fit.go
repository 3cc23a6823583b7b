package cuda

import (
	"fmt"

	"github.com/colltune/colltune/executor"
)

// mostThreads is of a block; leastThreads is where the search for blocks that
// fit ends. Below a warp there is nothing, and no block has a part of one: lines
// of LL128 wait for the whole.
const (
	mostThreads  = 512
	leastThreads = 64
	warp         = 32
)

// fit chooses the kernel, and how many threads a block has: as many as the topology
// says, and half as many as often as it takes for all blocks to be resident.
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

// fitExchange tells whether a block for each rank does, of as many threads as it
// takes.
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

// blocks is how many a device's grid has.
func (r *running) blocks(device int) int {
	if r.p.exchange != nil {
		return len(r.p.devices[device].ranks)
	}
	return len(r.p.devices[device].blocks)
}
