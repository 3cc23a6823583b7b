// Package programs reads a program of whatever form, and says what is right of it and which
// runtimes run it.
//
//	IR in JSON, MSCCL XML, MSCCL++ plan ──Parse──▶ File ──Verify──▶ Verdict{ok, findings, runtimes}
//
// Invariants: a form is told by the text and never by the file's name; whatever the form, a
// verdict is of the package that executes it step by step (verify, mscclpp), and asks each
// runtime's own rules.
//
// It opens no files.
package programs
