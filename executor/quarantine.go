package executor

import "sync"

// budget is how many executors a program may kill.
const budget = 2

// Quarantine remembers which programs have killed executors, by hash. The zero
// value is ready to use; it is safe for concurrent use. A nil one remembers
// nothing.
type Quarantine struct {
	mu      sync.Mutex
	strikes map[string]*QuarantineError
}

// strike counts an executor the program has killed.
func (q *Quarantine) strike(program string, err error) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.strikes == nil {
		q.strikes = map[string]*QuarantineError{}
	}
	s := q.strikes[program]
	if s == nil {
		s = &QuarantineError{Program: program}
		q.strikes[program] = s
	}
	s.Strikes++
	s.Last = err
}

// check is nil for a program that may be run.
func (q *Quarantine) check(program string) error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.strikes[program]; s != nil && s.Strikes >= budget {
		c := *s
		return &c
	}
	return nil
}
