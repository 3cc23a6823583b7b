// Package protocol is the wire between the host and an executor: the messages
// and the service of executor.proto, as protoc generates them.
//
//	host ── Describe ─────────────────▶ executor
//	     ── Load(program), Load(topology) ▶     by hash, once each
//	     ── Run(hashes, knobs) ───────▶
//	     ◀── heartbeat … measurement ──
//
// Invariants: a version only grows; the proto file's comments are the
// specification, and docs/plugins.md shows an executor in another language.
//
// It is generated code. Package wire translates to and from the types of package executor;
// package host is the near end, package serve the far one.
package protocol

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative executor.proto
