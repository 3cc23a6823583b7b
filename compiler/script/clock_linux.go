package script

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorClock returns a function that tells the processor time used by the
// calling thread, and that any thread may call. The id of a thread's clock is
// derived from the thread's number in the same way as by the C library's
// pthread_getcpuclockid.
func processorClock() func() time.Duration {
	const perThread, ofScheduler = 4, 2
	id := int32(^unix.Gettid()<<3 | perThread | ofScheduler)
	return func() time.Duration {
		var now unix.Timespec
		if unix.ClockGettime(id, &now) != nil {
			return 0 // the thread has ended, so there is nothing to time
		}
		return time.Duration(now.Nano())
	}
}
