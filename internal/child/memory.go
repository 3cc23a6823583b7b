package child

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// exitMemory is the exit code of a child that met its memory cap.
const exitMemory = 86

// look is how often a child looks at its memory.
const look = 10 * time.Millisecond

// capMemory makes this process end where it uses more bytes than it starts
// with: in good order and with a word, where the system's own limit would leave
// it to crash wherever the next allocation happens to be.
func capMemory(more int64) error {
	if more == 0 {
		return nil
	}
	if err := capAddressSpace(more); err != nil {
		return err
	}
	debug.SetMemoryLimit(more - more/8) // collect harder before it is too late
	start := inUse()
	go func() {
		for {
			if used := inUse() - start; used > more {
				fmt.Fprintf(os.Stderr, "out of memory: %d MiB in use, the cap is %d MiB\n", used>>20, more>>20)
				os.Exit(exitMemory)
			}
			time.Sleep(look)
		}
	}()
	return nil
}

// inUse is the memory of this process, C libraries' too where the system tells.
func inUse() int64 {
	if used, ok := memory(1); ok {
		return used
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys - m.HeapReleased)
}

// lastWordsOfMemory are those of a process that met the system's limit: Go's,
// C++'s, and the race detector's.
var lastWordsOfMemory = []string{"out of memory", "cannot allocate", "std::bad_alloc", "failed to allocate", "address space collisions", "pthread_create failed"}

// OutOfMemory tells whether the child ended because of its memory cap.
func (p *Process) OutOfMemory() bool {
	if p.Alive() {
		return false
	}
	if p.code == exitMemory {
		return true
	}
	tail := p.Tail()
	for _, words := range lastWordsOfMemory {
		if strings.Contains(tail, words) {
			return true
		}
	}
	return false
}
