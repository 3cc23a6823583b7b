package child

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// exitMemory is the exit code of a child that exceeded its memory cap.
const exitMemory = 86

// look is how often a child checks its memory.
const look = 10 * time.Millisecond

// capMemory makes this process exit when it uses more memory than at the start by
// the given bytes. Exiting with a message is easier to diagnose than what the
// system's own limit does: any allocation may fail, and the process crashes in it.
func capMemory(more int64) error {
	if more == 0 {
		return nil
	}
	if err := setCap(more); err != nil {
		return err
	}
	start := own()
	go func() {
		for {
			if used, most := own()-start, memoryCap.Load(); used > most {
				fmt.Fprintf(os.Stderr, "out of memory: %d MiB in use, the cap is %d MiB\n", used>>20, most>>20)
				os.Exit(exitMemory)
			}
			time.Sleep(look)
		}
	}()
	return nil
}

// memoryCap is the cap of this process, in bytes beyond what it started with; 0: none.
var memoryCap atomic.Int64

func setCap(more int64) error {
	if err := capAddressSpace(more); err != nil {
		return err
	}
	debug.SetMemoryLimit(more - more/8) // collect garbage more eagerly before the cap is reached
	memoryCap.Store(more)
	return nil
}

// RaiseMemory raises the memory cap of this child to the given bytes, for work whose
// permitted memory grows as it proceeds. It does nothing if there is no cap, or one that
// is not lower. An error is that of setting the cap.
func (c *Conn) RaiseMemory(more int64) error {
	if now := memoryCap.Load(); now == 0 || now >= more {
		return nil
	}
	return setCap(more)
}

// lastWordsOfMemory are messages of the runtimes of Go, C++ and the race detector when
// the system refuses them memory.
var lastWordsOfMemory = []string{"out of memory", "cannot allocate", "std::bad_alloc", "failed to allocate", "address space collisions", "pthread_create failed"}

// OutOfMemory reports whether the child ended because it exceeded its memory cap.
func (p *Process) OutOfMemory() bool {
	if p.Alive() {
		return false
	}
	if p.code == exitMemory {
		return true
	}
	tail := p.Tail()
	return slices.ContainsFunc(lastWordsOfMemory, func(words string) bool { return strings.Contains(tail, words) })
}
