// Package nccltests reads the output of nccl-tests and rccl-tests: their tables, old and
// new, and the JSON of -J.
//
//	#       size         count      type   redop    root     time   algbw   busbw  #wrong …
//	     1048576        262144     float     sum      -1    38.21   27.44   48.02       0 …
//	                     └──────────── Parse ────────────▶ Report{Tables[]{Rows[]}}
//
// A file may hold several tables in sequence, of several programs and cycles, between lines
// of MPI, of the library and of the batch system. A row is read whole or refused with its
// line number: one that another process printed into is no measurement.
//
// Invariants: times are microseconds, bandwidths 10^9 bytes a second, sizes
// bytes, as printed; a placement that was not measured is nil; any bytes at all
// give a report or an error, in time proportional to their number.
//
// It does not judge whether a time is plausible, and runs nothing.
package nccltests
