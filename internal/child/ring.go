package child

import "sync"

// tailBytes is how much of a child's standard error is kept: enough for the head
// of a crash report.
const tailBytes = 16 << 10

// ring keeps the first half and the last half of what is written to it. The first
// lines of a crash say why, and the last ones where it ended.
type ring struct {
	mu   sync.Mutex
	head []byte
	last []byte
	cut  bool
}

func (r *ring) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(b)
	if room := tailBytes/2 - len(r.head); room > 0 {
		k := min(room, len(b))
		r.head = append(r.head, b[:k]...)
		b = b[k:]
	}
	r.last = append(r.last, b...)
	if over := len(r.last) - tailBytes/2; over > 0 {
		r.last = append(r.last[:0], r.last[over:]...)
		r.cut = true
	}
	return n, nil
}

func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		return string(r.head) + "\n[…]\n" + string(r.last)
	}
	return string(r.head) + string(r.last)
}
