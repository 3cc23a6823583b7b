package cpu

import (
	"sync"
	"sync/atomic"
)

// event is a number that only grows, for which threadblocks can wait.
type event interface {
	reached(want uint64) bool
	// enlist has the threadblock woken at the next change.
	enlist(b *block)
}

// counter is the number at one end of a connection: one threadblock posts it, another
// waits for it. It fills a cache line.
type counter struct {
	value   atomic.Uint64
	sleeper atomic.Pointer[block]
	_       [48]byte
}

func (c *counter) reached(want uint64) bool { return c.value.Load() >= want }

func (c *counter) enlist(b *block) { c.sleeper.Store(b) }

// post sets the counter. It wakes a waiter that enlisted before the store; one
// that enlists later sees the new value.
func (c *counter) post(value uint64) {
	c.value.Store(value)
	if c.sleeper.Load() == nil {
		return
	}
	if b := c.sleeper.Swap(nil); b != nil {
		b.wake()
	}
}

// semaphore is a counter for which any number of threadblocks may wait: the steps
// of a threadblock that have set their flag, or the start of an iteration.
type semaphore struct {
	value    atomic.Uint64
	sleeping atomic.Bool
	mu       sync.Mutex
	sleepers []*block
}

func (s *semaphore) reached(want uint64) bool { return s.value.Load() >= want }

func (s *semaphore) enlist(b *block) {
	s.mu.Lock()
	s.sleepers = append(s.sleepers, b)
	s.sleeping.Store(true)
	s.mu.Unlock()
}

func (s *semaphore) post(value uint64) {
	s.value.Store(value)
	if !s.sleeping.Load() {
		return
	}
	s.mu.Lock()
	for _, b := range s.sleepers {
		b.wake()
	}
	s.sleepers = s.sleepers[:0]
	s.sleeping.Store(false)
	s.mu.Unlock()
}
