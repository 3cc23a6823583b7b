package script

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorClock is the processor time that the calling thread has taken, to be
// read from any thread: its clock's number is made of the thread's, the same way
// as the C library's pthread_getcpuclockid does it.
func processorClock() func() time.Duration {
	const perThread, ofScheduler = 4, 2
	id := int32(^unix.Gettid()<<3 | perThread | ofScheduler)
	return func() time.Duration {
		var now unix.Timespec
		if unix.ClockGettime(id, &now) != nil {
			return 0 // the thread has ended, and with it what was timed
		}
		return time.Duration(now.Nano())
	}
}
