package intervals

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
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

// CompareZones orders zones: libraries first, one node before several, sizes rising.
func CompareZones(a, b Zone) int {
	place := func(s string) int { return slices.Index(Bands(), s) }
	several := func(z Zone) int {
		if z.oneNode() {
			return 0
		}
		return 1
	}
	wide := func(s string) int {
		if s == Any {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(a.Ran, b.Ran), cmp.Compare(several(a), several(b)),
		cmp.Compare(wide(a.System), wide(b.System)), cmp.Compare(a.System, b.System),
		cmp.Compare(wide(a.Network), wide(b.Network)), cmp.Compare(a.Network, b.Network),
		cmp.Compare(wide(a.Collective), wide(b.Collective)), cmp.Compare(a.Collective, b.Collective),
		cmp.Compare(place(a.Sizes), place(b.Sizes)),
	)
}

var head = []string{"ran", "system", "network", "collective", "sizes", "sets", "rows", "low", "median", "high"}

// kindsHead begins the lines of Kinds: one a place.
const kindsHead = "# measured: "

// Write prints a table as Read reads it, with ratios to four digits.
func (t *Table) Write(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Intervals of measured ÷ simulated time, by zone. make accuracy UPDATE=1 writes them.\n")
	for _, place := range slices.Sorted(maps.Keys(t.Kinds)) {
		fmt.Fprintf(&b, "%s%s: %s\n", kindsHead, place, strings.Join(t.Kinds[place], " "))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	rows := [][]string{head}
	for _, e := range t.Entries {
		line := []string{e.Ran, e.System, e.Network, e.Collective, e.Sizes, strconv.Itoa(e.Sets), strconv.Itoa(e.Rows)}
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
	t := &Table{Kinds: map[string][]string{}}
	for line := range strings.Lines(string(text)) {
		if kinds, ok := strings.CutPrefix(line, kindsHead); ok {
			place, names, _ := strings.Cut(kinds, ":")
			t.Kinds[place] = strings.Fields(names)
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
		e := Entry{Zone: Zone{row[0], row[1], row[2], row[3], row[4]}}
		numbers := make([]float64, len(row)-5)
		for j, text := range row[5:] {
			if numbers[j], err = strconv.ParseFloat(text, 64); err != nil || !(numbers[j] > 0) || math.IsInf(numbers[j], 1) {
				return nil, fmt.Errorf("row %d: %s %q: want a number above 0", i+1, head[5+j], text)
			}
		}
		e.Sets, e.Rows, e.Interval = int(numbers[0]), int(numbers[1]), Interval{numbers[2], numbers[3], numbers[4]}
		if e.Ran != Library && e.Ran != Program || !slices.Contains(Bands(), e.Sizes) || e.Low > e.Median || e.Median > e.High {
			return nil, fmt.Errorf("row %d: want library or program, a band of sizes, and low ≤ median ≤ high", i+1)
		}
		t.Entries = append(t.Entries, e)
	}
	if !slices.IsSortedFunc(t.Entries, func(a, b Entry) int { return CompareZones(a.Zone, b.Zone) }) {
		return nil, fmt.Errorf("the zones are not in order")
	}
	return t, nil
}
