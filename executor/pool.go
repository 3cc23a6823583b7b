package executor

import (
	"context"
	"errors"
	"io"
	"sync"
)

// Pool holds the executors of one command, which are all alike. They are started on
// demand and kept until Close. Its methods may be called from several
// goroutines at once.
type Pool struct {
	start func() (Executor, error)

	mu          sync.Mutex
	all, idle   []Executor
	failed      error // of Open, for the next Get
	description *Description
}

// NewPool returns a pool of executors that start starts.
func NewPool(start func() (Executor, error)) *Pool { return &Pool{start: start} }

// Open starts the first executor ahead of its use, and returns start's error. The next Get
// returns that error too, and does not try again.
func (p *Pool) Open() error {
	e, err := p.Get()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed = err; err == nil {
		p.idle = append(p.idle, e)
	}
	return err
}

// Get returns an idle executor, or a new one, and start's error. The caller gives it back
// with Put.
func (p *Pool) Get() (Executor, error) {
	p.mu.Lock()
	if err := p.failed; err != nil {
		p.failed = nil
		p.mu.Unlock()
		return nil, err
	}
	if n := len(p.idle); n > 0 {
		e := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return e, nil
	}
	p.mu.Unlock()
	e, err := p.start()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, e)
	return e, nil
}

// Put gives an executor of the pool back.
func (p *Pool) Put(e Executor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, e)
}

// Describe returns the description of the pool's executors. It asks one of them, once, and
// returns its error.
func (p *Pool) Describe(ctx context.Context) (Description, error) {
	p.mu.Lock()
	known := p.description
	p.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	e, err := p.Get()
	if err != nil {
		return Description{}, err
	}
	defer p.Put(e)
	d, err := e.Describe(ctx)
	if err != nil {
		return d, err
	}
	p.mu.Lock()
	p.description = &d
	p.mu.Unlock()
	return d, nil
}

// Close closes the executors that are an io.Closer, and returns their errors. The pool may
// be used again, and then starts new ones.
func (p *Pool) Close() error {
	p.mu.Lock()
	all := p.all
	p.all, p.idle, p.failed = nil, nil, nil
	p.mu.Unlock()
	var errs []error
	for _, e := range all {
		if c, ok := e.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
