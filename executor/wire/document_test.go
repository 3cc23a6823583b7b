package wire

import (
	"bytes"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/protocol"
)

// FuzzDocument: only documents that have the hash they were sent under are decoded.
func FuzzDocument(f *testing.F) {
	p := &ir.Program{Collective: collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 1, InPlace: true}, GPUs: make([]ir.GPU, 2)}
	var b bytes.Buffer
	if err := ir.Encode(&b, p); err != nil {
		f.Fatal(err)
	}
	f.Add(int32(1), p.Hash(), b.Bytes())
	f.Add(int32(2), "x", []byte(`{"schema":"colltune.topology/v1"}`))
	f.Add(int32(3), "", []byte{})
	f.Fuzz(func(t *testing.T, kind int32, hash string, text []byte) {
		d, err := DecodeDocument(protocol.DocumentKind(kind), hash, text)
		if err == nil && (d.Hash != hash || d.Program != nil && d.Program.Hash() != hash || d.Topology != nil && d.Topology.Hash() != hash || d.Program == nil && d.Topology == nil) {
			t.Errorf("kept %+v as %s", d, hash)
		}
	})
}
