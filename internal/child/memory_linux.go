package child

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// capAddressSpace has the system enforce a limit too, for a process that allocates
// faster than capMemory checks. Because hitting it crashes the process in ways
// that seldom mention memory, and because far more address space is reserved than
// used, the limit is generous.
func capAddressSpace(more int64) error {
	now, ok := reserved()
	if !ok {
		return nil // the system does not say how much was reserved already
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil {
		return err
	}
	limit.Cur = min(limit.Max, uint64(now+2*more+slack))
	return unix.Setrlimit(unix.RLIMIT_AS, &limit)
}

// reserved is the address space that this process had when its memory was first
// capped, in bytes.
var reserved = sync.OnceValues(func() (int64, bool) {
	sizes, ok := statm(os.Getpid())
	return sizes[0], ok
})

// slack is address space that Go's runtime may reserve without using it.
const slack = 512 << 20
