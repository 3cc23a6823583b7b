package recorded

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/units"
)

// columns are the columns that are not of the configuration: what reads a cell of each into
// a row. An empty cell is not read.
var columns = map[string]func(*row, string) error{
	"bytes":         func(r *row, v string) error { return readSize(v, &r.bytes) },
	"time_us":       func(r *row, v string) error { return readTime(v, func(us float64) { r.times = []float64{us} }) },
	"prior_us":      func(r *row, v string) error { return readTime(v, func(us float64) { r.prior = us }) },
	"dtype":         func(r *row, v string) error { r.call.DType = v; return nil },
	"op":            func(r *row, v string) error { r.call.Op = v; return nil },
	"nodes":         func(r *row, v string) error { return readRanks(v, &r.call.Nodes) },
	"ranks":         func(r *row, v string) error { return readRanks(v, &r.call.Ranks) },
	"gpus_per_node": func(r *row, v string) error { return readRanks(v, &r.call.Ranks) }, // times nodes, by readCSV
	"collective":    func(r *row, v string) (err error) { r.call.Collective, err = collectiveNamed(v); return err },
	"inplace": func(r *row, v string) error {
		placement := map[string]string{"0": "out", "1": "in"}
		if placement[v] == "" {
			return errors.New("want 0 or 1")
		}
		r.call.Placement = placement[v]
		return nil
	},
	// They follow from the time.
	"algbw_gbps": func(*row, string) error { return nil },
	"busbw_gbps": func(*row, string) error { return nil },
}

// needed are the columns that a file must have.
var needed = []string{"bytes", "time_us"}

// readCSV adds the rows of a CSV file with a line of names: columns, and others that make up
// the configuration. A time_us that is empty is a trial that failed. Lines that begin with #
// are comments.
func (b *builder) readCSV(name string, text []byte) error {
	text = files.TrimMark(text)
	r := csv.NewReader(bytes.NewReader(text))
	r.Comment, r.ReuseRecord = '#', true
	head, err := r.Read()
	if err != nil {
		return csvFault(name, err)
	}
	head = slices.Clone(head)
	axes := make([]string, len(head)) // "": no axis
	own := 0
	for i, h := range head {
		line, column := r.FieldPos(i)
		if slices.Contains(head[:i], h) {
			return fault(name, line, column, fmt.Errorf("second column %q: want each name once", h))
		}
		if columns[h] != nil {
			continue
		}
		if axes[i], err = b.addAxis(h); err != nil {
			return fault(name, line, column, err)
		}
		if slices.Contains(axes[:i], axes[i]) {
			return fault(name, line, column, fmt.Errorf("second column of the %s: want one", axes[i]))
		}
		own++
	}
	for _, n := range needed {
		if !slices.Contains(head, n) {
			return fmt.Errorf("%s:1: no column %s: want %s, and columns of the configuration such as algorithm", name, n, strings.Join(needed, ", "))
		}
	}
	if slices.Contains(head, "ranks") && slices.Contains(head, "gpus_per_node") {
		return fmt.Errorf("%s:1: columns ranks and gpus_per_node: want one of them", name)
	}
	if own == 0 {
		return fmt.Errorf("%s:1: no column of the configuration, such as algorithm: there is nothing to choose from", name)
	}
	perNode := slices.Contains(head, "gpus_per_node")
	for {
		cells, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return csvFault(name, err)
		}
		one := row{values: map[string]string{}}
		for i, v := range cells {
			v = strings.TrimSpace(v)
			if v == "" {
				continue
			}
			if axes[i] != "" {
				one.values[axes[i]] = strings.Clone(v)
				continue
			}
			if err := columns[head[i]](&one, strings.Clone(v)); err != nil {
				line, column := r.FieldPos(i)
				return fault(name, line, column, fmt.Errorf("%s %.40q: %w", head[i], v, err))
			}
		}
		if perNode {
			one.call.Ranks *= max(one.call.Nodes, 1) // each at most mostRanks
		}
		line, column := r.FieldPos(0)
		if one.bytes == 0 {
			return fault(name, line, column, errors.New("no bytes: want a size"))
		}
		if err := b.add(one); err != nil {
			return fault(name, line, column, err)
		}
	}
}

// csvFault names the place of a reader's error.
func csvFault(name string, err error) error {
	var at *csv.ParseError
	if errors.As(err, &at) {
		if at.Err == csv.ErrFieldCount {
			at.Err = errors.New("wrong number of fields: want one for each name of the first line")
		}
		return fault(name, at.Line, at.Column, at.Err)
	}
	if err == io.EOF {
		err = errors.New("empty: want a line of names, and rows")
	}
	return fmt.Errorf("%s: %w", name, err)
}

func readCount(text string, into *int64) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return errors.New("want a whole number above 0")
	}
	*into = n
	return nil
}

func readSize(text string, into *int64) error {
	if err := readCount(text, into); err != nil {
		return err
	}
	return units.CheckBytes(*into)
}

// mostRanks is the most nodes, and GPUs of one.
const mostRanks = 1 << 20

func readRanks(text string, into *int) error {
	var n int64
	if err := readCount(text, &n); err != nil || n > mostRanks {
		return fmt.Errorf("want a number from 1 to %d", mostRanks)
	}
	*into = int(n)
	return nil
}

func readTime(text string, set func(float64)) error {
	us, err := units.ParseDecimal(text)
	if err != nil {
		return errors.New("want a time in microseconds")
	}
	set(us)
	return checkTime(us)
}
