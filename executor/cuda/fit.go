package cuda

import (
	"fmt"

	"github.com/colltune/colltune/executor"
)

// maxThreads and leastThreads limit the threads of a block. Lines of LL128 need whole
// warps.
const (
	maxThreads   = 512
	leastThreads = 64
	warp         = 32
)

// fit chooses the kernel and the threads of a block. It begins with the topology's number,
// and halves it until all blocks are resident at once. ErrUnsupported: they never are.
func (r *running) fit() error {
	r.threads = maxThreads
	if n := r.p.proto.Threads; n > 0 {
		r.threads = min(max(n/warp*warp, warp), maxThreads)
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
			limits, err := r.m.limits(i, k, r.threads)
			if err != nil {
				return err
			}
			if r.threads > limits.threads {
				r.threads = limits.threads
				continue
			}
			if limits.blocks >= want {
				break
			}
			if r.threads/2 < min(leastThreads, limits.threads) {
				return fmt.Errorf("%w: %d ranks of device %d have %d threadblocks, and %d of %d threads are resident at once", executor.ErrUnsupported, len(r.p.devices[i].ranks), i, want, limits.blocks, r.threads)
			}
			r.threads = r.threads / 2 / warp * warp
		}
	}
	return nil
}

// fitExchange reports whether a block for each rank, with the threads that the exchange
// needs, is resident, and if so sets the threads.
func (r *running) fitExchange(x *exchange) (bool, error) {
	r.kernel = exchangeLL + kernel(r.p.protocol)
	threads := max((x.threads+warp-1)/warp*warp, leastThreads)
	for i := range r.p.devices {
		limits, err := r.m.limits(i, r.kernel, r.threads)
		if err != nil {
			return false, err
		}
		threads = min(threads, r.threads, limits.threads)
	}
	for i := range r.p.devices {
		limits, err := r.m.limits(i, r.kernel, threads)
		if err != nil {
			return false, err
		}
		if threads < x.threads || limits.blocks < len(r.p.devices[i].ranks) {
			return false, nil
		}
	}
	r.threads = threads
	return true, nil
}

func (r *running) blocks(device int) int {
	if r.p.exchange != nil {
		return len(r.p.devices[device].ranks)
	}
	return len(r.p.devices[device].blocks)
}
