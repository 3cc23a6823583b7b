package wire

import (
	"bytes"
	"fmt"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/protocol"
	"github.com/colltune/colltune/topologies"
)

// A trial names its program and its topology by hash; each is sent to an executor once,
// in pieces.

// MaxDocument is how many bytes of a document an executor accepts; the largest programs
// built so far have a tenth of it.
const MaxDocument = 1 << 30

// ChunkBytes is how much of a document a host sends in one message.
const ChunkBytes = 256 << 10

// EncodeProgram returns the document of a program, or the error of ir.Encode. That of a
// topology is its Encode.
func EncodeProgram(p *ir.Program) ([]byte, error) {
	var b bytes.Buffer
	err := ir.Encode(&b, p)
	return b.Bytes(), err
}

// Document is a program or a topology, as an executor received it.
type Document struct {
	Hash     string
	Bytes    int64 // as sent
	Program  *ir.Program
	Topology *topologies.Topology
}

// DecodeDocument decodes a document. An unknown kind, another hash than the one it was
// sent under, or an error of ir.Decode or topologies.Decode is an error.
func DecodeDocument(kind protocol.DocumentKind, hash string, b []byte) (*Document, error) {
	d := &Document{Hash: hash, Bytes: int64(len(b))}
	var is string
	var err error
	switch kind {
	case protocol.DocumentKind_DOCUMENT_KIND_PROGRAM:
		if d.Program, err = ir.Decode(bytes.NewReader(b)); err == nil {
			is = d.Program.Hash()
		}
	case protocol.DocumentKind_DOCUMENT_KIND_TOPOLOGY:
		if d.Topology, err = topologies.Decode(b); err == nil {
			is = d.Topology.Hash()
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
