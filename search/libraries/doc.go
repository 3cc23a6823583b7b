// Package libraries answers which communication library is fastest for which call, from
// anyone's measurements (MCR-DL, section V-F, whose back ends are libraries here).
//
//	nccl-tests ┐
//	OSU        ├─Read──▶ Row{call, conditions, library, time} ──Build──▶ Table ──Choices──▶ the fastest at each size
//	CSV        │                                                  │         ├────Ranges───▶ over sizes (Table II)
//	campaigns  ┘                                                  │         └────Curves───▶ at any size, to the byte
//	                                                              └─Write──▶ a file, which ReadTable reads
//
// A cell is the set of rows that compete: those of one collective, number of ranks and size
// whose other conditions are equal where the table demands it. An entry is a library of one
// version, so that two versions compete like two libraries.
//
// Row.Finish holds the rows of all readers, and those of traces, to what a table's columns take.
//
// Invariants: no unit and no condition is guessed, and one that is not stated differs from
// one that is; a time never changes its library; equal rows give equal tables, byte for byte; what Build takes, Write and ReadTable give back;
// reading is bounded in bytes, rows and columns, and an error names file and line.
//
// Files, in an order to read them in: row.go dtype.go source.go read.go csv.go osu.go moe.go
// nccltests.go campaign.go table.go file.go noise.go choice.go at.go diff.go next.go belief.go export.go
package libraries
