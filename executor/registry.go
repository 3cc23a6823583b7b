package executor

import (
	"maps"
	"slices"
	"sync"
)

// registry keeps what packages register under a name. It is for concurrent use.
type registry[T any] struct {
	sync.Mutex
	by map[string]T
}

func (r *registry[T]) set(name string, value T) {
	r.Lock()
	defer r.Unlock()
	if r.by == nil {
		r.by = map[string]T{}
	}
	r.by[name] = value
}

func (r *registry[T]) get(name string) (value T, ok bool) {
	r.Lock()
	defer r.Unlock()
	value, ok = r.by[name]
	return value, ok
}

// names lists the names, sorted.
func (r *registry[T]) names() []string {
	r.Lock()
	defer r.Unlock()
	return slices.Sorted(maps.Keys(r.by))
}
