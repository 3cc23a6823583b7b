package accuracy

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/colltune/colltune/results"
)

// Once returns the rows of data sets with each size of a call once, as the repository keeps
// them: the median of repeated rows, of one placement and one element type. Rows that the
// manifest leaves out are left out.
func Once(m *Manifest, rows []Row) []Row {
	type curve struct {
		set, collective, algo, proto, version string
		nodes, gpus                           int
	}
	curves := map[curve][]Row{}
	var order []curve
	for _, r := range rows {
		if s := m.Set(r.Set); s == nil || s.whyNot(&r) != "" {
			continue
		}
		c := curve{r.Set, r.Collective, r.Algo, r.Proto, r.Version, r.Nodes, r.GPUs}
		if curves[c] == nil {
			order = append(order, c)
		}
		curves[c] = append(curves[c], r)
	}
	var kept []Row
	for _, c := range order {
		all := curves[c]
		inPlace := slices.Contains([]string{"allreduce", "broadcast", "reduce"}, c.collective) || !slices.ContainsFunc(all, func(r Row) bool { return !r.InPlace })
		if inPlace {
			inPlace = slices.ContainsFunc(all, func(r Row) bool { return r.InPlace })
		}
		dtype := slices.MinFunc(all, func(a, b Row) int { return cmp.Compare(preference(a.DType), preference(b.DType)) }).DType
		times := map[int64][]float64{}
		var sizes []int64
		for _, r := range all {
			if r.InPlace == inPlace && r.DType == dtype {
				if times[r.Bytes] == nil {
					sizes = append(sizes, r.Bytes)
				}
				times[r.Bytes] = append(times[r.Bytes], r.TimeUS)
			}
		}
		slices.Sort(sizes)
		for _, n := range sizes {
			kept = append(kept, Row{c.set, c.collective, c.nodes, c.gpus, inPlace, dtype, c.algo, c.proto, n, results.Median(times[n]), c.version})
		}
	}
	return kept
}

// preference orders element types: f32 first, bytes last.
func preference(dtype string) int {
	if i := slices.Index([]string{"f32", "f16", "bf16", "f64"}, dtype); i >= 0 {
		return i
	}
	return 4
}

var columns = []string{"set", "collective", "nodes", "gpus", "bytes", "algo", "proto", "inplace", "dtype", "time_us", "version"}

// WriteRows prints rows as ReadRows reads them.
func WriteRows(w io.Writer, rows []Row) error {
	if _, err := fmt.Fprintln(w, "# Times that others measured, each size of a call once; manifest.toml has the sources. make accuracy UPDATE=1 writes it."); err != nil {
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
