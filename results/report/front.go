package report

import (
	"fmt"
	"strconv"

	"github.com/colltune/colltune/results/table"
)

// front is time against SMs: a line for each size, a column for each number of SMs.
type front struct {
	Heads []string
	Lines []frontLine
}

type frontLine struct {
	Size  string
	Cells []frontCell
}

// frontCell is the time within a number of SMs, as a multiple of that with all; empty where no program that was
// measured fits.
type frontCell struct {
	Ratio, Title string
	Shade        int // 0: as fast as with the most, to 4: slower by more than half
}

// newFront makes the front of a placement; nil where the table has none.
func newFront(name string, t *table.Table) *front {
	f := &front{}
	var columns []int // by head: the most SMs; 0: all
	at := map[int64]map[int]*table.FrontRow{}
	var sizes []int64
	for i := range t.Front {
		r := &t.Front[i]
		if r.Placement != name {
			continue
		}
		most := 0
		if r.MaxSMs != nil {
			most = *r.MaxSMs
		}
		if at[r.Bytes] == nil {
			at[r.Bytes] = map[int]*table.FrontRow{}
			sizes = append(sizes, r.Bytes)
		}
		at[r.Bytes][most] = r
	}
	for _, most := range append(table.Caps[:len(table.Caps):len(table.Caps)], 0) {
		for _, bytes := range sizes {
			if at[bytes][most] != nil {
				columns = append(columns, most)
				break
			}
		}
	}
	if len(columns) < 2 {
		return nil
	}
	for _, most := range columns {
		head := "all"
		if most > 0 {
			head = strconv.Itoa(most)
		}
		f.Heads = append(f.Heads, head)
	}
	for _, bytes := range sizes {
		line := frontLine{Size: sizeText(bytes)}
		for _, most := range columns {
			var cell frontCell
			if r := at[bytes][most]; r != nil {
				cell = frontCell{brief(r.OfAll), fmt.Sprintf("%s us, %s, %s SMs", brief(r.TimeUS), clip(r.What(), nameRoom), r.SMsText()), depth(r.OfAll)}
			}
			line.Cells = append(line.Cells, cell)
		}
		f.Lines = append(f.Lines, line)
	}
	return f
}

// depth is that of a cell's colour.
func depth(ratio float64) (n int) {
	for _, least := range []float64{1.02, 1.1, 1.25, 1.5} {
		if ratio > least {
			n++
		}
	}
	return n
}
