// Package table makes the winning table from a campaign: for each size the program
// and the knobs that measured fastest, or about as fast on fewer SMs (sms.go).
//
//	trials ──Measurements──▶ by cell, best first ──Build──▶ Table{rows, ranges} ──Write──▶ table · json · csv · md
//	                                  └──Curves──▶ every algorithm over size
//	two tables ──Differ──▶ side by side
//	tables of a map ──Join──▶ one, over numbers of nodes
//
// A cell is one placement and one size. Invariants: equal trials give equal tables,
// byte for byte, whatever the order they were made in; only the seconds spent differ.
// A configuration that gave wrong data once wins nothing.
//
//	measured.go evidence.go   trials as measurements, and how far to believe them
//	repeats.go outlook.go     ties, outliers and drift, where times are measured; what is left to gain
//	table.go                  Build; a row's baseline, speedup and bound (Row.compare)
//	sms.go front.go           the SMs that a row takes, who wins by fewer, and time against them
//	bands.go                  how sure simulated times and speedups are
//	format.go column.go        a table's forms, and the columns of a row
//	stretch.go what.go why.go  the default table: neighbours that read alike, in words
//	sentence.go caption.go     what is gained where, and what else stands around the rows
//	curves.go difference.go   times over sizes; two tables
//	join.go                   tables of several numbers of nodes as one
package table
