// Package columns prints rows of text: in columns that fit a terminal, as CSV, as Markdown.
//
//	a sheet: columns ─┬─ all ───────────────▶ CSV · wide
//	         rows     ├─ those by default ──▶ text of Width, Markdown
//	                  └─ those picked ──────▶ any of them
//
// In text, columns of words are folded until a line has no more than Width characters; numbers
// never are. A row with fewer cells than there are columns ends in a cell that runs to the end of
// the line. It does not format numbers: cells are text.
//
//	sheet.go   columns, rows, and which columns are printed
//	text.go    aligned columns
//	fold.go    text on several lines
//	csv.go     CSV and Markdown
package columns
