// Package wire is the part of the protocol that both ends share: the handshake, and how
// trials, descriptions and documents are sent.
//
//	executor.Trial ── EncodeTrial ──▶ protocol.RunRequest ── DecodeTrial ──▶ executor.Trial
//	ir.Program ── EncodeProgram, its hash ──▶ protocol.LoadRequest… ── DecodeDocument ──▶ Document
//
// Invariant: a decoded value equals the encoded one; a document has the hash it was sent
// under.
package wire
