package measured

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/units"
)

// Run is the document of colltune run -o json: the times of one program.
type Run struct {
	File    string            `json:"-"`
	Schema  string            `json:"schema"`
	Program *RunProgram       `json:"program"`
	Raw     []json.RawMessage `json:"rows"`
	text    string
}

// RunProgram says what ran.
type RunProgram struct {
	File       string `json:"file"` // below the working directory, or the name alone; - for standard input
	IR         string `json:"ir"`   // hash
	Collective string `json:"collective"`
	Topology   string `json:"topology"`
	Nodes      int    `json:"nodes"`
	Ranks      int    `json:"ranks"`
	Placement  string `json:"placement"`
	DType      string `json:"dtype"`
	Protocol   string `json:"protocol"`
	TileBytes  int64  `json:"tile_bytes"`
}

// RunRow is what a program took at one size.
type RunRow struct {
	Bytes       int64       `json:"bytes"`
	TimeUS      float64     `json:"time_us"` // median
	AlgBW       float64     `json:"algbw_gbps"`
	BusBW       *float64    `json:"busbw_gbps"` // null where ranks share a GPU
	Wrong       *int64      `json:"wrong"`      // elements; null if not checked
	Checked     bool        `json:"checked"`
	Note        string      `json:"note,omitempty"` // the executor's, on how it ran
	Executor    string      `json:"executor"`
	TimeBandUS  *[2]float64 `json:"time_band_us,omitempty"` // of a simulated time: its 90 % interval
	Unsupported bool        `json:"unsupported,omitempty"`  // of a simulated time: no measurement says how far it may be off
}

// ReadRun reads the document of a file, without its rows. Its errors, and those of its methods,
// name file, line and key.
func ReadRun(file string, text []byte) (*Run, error) {
	r := &Run{File: file, text: string(files.TrimMark(text))}
	const want = "want the output of colltune run -o json"
	if err := json.Unmarshal([]byte(r.text), r); err != nil {
		return nil, r.jsonError(err, 0, "", want)
	}
	switch p := r.Program; {
	case r.Schema != "colltune.run/v1":
		return nil, r.Errorf("schema", "%.40q: %s", r.Schema, want)
	case p == nil:
		return nil, r.Errorf("program", "missing: %s, as this version writes it", want)
	case len(r.Raw) == 0:
		return nil, r.Errorf("rows", "none: %s, of at least one size", want)
	}
	return r, nil
}

// Rows reads the document's rows.
func (r *Run) Rows() (rows []RunRow, err error) {
	at := r.find("rows", 0, len(r.text))
	for i, raw := range r.Raw {
		at += max(0, strings.Index(r.text[at:], string(raw)))
		end := min(at+len(raw), len(r.text))
		row, key := RunRow{}, fmt.Sprintf("rows[%d]", i)
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, r.jsonError(err, at, key, "want a row of colltune run -o json")
		}
		if err := units.CheckBytes(row.Bytes); err != nil {
			return nil, r.errorAt(r.find("bytes", at, end), key+".bytes", "%v", err)
		}
		if err := units.CheckTimeUS(row.TimeUS); err != nil {
			return nil, r.errorAt(r.find("time_us", at, end), key+".time_us", "%v", err)
		}
		rows, at = append(rows, row), end
	}
	return rows, nil
}

// Errorf returns an error about a key of the document, at its line.
func (r *Run) Errorf(key, format string, args ...any) error {
	return r.errorAt(r.find(key, 0, len(r.text)), key, format, args...)
}

// find is the offset of a key between two offsets, or the first of these.
func (r *Run) find(key string, from, to int) int {
	return from + max(0, strings.Index(r.text[from:to], fmt.Sprintf("%q:", key[strings.LastIndex(key, ".")+1:])))
}

// errorAt returns an error about a key, if there is one, at the line of an offset.
func (r *Run) errorAt(offset int, key, format string, args ...any) error {
	line := 1 + strings.Count(r.text[:min(offset, len(r.text))], "\n")
	if key != "" {
		key += ": "
	}
	return &Error{r.File, line, key + fmt.Sprintf(format, args...)}
}

// jsonError adds line and key to an error of decoding what is at an offset and below key.
func (r *Run) jsonError(err error, offset int, key, want string) error {
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset += int(syntax.Offset)
	case errors.As(err, &value):
		return r.errorAt(offset+int(value.Offset), strings.Trim(key+"."+value.Field, "."), "it is a %s: %s", value.Value, want)
	}
	return r.errorAt(offset, key, "%v: %s", err, want)
}
