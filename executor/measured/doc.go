// Package measured has the times of collectives that were measured elsewhere, whoever wrote
// them down: one row, and what reads it from each form of file.
//
//	nccl-tests, rccl-tests ┐
//	OSU micro-benchmarks   │ Sniff ▸ Read ──▶ Row{call, conditions, library, time, source}
//	DeepEP, TensorRT-LLM   │
//	CSV, tables            ┘
//	traces, NCCL's log       Sniff ▸ package workload ──▶ a step, and Rows of its calls
//	colltune run -o json     ReadRun ──▶ Run{program, its times}
//	nccl-tests, of one call  ReadCallTimes ──▶ CallTimes, for baselines and calibration
//
// A measured row is read here: read.go tells files apart (Sniff) and has the table of formats,
// each of which is one file: nccltests.go osu.go moe.go csv.go. To add a format of measurements,
// write such a file, with a function that adds rows, and add one row to that table; a column or
// a condition is one row of the table of columns in row.go. What a user states about a file is
// its Source: NAME=FILE,ranks=8.
//
// Every row passes Row.Finish, which holds it to what its columns take.
//
// Invariants: no unit and no condition is guessed, and one that is not stated differs from one
// that is; reading is bounded in bytes, rows and columns; an error names file and line.
//
// Two forms are read elsewhere, as they hold more than rows of a table: configurations with
// columns of their own, which executor/replay/recorded plays back, and data sets with the
// algorithm that was forced, by which cmd/lab/accuracy judges.
//
// It does not compare rows: package libraries does. The names of collectives and element types
// as others write them are in package collective.
//
// Files, in an order to read them in: row.go source.go read.go csv.go dtype.go osu.go moe.go
// nccltests.go calltimes.go run.go
package measured
