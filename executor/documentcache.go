package executor

import (
	"bytes"
	"container/list"
	"fmt"
	"sync"
	"weak"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/topologies"
)

// A trial names its program and its topology by hash; each travels to an
// executor once. This file is how they are written, read and kept.

// maxDocument bounds what an executor accepts; the largest programs built so
// far are a tenth of it.
const maxDocument = 1 << 30

func encodeProgram(p *ir.Program) ([]byte, error) {
	var b bytes.Buffer
	err := ir.Encode(&b, p)
	return b.Bytes(), err
}

// hashCache remembers the hashes of recent documents, so that a program of a million
// steps is not hashed again for each of its trials. A document must not change
// once a trial has it.
type hashCache[T any] struct {
	of    func(*T) string
	known map[weak.Pointer[T]]string // weak: keeps no document alive
	order []weak.Pointer[T]
}

// maxHashes is how many documents are recent.
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

// documentCache holds the documents that an executor has been sent. When it is full the
// least recently used goes first.
type documentCache struct {
	mu    sync.Mutex
	limit int64 // bytes of documents, as sent
	used  int64
	by    map[string]*list.Element
	order list.List // front: used last
}

type document struct {
	hash     string
	bytes    int64
	program  *ir.Program
	topology *topologies.Topology
}

// newDocumentCache makes a cache for documents of room bytes in all, and for at least two.
func newDocumentCache(room int64) *documentCache {
	return &documentCache{limit: room, by: map[string]*list.Element{}}
}

// read decodes a document and checks it against the hash it was sent under.
func read(kind protocol.DocumentKind, hash string, b []byte) (*document, error) {
	d := &document{hash: hash, bytes: int64(len(b))}
	var is string
	var err error
	switch kind {
	case protocol.DocumentKind_DOCUMENT_KIND_PROGRAM:
		if d.program, err = ir.Decode(bytes.NewReader(b)); err == nil {
			is = d.program.Hash()
		}
	case protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY:
		if d.topology, err = topologies.Decode(b); err == nil {
			is = d.topology.Hash()
		}
	default:
		return nil, fmt.Errorf("document of kind %d: want a program or a topology", kind)
	}
	switch {
	case err != nil:
		return nil, err
	case is != hash:
		return nil, fmt.Errorf("document %.12s has hash %.12s", hash, is)
	}
	return d, nil
}

func (s *documentCache) put(d *document) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.by[d.hash]; ok {
		s.order.MoveToFront(e)
		return
	}
	s.by[d.hash] = s.order.PushFront(d)
	s.used += d.bytes
	for s.used > s.limit && s.order.Len() > 2 {
		last := s.order.Remove(s.order.Back()).(*document)
		delete(s.by, last.hash)
		s.used -= last.bytes
	}
}

func (s *documentCache) get(hash string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.by[hash]
	if !ok {
		return nil
	}
	s.order.MoveToFront(e)
	return e.Value.(*document)
}
