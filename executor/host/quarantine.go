package host

import (
	"sync"

	"github.com/colltune/colltune/executor"
)

// maxCrashes is how many executors a program may kill before it is quarantined.
const maxCrashes = 2

// Quarantine remembers, by hash, which programs have killed executors. The zero
// value is ready to use, from any goroutine; a nil one remembers nothing.
type Quarantine struct {
	mu      sync.Mutex
	strikes map[string]*executor.QuarantineError
}

// recordCrash counts an executor that the program has killed; err is how it ended.
func (q *Quarantine) recordCrash(program string, err error) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.strikes == nil {
		q.strikes = map[string]*executor.QuarantineError{}
	}
	s := q.strikes[program]
	if s == nil {
		s = &executor.QuarantineError{Program: program}
		q.strikes[program] = s
	}
	s.Strikes++
	s.Last = err
}

// check returns a QuarantineError if the program may not be run.
func (q *Quarantine) check(program string) error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.strikes[program]; s != nil && s.Strikes >= maxCrashes {
		c := *s
		return &c
	}
	return nil
}
