package columns

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
)

// gap is between two columns.
const gap = "  "

// leastWide is how narrow a column of words is made at most, but for want of room.
const leastWide = 12

// Print writes a head and the rows in aligned columns, of at most width characters a line; 0: of
// any.
func (s *Sheet) Print(w io.Writer, width int) error {
	all := []Row{{Cells: lists.Map(s.Columns, func(c Column) string { return c.Name })}}
	for _, r := range s.Rows {
		all = append(all, Row{lists.Map(r.Cells, safe.Line), r.Faint})
	}
	widths := s.fit(all, width)
	for _, r := range all {
		for _, line := range s.lines(r, widths, width) {
			for _, part := range Fold(line, width, gap) { // numbers alone may want more room
				if err := PrintLine(w, part, r.Faint); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// PrintLine writes a line, in grey if it is faint and w can.
func PrintLine(w io.Writer, line string, faint bool) error {
	if grey, ok := w.(interface{ Grey(string) error }); ok && faint {
		return grey.Grey(line + "\n")
	}
	_, err := io.WriteString(w, line+"\n")
	return err
}

// fit returns how wide each column is: the columns of words share what the numbers leave.
func (s *Sheet) fit(all []Row, width int) []int {
	widths := make([]int, len(s.Columns))
	for _, r := range all {
		for i, cell := range r.Cells {
			if i < len(s.Columns)-1 && i == len(r.Cells)-1 {
				continue // it runs on
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	if width <= 0 {
		return widths
	}
	words := make([]int, len(s.Columns)) // the longest word of each
	for _, r := range all {
		for i, cell := range r.Cells {
			for _, word := range strings.Fields(cell) {
				words[i] = max(words[i], utf8.RuneCountInString(word))
			}
		}
	}
	for _, least := range []func(i int) int{
		func(i int) int { return max(leastWide, words[i]) },
		func(int) int { return leastWide },
		func(int) int { return 1 },
	} {
		for over := s.from(len(widths), widths) - width; over > 0; over-- {
			widest := -1
			for i, c := range s.Columns {
				if !c.Right && widths[i] > least(i) && (widest < 0 || widths[i] > widths[widest]) {
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			widths[widest]--
		}
	}
	return widths
}

// from is where a column begins; of the number of columns, how long a line is.
func (s *Sheet) from(column int, widths []int) (at int) {
	for i := range column {
		at += widths[i]
		if i+1 < len(widths) {
			at += len(s.gap(i + 1))
		}
	}
	return at
}

// gap is what stands before a column.
func (s *Sheet) gap(column int) string {
	if s.Columns[column].Close {
		return " "
	}
	return gap
}

// lines are the lines of a row, whose cells are folded to the widths.
func (s *Sheet) lines(r Row, widths []int, width int) []string {
	cells := make([][]string, len(r.Cells))
	height := 1
	for i, cell := range r.Cells {
		room := widths[i]
		if i < len(s.Columns)-1 && i == len(r.Cells)-1 {
			room = 0
			if width > 0 {
				room = max(width-s.from(i, widths), 1)
			}
		}
		if s.Columns[i].Right && room == widths[i] {
			cells[i] = []string{cell}
		} else {
			cells[i] = Fold(cell, room, "")
		}
		height = max(height, len(cells[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		var b strings.Builder
		for i, cell := range cells {
			part := ""
			if n < len(cell) {
				part = cell[n]
			}
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(part)))
			if i > 0 {
				b.WriteString(s.gap(i))
			}
			if s.Columns[i].Right && i < len(r.Cells) && !(i == len(r.Cells)-1 && i < len(s.Columns)-1) {
				b.WriteString(pad + part)
			} else {
				b.WriteString(part + pad)
			}
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return slices.Clip(lines)
}
