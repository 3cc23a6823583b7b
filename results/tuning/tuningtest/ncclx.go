package tuningtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/results/tuning"
)

// interval is NCCLX's Int64Range; its zero value matches any number.
type interval struct {
	low, high           int64
	lowOpen, highOpen   bool
	lowBound, highBound bool
}

func (v interval) has(n int64) bool {
	return (!v.lowBound || n > v.low || n == v.low && !v.lowOpen) && (!v.highBound || n < v.high || n == v.high && !v.highOpen)
}

const blanks = " \t\r\n"

// parseInterval reads *, N, or two bounds in brackets, round ones excluding theirs.
func parseInterval(text string) (v interval, ok bool) {
	text = strings.Trim(text, blanks)
	switch {
	case text == "":
		return v, false
	case text == "*":
		return v, true
	case text[0] != '(' && text[0] != '[':
		n, ok := stoll(text)
		return interval{low: n, high: n, lowBound: true, highBound: true}, ok
	}
	end := text[len(text)-1]
	if len(text) < 2 || end != ')' && end != ']' {
		return v, false
	}
	low, high, ok := strings.Cut(text[1:len(text)-1], ",")
	low, high = strings.Trim(low, blanks), strings.Trim(high, blanks)
	v.lowOpen, v.highOpen = text[0] == '(', end == ')'
	v.lowBound, v.highBound = low != "", high != ""
	okLow, okHigh := true, true
	if v.lowBound {
		v.low, okLow = stoll(low)
	}
	if v.highBound {
		v.high, okHigh = stoll(high)
	}
	return v, ok && okLow && okHigh && !(v.lowBound && v.highBound && v.low > v.high)
}

// stoll is what C++ makes of a whole text: it may have a sign and blanks before it.
func stoll(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimLeft(text, " \t\v\f\r\n"), 10, 64)
	return n, err == nil
}

// ncclxRow is a rule as NCCLX keeps it.
type ncclxRow struct {
	collective         string
	part, nodes, local interval
	config             tuning.Config
}

type ncclxFile []ncclxRow

// ncclxRowOf builds a rule from its fields: collective, bytesPerRank, algorithm, protocol,
// channels, nNodes, nLocalRanks and chunkSize; empty ones, and those left out at the end,
// have their defaults.
func ncclxRowOf(fields []string) (row ncclxRow, ok bool) {
	for len(fields) < 8 {
		fields = append(fields, "")
	}
	any := true
	bounds := func(text string) (v interval) {
		if text != "" {
			v, ok = parseInterval(text)
			any = any && ok
		}
		return v
	}
	row.collective, row.part, row.nodes, row.local = fields[0], bounds(fields[1]), bounds(fields[5]), bounds(fields[6])
	algorithm, known := algorithms[fields[2]]
	protocol, spelt := protocols[fields[3]]
	row.config = tuning.Config{Library: "nccl", Kernel: algorithm, Protocol: protocol}
	if fields[4] != "" {
		n, ok := stoll(fields[4])
		any = any && ok && n >= math.MinInt32 && n <= math.MaxInt32
		if row.config.Channels = int(n); n == -1 {
			row.config.Channels = 0 // left to NCCL
		}
	}
	if fields[7] != "" {
		n, ok := stoll(fields[7])
		any = any && ok && n >= 0
	}
	return row, any && known && spelt && slices.Contains(tuning.TunerCollectives, fields[0])
}

// splitNCCLX splits a line at the commas outside brackets, into 8 fields at most.
func splitNCCLX(line string) (fields []string) {
	depth, start := 0, 0
	for i := 0; i <= len(line) && len(fields) < 8; i++ {
		if i < len(line) {
			switch line[i] {
			case '(', '[':
				depth++
			case ')', ']':
				depth = max(depth-1, 0)
			}
		}
		if i == len(line) || line[i] == ',' && depth == 0 {
			fields = append(fields, strings.Trim(line[start:i], blanks))
			start = i + 1
		}
	}
	return fields
}

func readNCCLXCSV(name string, text []byte) (Reader, error) {
	var f ncclxFile
	for n, line := range entries(text) {
		fields := splitNCCLX(line)
		if len(fields) < 7 {
			return nil, lineError(name, n, "%d fields: want at least 7", len(fields))
		}
		row, ok := ncclxRowOf(fields)
		if !ok || len(f) == maxEntries {
			return nil, lineError(name, n, "%.80q: want a rule with a known collective, algorithm and protocol, and valid intervals and numbers", line)
		}
		f = append(f, row)
	}
	return f, nil
}

func readNCCLXJSON(name string, text []byte) (Reader, error) {
	var d struct {
		Rules *[]json.RawMessage `json:"rules"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, jsonError(name, text, err)
	}
	if d.Rules == nil {
		return nil, lineError(name, 1, "has no array rules")
	}
	var f ncclxFile
	for i, raw := range *d.Rules {
		row, ok := ncclxRuleOf(raw)
		if !ok || len(f) == maxEntries {
			return nil, lineError(name, 1, "rules[%d]: want filter and config, with a known collective, algorithm and protocol, and valid intervals and numbers", i)
		}
		f = append(f, row)
	}
	return f, nil
}

// ncclxRuleOf builds a rule from its two objects.
func ncclxRuleOf(raw json.RawMessage) (row ncclxRow, ok bool) {
	var r struct {
		Filter, Config map[string]any
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if d.Decode(&r) != nil || r.Filter == nil || r.Config == nil {
		return row, false
	}
	ok = true
	value := func(of map[string]any, key string) string {
		switch v := of[key].(type) {
		case nil:
			_, there := of[key]
			ok = ok && !there
		case string:
			return v
		case json.Number:
			return v.String()
		default:
			ok = false
		}
		return ""
	}
	row, valid := ncclxRowOf([]string{
		value(r.Filter, "collective"), value(r.Filter, "bytesPerRank"), value(r.Config, "algorithm"), value(r.Config, "protocol"),
		value(r.Config, "channels"), value(r.Filter, "nNodes"), value(r.Filter, "nLocalRanks"), value(r.Config, "chunkSize"),
	})
	return row, ok && valid
}

// jsonError is the error of reading JSON, at its line.
func jsonError(name string, text []byte, err error) error {
	line := 1
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line += bytes.Count(text[:min(syntax.Offset, int64(len(text)))], []byte("\n"))
	case errors.As(err, &kind):
		line += bytes.Count(text[:min(kind.Offset, int64(len(text)))], []byte("\n"))
	}
	return lineError(name, line, "%v", err)
}

// Choose returns what the first rule that matches says.
func (f ncclxFile) Choose(call tuning.Scope, bytes int64) (tuning.Config, bool) {
	nodes := max(call.Nodes, 1)
	for _, r := range f {
		if r.collective == call.Collective && r.part.has(bytes/int64(max(call.Ranks, 1))) && r.nodes.has(int64(nodes)) && r.local.has(int64(call.Ranks/nodes)) {
			return r.config, true
		}
	}
	return tuning.Config{}, false
}
