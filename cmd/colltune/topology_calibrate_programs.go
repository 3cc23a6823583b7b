package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/topologies"
)

// maxProgramTimes is the most times that are taken of a campaign.
const maxProgramTimes = 512

// runsFile is a file with the JSON of run -o json.
type runsFile struct {
	path, text string
	Schema     string            `json:"schema"`
	Program    *ranProgram       `json:"program"`
	Rows       []json.RawMessage `json:"rows"`
}

// notMeasured is a remark on times of the simulator itself.
const notMeasured = "simulated, not measured"

// readRuns reads one [PROGRAM=]FILE of --runs.
func readRuns(cmd *cobra.Command, name, given string) (t measuredTable, err error) {
	path, program := given, ""
	if _, err := os.Stat(given); err != nil {
		if before, after, ok := strings.Cut(given, "="); ok {
			program, path = before, after
		}
	}
	text, err := readFile(cmd.Context(), path, maxBaseline)
	if err != nil {
		return t, err
	}
	f := &runsFile{path: path, text: string(files.TrimMark(text))}
	if err := f.decode(); err != nil {
		return t, usage(err)
	}
	ran, err := f.readProgram(cmd, program)
	if err != nil {
		return t, err
	}
	if t, err = programTable(cmd, name, filepath.Base(path), ran); err != nil {
		return t, err
	}
	return t, f.readRows(cmd, &t, ran.Used())
}

// decode reads the document, without its rows.
func (f *runsFile) decode() error {
	const want = "want the output of colltune run -o json"
	if err := json.Unmarshal([]byte(f.text), f); err != nil {
		return f.jsonError(err, 0, "", want)
	}
	switch p := f.Program; {
	case f.Schema != "colltune.run/v1":
		return f.fail("schema", "%.40q: %s", f.Schema, want)
	case p == nil:
		return f.fail("program", "missing: %s, as this version writes it", want)
	case len(f.Rows) == 0:
		return f.fail("rows", "none: %s, of at least one size", want)
	}
	return nil
}

// fail returns an error about a key of the document, at its line.
func (f *runsFile) fail(key, format string, args ...any) error {
	return f.failAt(f.find(key, 0, len(f.text)), key, format, args...)
}

// find is the offset of a key between two offsets, or the first of these.
func (f *runsFile) find(key string, from, to int) int {
	return from + max(0, strings.Index(f.text[from:to], fmt.Sprintf("%q:", key[strings.LastIndex(key, ".")+1:])))
}

// failAt returns an error about a key, if there is one, at the line of an offset.
func (f *runsFile) failAt(offset int, key, format string, args ...any) error {
	line := 1 + strings.Count(f.text[:min(offset, len(f.text))], "\n")
	if key != "" {
		key += ": "
	}
	return fmt.Errorf("%s:%d: %s%s", f.path, line, key, fmt.Sprintf(format, args...))
}

// jsonError adds line and key to an error of decoding what is at an offset and below key.
func (f *runsFile) jsonError(err error, offset int, key, want string) error {
	var syntax *json.SyntaxError
	var value *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset += int(syntax.Offset)
	case errors.As(err, &value):
		return f.failAt(offset+int(value.Offset), strings.Trim(key+"."+value.Field, "."), "it is a %s: %s", value.Value, want)
	}
	return f.failAt(offset, key, "%v: %s", err, want)
}

// readProgram reads the program that ran: the file given, else that of its name beside f,
// or below the working directory.
func (f *runsFile) readProgram(cmd *cobra.Command, given string) (*ir.Program, error) {
	give := fmt.Sprintf("give the program that ran, --runs PROGRAM=%s", f.path)
	path := given
	if path == "" {
		name := filepath.FromSlash(f.Program.File)
		if name == "-" || !filepath.IsLocal(name) { // no file elsewhere is read for what another file says
			return nil, usage(f.fail("program.file", "%.80q names no file below a folder: %s", f.Program.File, give))
		}
		path = filepath.Join(filepath.Dir(f.path), filepath.Base(name))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path = name
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, usage(f.fail("program.file", "there is no %s beside it, nor %s here: %s", filepath.Base(name), name, give))
		}
	}
	read, err := readProgram(cmd, path)
	if err != nil {
		return nil, err
	}
	if read.program == nil {
		return nil, usagef("%s: run does not take MSCCL++ plans: %s", path, give)
	}
	if hash := read.program.Hash(); hash != f.Program.IR {
		return nil, usage(f.fail("program.ir", "%.12s, where %s is %.12s: %s", f.Program.IR, path, hash, give))
	}
	return read.program, nil
}

// runsKnobs is how all rows ran.
type runsKnobs struct {
	protocol topologies.Proto
	elem     int64
}

// knobs reads how the program ran on a system.
func (f *runsFile) knobs(t *topologies.Topology) (k runsKnobs, err error) {
	p := f.Program
	if k.protocol, err = topologies.ParseProto(p.Protocol); err != nil {
		return k, f.fail("program.protocol", "%v", err)
	}
	if err := t.CheckProtocol(k.protocol); err != nil {
		return k, f.fail("program.protocol", "%v", err)
	}
	if k.elem, err = collective.ElemBytes(p.DType); err != nil {
		return k, f.fail("program.dtype", "%v", err)
	}
	if p.TileBytes < k.elem {
		return k, f.fail("program.tile_bytes", "%d: want at least the %d bytes of an element", p.TileBytes, k.elem)
	}
	return k, nil
}

// rows reads the rows of the document.
func (f *runsFile) rows() (rows []runRow, err error) {
	at := f.find("rows", 0, len(f.text))
	for i, raw := range f.Rows {
		at += max(0, strings.Index(f.text[at:], string(raw)))
		end := min(at+len(raw), len(f.text))
		row, key := runRow{}, fmt.Sprintf("rows[%d]", i)
		if err := json.Unmarshal(raw, &row); err != nil {
			return nil, f.jsonError(err, at, key, "want a row of colltune run -o json")
		}
		if err := units.CheckBytes(row.Bytes); err != nil {
			return nil, f.failAt(f.find("bytes", at, end), key+".bytes", "%v", err)
		}
		if err := units.CheckTimeUS(row.TimeUS); err != nil {
			return nil, f.failAt(f.find("time_us", at, end), key+".time_us", "%v", err)
		}
		rows, at = append(rows, row), end
	}
	return rows, nil
}

// completes returns the sizes of rows at which the program completes on a system. That it
// does at none is an error.
func (f *runsFile) completes(t *topologies.Topology, k runsKnobs, rows []runRow, program *ir.Program) ([]int64, error) {
	col, err := collective.New(program.Collective)
	if err != nil {
		return nil, err
	}
	r := runRequest{col: col, trial: executor.Trial{Topology: t, DType: f.Program.DType, Protocol: k.protocol, TileBytes: f.Program.TileBytes}}
	for _, row := range rows {
		r.sizes = append(r.sizes, row.Bytes)
	}
	err = r.refuseHangs(&programFile{name: f.path, program: program})
	return r.sizes, err
}

// readRows sets the points of the table.
func (f *runsFile) readRows(cmd *cobra.Command, t *measuredTable, program *ir.Program) error {
	knobs, err := f.knobs(t.Topology)
	if err != nil {
		return usage(err)
	}
	rows, err := f.rows()
	if err != nil {
		return usage(err)
	}
	t.Elem = knobs.elem
	completes, err := f.completes(t.Topology, knobs, rows, program)
	if err != nil {
		return err
	}
	wrong, simulated, hang := 0, 0, 0
	for _, row := range rows {
		if row.Executor == "sim" {
			simulated++
		}
		switch {
		case row.Wrong != nil && *row.Wrong > 0:
			wrong++
		case !slices.Contains(completes, row.Bytes):
			hang++
		case inRange(cmd, row.Bytes):
			c := search.LibraryCall{Bytes: row.Bytes, Name: program.Name + " " + knobs.protocol.String(), Protocol: knobs.protocol, Tile: f.Program.TileBytes, Program: program}
			t.Points = append(t.Points, calibrate.Point{LibraryCall: c, MeasuredUS: row.TimeUS})
		}
	}
	t.remark(cmd, hang, "not used, as the program hangs there with the slots of "+t.Topology.Name)
	t.remark(cmd, wrong, "not used, as the results were wrong")
	t.remark(cmd, simulated, notMeasured)
	if len(t.Points) == 0 {
		return usagef("%s: no usable time: want rows without wrong results, of sizes from --min-bytes to --max-bytes", f.path)
	}
	return nil
}

// remark prints what is to be said of n of a table's times, if there are any.
func (t *measuredTable) remark(cmd *cobra.Command, n int, what string) {
	if n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s: %s\n", t.file, units.Count(n, "time"), what)
	}
}

// programTable is a table for times of a program, or of several that compute the same, on
// the system that they are for.
func programTable(cmd *cobra.Command, name, file string, p *ir.Program) (t measuredTable, err error) {
	t = measuredTable{Table: calibrate.Table{Origin: calibrate.Program}, file: file, collective: p.Collective.Name}
	if t.Topology, err = topologyForRanks(cmd, name, p.Ranks()); err != nil {
		return t, err
	}
	if n := len(t.Topology.Ranks); n != p.Ranks() {
		return t, usagef("%s: its program is for %d ranks, and %s has %d: want --nodes or --gpus that make them as many", file, p.Ranks(), t.Topology.Name, n)
	}
	if err := verify.Check(p, verify.Options{Linked: t.Topology.Linked}).Err(); err != nil {
		return t, &wrongError{fmt.Errorf("%s: %w", file, err)}
	}
	return t, nil
}

// readCampaign reads the times of programs in one folder of --campaign.
func readCampaign(cmd *cobra.Command, name, dir string) (t measuredTable, err error) {
	c, err := openCampaign(cmd, results.OpenReadOnly, dir)
	if err != nil {
		return t, err
	}
	defer c.Close()
	calls := programCalls(cmd, c)
	if len(calls) == 0 {
		return t, usagef("%s: no usable time: want trials of programs that ended well, of sizes from --min-bytes to --max-bytes", dir)
	}
	if n := len(calls); n > maxProgramTimes {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d of its %d times are used, spread over sizes and programs\n", dir, maxProgramTimes, n)
		for i := range maxProgramTimes {
			calls[i] = calls[i*n/maxProgramTimes]
		}
		calls = calls[:maxProgramTimes]
	}
	programs := map[string]*ir.Program{}
	for _, call := range calls {
		if programs[call.Program] != nil {
			continue
		}
		p, err := c.Program(call.Program)
		if err != nil {
			return t, err
		}
		of, err := programTable(cmd, name, filepath.Base(filepath.Clean(dir)), p)
		if err != nil {
			return t, err
		}
		programs[call.Program] = p.Used()
		if t.Topology == nil {
			t = of
		}
	}
	t.Elem = c.Plan().ElemBytes()
	for _, call := range calls {
		point, err := call.point(t.Topology, programs[call.Program])
		if err != nil {
			return t, usagef("%s: %w", dir, err)
		}
		t.Points = append(t.Points, point)
	}
	t.remarkExecutor(cmd, c)
	return t, nil
}

// remarkExecutor prints why a campaign's times may not be those of the system.
func (t *measuredTable) remarkExecutor(cmd *cobra.Command, c *results.Campaign) {
	e, _ := c.Executor()
	switch {
	case e.Name == "sim":
		t.remark(cmd, len(t.Points), notMeasured)
	case e.OtherLinks || e.SharedGPUs(len(t.Topology.Ranks)) > 0:
		t.remark(cmd, len(t.Points), "measured by executor "+e.Name+" without this system's links")
	}
}

// programCall is what trials of one program and its knobs have in common, with the median
// of their times.
type programCall struct {
	results.Trial
	timeUS float64
}

// programCalls returns the calls of a campaign's programs that ended well, by rising size,
// each once. Trials of native algorithms run the library, and are none.
func programCalls(cmd *cobra.Command, c *results.Campaign) (calls []programCall) {
	type knobs struct {
		bytes                        int64
		protocol, program, placement string
		tile                         int64
	}
	times, first := map[knobs][]float64{}, map[knobs]results.Trial{}
	for _, t := range c.Trials() {
		if t.Outcome != results.OK || t.IsNative() || !inRange(cmd, t.Bytes) {
			continue
		}
		k := knobs{t.Bytes, t.Protocol, t.Program, t.Placement, t.TileBytes}
		if times[k] == nil {
			first[k] = t
		}
		times[k] = append(times[k], t.TimesUS...)
	}
	for k, t := range first {
		calls = append(calls, programCall{t, results.Median(times[k])})
	}
	slices.SortFunc(calls, func(a, b programCall) int {
		return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Program, b.Program), cmp.Compare(a.Placement, b.Placement), cmp.Compare(a.TileBytes, b.TileBytes))
	})
	return calls
}

// point is a call of a program on a system.
func (c *programCall) point(t *topologies.Topology, p *ir.Program) (calibrate.Point, error) {
	protocol, err := topologies.ParseProto(c.Protocol)
	if err == nil {
		err = t.CheckProtocol(protocol)
	}
	name := fmt.Sprintf("%s ×%d %s", c.Algorithm, max(c.Instances, 1), c.Protocol)
	call := search.LibraryCall{Bytes: c.Bytes, Name: name, Protocol: protocol, Tile: c.TileBytes, Program: p}
	return calibrate.Point{LibraryCall: call, MeasuredUS: c.timeUS}, err
}
