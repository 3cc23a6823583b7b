package host

import "sync"

// ring keeps the last bytes written to it: an executor's output before it died. Writing
// never fails and never blocks on a reader.
type ring struct {
	mu   sync.Mutex
	buf  []byte
	next int  // where the next byte goes
	full bool // the buffer has wrapped
}

func newRing(size int) *ring { return &ring{buf: make([]byte, size)} }

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if over := len(p) - len(r.buf); over > 0 {
		p = p[over:]
	}
	for len(p) > 0 {
		c := copy(r.buf[r.next:], p)
		p = p[c:]
		r.next += c
		if r.next == len(r.buf) {
			r.next, r.full = 0, true
		}
	}
	return n, nil
}

// String returns the bytes kept, oldest first, without the line that was cut at the front.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.full {
		return string(r.buf[:r.next])
	}
	s := string(r.buf[r.next:]) + string(r.buf[:r.next])
	for i := 0; i < len(s)-1; i++ {
		if s[i] == '\n' {
			return s[i+1:]
		}
	}
	return s
}
