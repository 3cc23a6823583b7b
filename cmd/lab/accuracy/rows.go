package accuracy

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
)

// Row is one measured time.
type Row struct {
	Set        string
	Collective string
	Nodes      int
	GPUs       int // of each node
	InPlace    bool
	DType      string
	Algo       string // auto: the library's own choice
	Proto      string // auto: the same
	Bytes      int64  // as nccl-tests counts them
	TimeUS     float64
	Version    string // of the library; empty: its set's
}

// String names a row and its time, for people.
func (r Row) String() string {
	return fmt.Sprintf("%s: %s on %d x %d GPUs, %s, %s, %s: %g us", r.Set, r.Collective, r.Nodes, r.GPUs, units.Bytes(r.Bytes), r.Algo, r.Proto, r.TimeUS)
}

// Auto is the algo and proto of a row where the library chose.
const Auto = "auto"

// ReadRows reads the rows of a set: CSV with a line of names. It needs the columns
// collective, bytes, time_us, and gpus or gpus_per_node; nodes, algo, proto, inplace,
// dtype, version and library are known as well, and others are ignored. The error names file and
// line.
func ReadRows(file string, in io.Reader, s *Set) ([]Row, error) {
	r := csv.NewReader(in)
	r.Comment = '#'
	head, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	column := func(names ...string) int {
		return slices.IndexFunc(head, func(h string) bool { return slices.Contains(names, h) })
	}
	for _, needed := range [][]string{{"collective"}, {"bytes"}, {"time_us"}, {"gpus", "gpus_per_node"}} {
		if column(needed...) < 0 {
			return nil, fmt.Errorf("%s: no column %s", file, strings.Join(needed, " or "))
		}
	}
	var rows []Row
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := r.FieldPos(0)
		cell := func(otherwise string, names ...string) string {
			if i := column(names...); i >= 0 {
				return cells[i]
			}
			return otherwise
		}
		if s.Library != "" && cell(s.Library, "library") != s.Library {
			continue
		}
		row := Row{Set: cell(s.Name, "set"), Collective: cell("", "collective"), InPlace: cell("0", "inplace") == "1", DType: cell(s.DType, "dtype"), Algo: cell(Auto, "algo"), Proto: cell(Auto, "proto"), Version: cell("", "version")}
		row.Collective = cmp.Or(collective.Anyone.Collective(row.Collective), row.Collective)
		row.DType = cmp.Or(collective.Anyone.DType(row.DType), row.DType)
		if row.Algo == "nccl" || row.Algo == "nccl-auto" {
			row.Algo = Auto
		}
		if _, err := collective.ElemBytes(row.DType); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", file, line, err)
		}
		var err1, err2, err3, err4 error
		row.Nodes, err1 = strconv.Atoi(cell("1", "nodes"))
		row.GPUs, err2 = strconv.Atoi(cell("", "gpus", "gpus_per_node"))
		row.Bytes, err3 = strconv.ParseInt(cell("", "bytes"), 10, 64)
		row.TimeUS, err4 = strconv.ParseFloat(cell("", "time_us"), 64)
		for _, err := range []error{err1, err2, err3, err4} {
			if err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", file, line, err)
			}
		}
		if row.Nodes < 1 || row.GPUs < 1 || row.Bytes < 1 || !(row.TimeUS > 0) || math.IsInf(row.TimeUS, 1) {
			return nil, fmt.Errorf("%s: line %d: want at least one node, GPU and byte, and a time above 0", file, line)
		}
		rows = append(rows, row)
	}
}

var columns = []string{"set", "collective", "nodes", "gpus", "bytes", "algo", "proto", "inplace", "dtype", "time_us", "version"}

// WriteRows prints rows as ReadRows reads them.
func WriteRows(w io.Writer, rows []Compared) error {
	if _, err := fmt.Fprintln(w, "# Times that others measured, as far as they are used; manifest.toml has the sources. make accuracy UPDATE=1 writes it."); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	lines := [][]string{columns}
	for _, r := range rows {
		inPlace := "0"
		if r.InPlace {
			inPlace = "1"
		}
		lines = append(lines, []string{r.Set, r.Collective, strconv.Itoa(r.Nodes), strconv.Itoa(r.GPUs), strconv.FormatInt(r.Bytes, 10),
			r.Algo, r.Proto, inPlace, r.DType, strconv.FormatFloat(r.TimeUS, 'g', 6, 64), r.Version})
	}
	return out.WriteAll(lines)
}
