package serve

import (
	"container/list"
	"sync"

	"github.com/colltune/colltune/executor/wire"
)

// documentCache holds the documents that an executor has been sent. When it is full the
// least recently used goes first.
type documentCache struct {
	mu    sync.Mutex
	limit int64 // bytes of documents, as sent
	used  int64
	by    map[string]*list.Element
	order list.List // front: used last
}

// newDocumentCache makes a cache for documents of room bytes in all, and for at least two.
func newDocumentCache(room int64) *documentCache {
	return &documentCache{limit: room, by: map[string]*list.Element{}}
}

func (s *documentCache) put(d *wire.Document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.by[d.Hash]; ok {
		s.order.MoveToFront(e)
		return
	}
	s.by[d.Hash] = s.order.PushFront(d)
	s.used += d.Bytes
	for s.used > s.limit && s.order.Len() > 2 {
		last := s.order.Remove(s.order.Back()).(*wire.Document)
		delete(s.by, last.Hash)
		s.used -= last.Bytes
	}
}

func (s *documentCache) get(hash string) *wire.Document {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.by[hash]
	if !ok {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*wire.Document)
}
