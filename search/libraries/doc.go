// Package libraries answers which communication library is fastest for which call, from
// anyone's measurements (MCR-DL, section V-F, whose back ends are libraries here).
//
//	measured.Read  ┐                            ┌──Choices──▶ the fastest at each size
//	               ├─ rows ──Build──▶ Table ────┼──Ranges───▶ over sizes (Table II)
//	ReadCampaign   ┘                    │       └──Curves───▶ at any size, to the byte
//	                                    └─Write──▶ a file, which ReadTable reads
//
// A cell is the set of rows that compete: those of one collective, number of ranks and size
// whose other conditions are equal where the table demands it. An entry is a library of one
// version, so that two versions compete like two libraries.
//
// Invariants: a time never changes its library; equal rows give equal tables, byte for byte;
// what Build takes, Write and ReadTable give back. How rows are read from files, and where to
// add a format, says package measured.
//
// Files, in an order to read them in: table.go file.go campaign.go noise.go choice.go at.go
// diff.go next.go belief.go export.go
package libraries
