package intervals

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed zones.csv
var shipped string

// Shipped returns the table of this version, estimated from the rows in
// cmd/lab/accuracy/testdata. It is not to be changed.
var Shipped = sync.OnceValue(func() *Table {
	t, err := Read(strings.NewReader(shipped))
	if err != nil {
		panic("zones.csv: " + err.Error()) // a test reads it
	}
	return t
})

// CompareZones orders zones: one node before several, what is told apart before what is not, sizes
// rising.
func CompareZones(a, b Zone) int {
	wide := func(s string) int {
		if s == Any {
			return 1
		}
		return 0
	}
	text := func(a, b string) int { return cmp.Or(cmp.Compare(wide(a), wide(b)), cmp.Compare(a, b)) }
	several := func(z Zone) int {
		if z.oneNode() {
			return 0
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(a.Clock, b.Clock), cmp.Compare(several(a), several(b)), text(a.Link, b.Link), text(a.Network, b.Network),
		text(a.Protocol, b.Protocol), text(a.Work, b.Work), text(a.Arch, b.Arch), cmp.Compare(bandAt(a.Sizes), bandAt(b.Sizes)),
	)
}

var head = []string{"clock", "link", "network", "arch", "protocol", "work", "sizes", "machines", "rows", "held", "low", "median", "high"}

// texts is how many of the columns name the zone.
const texts = 7

// constantsHead begins the lines of Constants.
const constantsHead = "# measured: "

// Write prints a table as Read reads it, with ratios to four digits.
func (t *Table) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Intervals of measured ÷ simulated time, by zone. make accuracy UPDATE=1 writes them.\n")
	for _, constants := range t.Constants {
		fmt.Fprintf(&b, "%s%s\n", constantsHead, constants)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	rows := [][]string{head}
	for _, e := range t.Entries {
		line := []string{e.Clock, e.Link, e.Network, e.Arch, e.Protocol, e.Work, e.Sizes, strconv.Itoa(e.Machines), strconv.Itoa(e.Rows), strconv.FormatFloat(e.Held, 'f', 2, 64)}
		for _, v := range []float64{e.Low, e.Median, e.High} {
			line = append(line, strconv.FormatFloat(v, 'g', 4, 64))
		}
		rows = append(rows, line)
	}
	return out.WriteAll(rows)
}

// Read reads a table. The error names the line.
func Read(r io.Reader) (*Table, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	t := &Table{}
	for line := range strings.Lines(string(text)) {
		if constants, ok := strings.CutPrefix(line, constantsHead); ok {
			t.Constants = append(t.Constants, strings.TrimRight(constants, "\r\n"))
		}
	}
	in := csv.NewReader(strings.NewReader(string(text)))
	in.Comment, in.FieldsPerRecord = '#', len(head)
	rows, err := in.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || !slices.Equal(rows[0], head) {
		return nil, fmt.Errorf("want a line of names: %s", strings.Join(head, ","))
	}
	for i, row := range rows[1:] {
		e := Entry{Zone: Zone{row[0], row[1], row[2], row[3], row[4], row[5], row[6]}}
		numbers := make([]float64, len(row)-texts)
		for j, text := range row[texts:] {
			if numbers[j], err = strconv.ParseFloat(text, 64); err != nil || !(numbers[j] >= 0) || math.IsInf(numbers[j], 1) {
				return nil, fmt.Errorf("row %d: %s %q: want a number of at least 0", i+1, head[texts+j], text)
			}
		}
		e.Machines, e.Rows, e.Held = int(numbers[0]), int(numbers[1]), numbers[2]
		e.Interval = Interval{numbers[3], numbers[4], numbers[5]}
		if !slices.Contains(Bands(), e.Sizes) || !(e.Low > 0) || e.Low > e.Median || e.Median > e.High {
			return nil, fmt.Errorf("row %d: want a band of sizes, and 0 < low ≤ median ≤ high", i+1)
		}
		t.Entries = append(t.Entries, e)
	}
	if !slices.IsSortedFunc(t.Entries, func(a, b Entry) int { return CompareZones(a.Zone, b.Zone) }) {
		return nil, fmt.Errorf("the zones are not in order")
	}
	return t, nil
}
