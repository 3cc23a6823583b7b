package host

import "weak"

// hashCache remembers the hashes of recent documents, so that a program of a million
// steps is hashed once and not for each of its trials. A document must not change once a
// trial has it.
type hashCache[T any] struct {
	of    func(*T) string
	known map[weak.Pointer[T]]string // weak: keeps no document alive
	order []weak.Pointer[T]
}

// maxHashes is the number of hashes that are kept.
const maxHashes = 256

func (h *hashCache[T]) get(doc *T) string {
	key := weak.Make(doc)
	if s, ok := h.known[key]; ok {
		return s
	}
	s := h.of(doc)
	if h.known == nil {
		h.known = map[weak.Pointer[T]]string{}
	}
	if len(h.order) == maxHashes {
		delete(h.known, h.order[0])
		h.order = h.order[1:]
	}
	h.known[key] = s
	h.order = append(h.order, key)
	return s
}
