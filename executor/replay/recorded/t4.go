package recorded

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/colltune/colltune/internal/units"
)

// A file of T4 results (Kernel Tuner's schema T4/1.0.0), as colltune's export writes it: one
// size of one call, with a result for each configuration.

// t4Metadata is what the results are of.
type t4Metadata struct {
	TimeUnit   string `json:"timeunit"`
	Collective string `json:"collective"`
	DType      string `json:"dtype"`
	Op         string `json:"op"`
	Nodes      int    `json:"nodes"`
	Ranks      int    `json:"ranks"`
	Bytes      int64  `json:"bytes"`
	Placement  string `json:"placement"`
}

// t4Result is a configuration and its times.
type t4Result struct {
	Configuration map[string]any `json:"configuration"`
	Times         struct {
		Runtimes []float64 `json:"runtimes"`
	} `json:"times"`
	Invalidity string `json:"invalidity"` // "correct", or why it has no time
}

// microseconds are T4's units of time.
var microseconds = map[string]float64{"": 1e3, "milliseconds": 1e3, "ms": 1e3, "microseconds": 1, "us": 1, "seconds": 1e6, "s": 1e6}

// readT4 adds the results of a file. Results that are not correct are trials that failed.
func (b *builder) readT4(name string, text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	at := func(offset int64, err error) error {
		before := text[:min(int(offset), len(text))]
		return fault(name, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'), err)
	}
	fails := func(err error) error {
		var syntax *json.SyntaxError
		var kind *json.UnmarshalTypeError
		switch {
		case errors.As(err, &kind):
			return at(d.InputOffset(), fmt.Errorf("%s: a %s: want %s", kind.Field, kind.Value, kind.Type))
		case errors.As(err, &syntax):
			return at(syntax.Offset, err)
		}
		return at(d.InputOffset(), fmt.Errorf("not whole: %w", err))
	}
	if _, err := d.Token(); err != nil { // {
		return fails(err)
	}
	var m t4Metadata
	var results []t4Result
	var begins []int64 // offsets of the results
	about, some := int64(-1), false
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fails(err)
		}
		switch key {
		case "metadata":
			about = d.InputOffset()
			if err := d.Decode(&m); err != nil {
				return fails(err)
			}
		case "results":
			some = true
			open, err := d.Token()
			if err != nil {
				return fails(err)
			}
			if open != json.Delim('[') {
				return at(d.InputOffset(), errors.New("results: want a list"))
			}
			for d.More() {
				var r t4Result
				if err := d.Decode(&r); err != nil {
					return fails(err)
				}
				results, begins = append(results, r), append(begins, d.InputOffset())
			}
			if _, err := d.Token(); err != nil { // ]
				return fails(err)
			}
		default:
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return fails(err)
			}
		}
	}
	if _, err := d.Token(); err != nil { // }
		return fails(err)
	}
	if about < 0 || !some {
		return at(0, errors.New("no metadata or no results: want T4 results, such as export --to t4 writes"))
	}
	one, unit, err := m.row()
	if err != nil {
		return at(about, fmt.Errorf("metadata: %w", err))
	}
	for i, r := range results {
		if err := b.addT4(one, unit, r); err != nil {
			return at(begins[i], fmt.Errorf("the result that ends here: %w", err))
		}
	}
	return nil
}

// row returns a row with what all results have in common, and their unit of time in µs.
func (m *t4Metadata) row() (one row, unit float64, err error) {
	one = row{call: Call{DType: m.DType, Op: m.Op, Nodes: m.Nodes, Ranks: m.Ranks, Placement: m.Placement}, bytes: m.Bytes}
	if m.Collective != "" {
		if one.call.Collective, err = collectiveNamed(m.Collective); err != nil {
			return one, 0, err
		}
	}
	unit = microseconds[m.TimeUnit]
	switch {
	case units.CheckBytes(m.Bytes) != nil:
		return one, 0, fmt.Errorf("bytes %w", units.CheckBytes(m.Bytes))
	case m.Nodes < 0 || m.Ranks < 0 || m.Nodes > mostRanks || m.Ranks > mostRanks:
		return one, 0, fmt.Errorf("%d nodes and %d ranks: want 0 to %d", m.Nodes, m.Ranks, mostRanks)
	case m.Placement != "" && m.Placement != "in" && m.Placement != "out":
		return one, 0, fmt.Errorf("placement %q: want in or out", m.Placement)
	case unit == 0:
		return one, 0, fmt.Errorf("timeunit %q: want milliseconds, microseconds or seconds", m.TimeUnit)
	}
	return one, unit, nil
}

// sortedAxes lists the keys of a configuration: algorithm and protocol first, then by name.
func sortedAxes(configuration map[string]any) []string {
	rank := func(key string) int { return slices.Index([]string{protocolAxis, algorithmAxis}, key) }
	return slices.SortedFunc(maps.Keys(configuration), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(a, b))
	})
}

// addT4 adds a result.
func (b *builder) addT4(one row, unit float64, r t4Result) error {
	if len(r.Configuration) == 0 {
		return errors.New("no configuration")
	}
	one.values = map[string]string{}
	for _, key := range sortedAxes(r.Configuration) {
		axis, err := b.addAxis(key)
		if err != nil {
			return err
		}
		var text string
		switch v := r.Configuration[key].(type) {
		case string:
			text = v
		case json.Number:
			text = v.String()
		case bool:
			text = strconv.FormatBool(v)
		default:
			return fmt.Errorf("%s: want a word or a number", key)
		}
		if text != "" {
			one.values[axis] = text
		}
	}
	if r.Invalidity == "correct" {
		for _, t := range r.Times.Runtimes {
			if err := checkTime(t * unit); err != nil {
				return fmt.Errorf("runtimes: %w", err)
			}
			one.times = append(one.times, t*unit)
		}
		if len(one.times) == 0 {
			return errors.New("correct, and no runtimes")
		}
	}
	return b.add(one)
}
