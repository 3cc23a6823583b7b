package measured

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// Rows of mixture-of-experts libraries, as aiconfigurator publishes those of DeepEP and
// TensorRT-LLM, count tokens. Here a dispatch and a combine are alltoallv of
//
//	bytes = ranks × tokens × top-k × hidden size × width
//
// where tokens are those of a rank, and the width of an element in bytes is, of a combine, 2
// (bf16); of DeepEP's dispatch 1 (fp8), which its low-latency rows' bandwidths confirm; of
// TensorRT-LLM's, that of the type: bf16 2, fp8 1, nvfp4 9/16 with its scales. Scales of fp8
// and indices are not counted, and a token counts once an expert. The condition traffic tells
// dispatch from combine; experts are part of the kernel, and SMs a condition.

// isMoE reports whether a file is of these rows.
func isMoE(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.Contains(line, []byte("num_experts"))
}

// moeRow is a line by its columns' names.
type moeRow struct {
	fields map[string]string
	line   int
	err    error // of the first column that lacks or is no number
}

func (m *moeRow) number(name string) float64 {
	v, err := units.ParseDecimal(m.fields[name])
	if err != nil || !(v >= 0 && v < 1e12) {
		m.fail(name, "a number from 0")
	}
	return v
}

// count reads a whole number, which may be written as 8.0.
func (m *moeRow) count(name string) int64 {
	v, err := units.ParseDecimal(m.fields[name])
	if err != nil || v != math.Trunc(v) || v < 1 || v > units.MostBytes {
		m.fail(name, "a whole number from 1")
		return 0
	}
	return int64(v)
}

// stated is count of a column that may be missing, or empty, as a condition has it.
func (m *moeRow) stated(name string) string {
	if m.fields[name] == "" {
		return ""
	}
	return digits(m.count(name))
}

// fail keeps the first error.
func (m *moeRow) fail(name, want string) {
	if m.err == nil {
		m.err = fmt.Errorf("column %s: %.40q: want %s", name, m.fields[name], want)
	}
}

// readMoE reads a file of DeepEP's or TensorRT-LLM's rows.
func (r *reader) readMoE(text []byte) error {
	c := csv.NewReader(bytes.NewReader(text))
	names, err := c.Read()
	if err != nil {
		return r.csvError(err, "want a line that names the columns")
	}
	prepare := map[string]float64{} // us, by the other columns: a part of the dispatch
	var rows []*moeRow
	for {
		fields, err := c.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return r.csvError(err, "")
		}
		line, _ := c.FieldPos(0)
		m := &moeRow{fields: map[string]string{}, line: line}
		for i, name := range names {
			m.fields[name] = fields[i]
		}
		if m.fields["op_name"] == "alltoall_prepare" {
			prepare[m.key()] = m.number("latency") * 1e3
		} else {
			rows = append(rows, m)
		}
		if m.err != nil {
			return r.errorf(line, "%v", m.err)
		}
	}
	for _, m := range rows {
		if err := r.moe(m, prepare[m.key()]); err != nil {
			return err
		}
	}
	return nil
}

// key is the columns that a dispatch shares with its preparation.
func (m *moeRow) key() string {
	var key []string
	for _, name := range []string{"version", "kernel_source", "moe_dtype", "num_tokens", "hidden_size", "topk", "num_experts", "moe_ep_size", "distribution"} {
		key = append(key, m.fields[name])
	}
	return strings.Join(key, ",")
}

// moe adds the dispatch and the combine of a line.
func (r *reader) moe(m *moeRow, prepareUS float64) error {
	if _, ep := m.fields["moe_ep_size"]; ep {
		return r.trtllm(m, prepareUS)
	}
	ranks := int64(r.ranks())
	if ranks == 0 {
		return r.errorf(m.line, "ranks is not stated: want it beside the file's name, as in --library FILE,ranks=8")
	}
	for _, phase := range []string{"dispatch", "combine"} {
		call := moeCall{library: m.fields["kernel_source"], phase: phase, precision: "bfloat16", kernel: m.fields["op_name"], ranks: ranks, tokens: m.count("num_token"), topk: m.count("num_topk")}
		if phase == "dispatch" {
			call.precision = "fp8"
		}
		if _, normal := m.fields[phase+"_transmit_us"]; normal {
			call.kernel, call.sms = "normal", m.stated(phase+"_sms")
			call.us = m.number(phase+"_transmit_us") + m.number(phase+"_notify_us")
		} else {
			call.kernel, call.us = "low latency", m.number(phase+"_avg_t_us")
		}
		if err := r.moeCall(m, call); err != nil {
			return err
		}
	}
	return nil
}

// trtllm adds the dispatch or combine of a line of TensorRT-LLM's.
func (r *reader) trtllm(m *moeRow, prepareUS float64) error {
	c := moeCall{library: "trtllm", precision: m.fields["moe_dtype"], kernel: m.fields["kernel_source"] + " " + m.fields["moe_dtype"], us: m.number("latency") * 1e3, ranks: m.count("moe_ep_size"), tokens: m.count("num_tokens"), topk: m.count("topk")}
	switch m.fields["op_name"] {
	case "alltoall_dispatch":
		c.phase, c.us = "dispatch", c.us+prepareUS
	case "alltoall_combine":
		c.phase, c.precision = "combine", "bfloat16"
	case "alltoall_combine_low_precision":
		c.phase, c.precision, c.kernel = "combine", "fp8", c.kernel+" low precision"
	default:
		return r.errorf(m.line, "unknown op_name %.40q: want alltoall_prepare, _dispatch, _combine or _combine_low_precision", m.fields["op_name"])
	}
	if d := m.fields["distribution"]; d != "balanced" {
		c.phase += " " + d
	}
	return r.moeCall(m, c)
}

// moeCall is a dispatch or a combine.
type moeCall struct {
	library, phase, precision, kernel, sms string
	us                                     float64
	ranks, tokens, topk                    int64
}

// moeWidths are sixteenths of a byte of an element.
var moeWidths = map[string]int64{"bfloat16": 32, "float16": 32, "fp8": 16, "fp8_block": 16, "nvfp4": 9}

func (r *reader) moeCall(m *moeRow, c moeCall) error {
	width, known := moeWidths[c.precision]
	elements, err := units.Product(c.ranks, c.tokens, c.topk, m.count("hidden_size"))
	experts, nodes := m.count("num_experts"), m.stated("node_num")
	switch {
	case m.err != nil:
		return r.errorf(m.line, "%v", m.err)
	case !known:
		return r.errorf(m.line, "unknown moe_dtype %.40q: want one of %s", c.precision, strings.Join(moeTypes, ", "))
	case err != nil:
		return r.errorf(m.line, "ranks, tokens, top-k and hidden size: %v", err)
	}
	row := Row{Collective: "alltoallv", Ranks: int(c.ranks), Bytes: (elements*width + 15) / 16, Library: c.library, Version: strings.Trim(m.fields["framework"]+"-"+m.fields["version"], "-")}
	row.Conditions[Kernel] = fmt.Sprintf("%s, %d experts", c.kernel, experts)
	row.Conditions[SMs], row.Conditions[Traffic], row.Conditions[Nodes] = c.sms, c.phase, nodes
	if err := micros(1, func(r *Row) *float64 { return &r.TimeUS })(&row, exact(c.us)); err != nil {
		return r.errorf(m.line, "%v", err)
	}
	return r.add(row, m.line)
}

var moeTypes = func() (names []string) {
	for name := range moeWidths {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()
