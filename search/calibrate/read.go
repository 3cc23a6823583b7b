package calibrate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// MostRows is the most times that can be fitted to, each of which is simulated a hundred times,
// and mostOfCampaign the most that are taken of one campaign.
const (
	MostRows       = 4096
	mostOfCampaign = 512
)

// Reader makes tables of what was measured on a system.
type Reader struct {
	// System returns the system on as many nodes as have that many ranks; 0: not stated.
	System func(ranks int) (*topologies.Topology, error)
	// Part returns the first GPUs of so many nodes that are so many ranks; 0 nodes: as few as do.
	Part        func(ranks, nodes int) (*topologies.Topology, error)
	Least, Most int64        // sizes in bytes; Most 0: no limit
	Notice      func(string) // told what is not used, and what was not measured
}

// NoProgram is the error of a library none of whose choices has a program here.
type NoProgram struct{ Collective, Topology string }

func (e *NoProgram) Error() string {
	return fmt.Sprintf("%s on %s: there is no program for the library's choices", e.Collective, e.Topology)
}

// WrongProgram is the error of a program that does not compute its collective on the system.
type WrongProgram struct {
	File string
	Err  error
}

func (e *WrongProgram) Error() string { return fmt.Sprintf("%s: %v", e.File, e.Err) }

// takes reports whether a size is asked for.
func (r *Reader) takes(bytes int64) bool {
	return bytes >= r.Least && (bytes <= r.Most || r.Most == 0)
}

// remark tells what is to be said of n of a table's times, if there are any.
func (r *Reader) remark(t *Table, n int, what string) {
	if n > 0 {
		r.Notice(fmt.Sprintf("%s: %s: %s", t.File, units.Count(n, "time"), what))
	}
}

// notMeasured is a remark on times of the simulator itself.
const notMeasured = "simulated, not measured"

// Library returns the times of a call in a file of nccl-tests' output, each with the library's
// choice at that size.
func (r *Reader) Library(ctx context.Context, path string, text []byte, system *topologies.Topology, call collective.Call, inPlace bool) (Table, error) {
	t := Table{File: filepath.Base(path), Collective: call.Collective, DType: call.DType, Topology: system}
	over, err := call.Over(len(system.Ranks), inPlace)
	if err != nil {
		return t, err
	}
	times, err := measured.ReadCallTimes(t.File, text, call, over)
	if err != nil {
		return t, err
	}
	us := map[int64][]float64{}
	for _, n := range times.Sizes() {
		us[n], _ = times.At(n, program.Placement(inPlace))
	}
	return r.library(ctx, t, call, inPlace, us)
}

// library adds to a table the times of a call by its size, each with the library's choice.
func (r *Reader) library(ctx context.Context, t Table, call collective.Call, inPlace bool, us map[int64][]float64) (_ Table, err error) {
	if t.Elem, err = collective.ElemBytes(call.DType); err != nil {
		return t, err
	}
	var sizes []int64
	for _, n := range slices.Sorted(maps.Keys(us)) {
		if len(us[n]) > 0 && r.takes(n) {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) < 2 {
		return t, fmt.Errorf("%s: %s with usable times: want at least 2", t.File, units.Count(len(sizes), "size"))
	}
	if len(sizes) > MostRows {
		return t, fmt.Errorf("%s: %d sizes with usable times: want at most %d (--min-bytes and --max-bytes narrow them)", t.File, len(sizes), MostRows)
	}
	builder := program.New(program.Target{Call: call, Topology: t.Topology, InPlace: inPlace}, program.Options{Observer: program.Observer{Notice: r.Notice}})
	defer builder.Close()
	calls, err := library.New(builder, library.Options{}, r.Notice).Calls(ctx, sizes)
	if err != nil {
		return t, err
	}
	left := 0
	for i := range calls {
		if c := &calls[i]; c.StandIn || c.From != library.Program { // another algorithm, so its times are not comparable
			left++
		} else {
			t.Points = append(t.Points, Called(c, results.Median(us[c.Bytes])))
		}
	}
	if left > 0 {
		r.Notice(fmt.Sprintf("%s: the times at these %s are not used", t.File, units.Count(left, "size")))
	}
	if len(t.Points) < 2 {
		return t, &NoProgram{t.Collective, t.Topology.Name}
	}
	return t, nil
}

// measuredCall is what rows of a file of measurements have in common that are one table.
type measuredCall struct {
	collective, dtype, version string
	ranks, nodes               int
}

// Rows returns the library's times in rows of measurements: a table for each collective, number
// of ranks and nodes, element type and version of the library. Where call has a collective or
// an element type, those of others are left out; dtype is that of rows that state none.
func (r *Reader) Rows(ctx context.Context, path string, rows []measured.Row, call collective.Call, dtype string, inPlace func(collective string) bool) (tables []Table, err error) {
	times := map[measuredCall]map[int64][]float64{}
	var order []measuredCall
	left := 0 // measured otherwise than the library chooses
	for i := range rows {
		row := &rows[i]
		if call.Collective != "" && row.Collective != call.Collective {
			continue
		}
		of := func(c measured.Condition) string { return row.Conditions[c] }
		c := measuredCall{row.Collective, cmp.Or(of(measured.DType), dtype), row.Version, row.Ranks, 0}
		if call.DType != "" && c.dtype != call.DType {
			continue
		}
		c.nodes, _ = strconv.Atoi(of(measured.Nodes)) // 0: not stated
		placement := of(measured.Placement)
		if placement != "" && placement != program.Placement(inPlace(c.collective)) {
			continue
		}
		if row.Simulated() || of(measured.Protocol) != "" || of(measured.SMs) != "" || !slices.Contains([]string{"", "no", "none"}, of(measured.Registered)) {
			left++
			continue
		}
		if times[c] == nil {
			times[c], order = map[int64][]float64{}, append(order, c)
		}
		times[c][row.Bytes] = append(times[c][row.Bytes], row.TimeUS)
	}
	file := filepath.Base(path)
	r.remark(&Table{File: file}, left, "not used, as the library did not choose freely, or they were simulated")
	var last error
	for _, c := range order {
		t := Table{File: file, Collective: c.collective, DType: c.dtype}
		if t.Topology, err = r.Part(c.ranks, c.nodes); err == nil {
			one := call
			one.Collective, one.DType = c.collective, c.dtype
			t, err = r.library(ctx, t, one, inPlace(c.collective), times[c])
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			last = err
			r.Notice(fmt.Sprintf("%s: %s of %s over %s not used: %v", file, c.collective, c.dtype, units.Count(c.ranks, "rank"), err))
		default:
			tables = append(tables, t)
		}
	}
	if len(tables) == 0 {
		return nil, cmp.Or(last, fmt.Errorf("%s: none of its %s is asked for", file, units.Count(len(rows), "time")))
	}
	return tables, nil
}

// Run returns the times of a program that colltune run printed.
func (r *Reader) Run(f *measured.Run, p *ir.Program) (t Table, err error) {
	if t, err = r.programTable(filepath.Base(f.File), p); err != nil {
		return t, err
	}
	protocol, err := topologies.ParseProto(f.Program.Protocol)
	if err != nil {
		return t, f.Errorf("program.protocol", "%v", err)
	}
	if err := t.Topology.CheckProtocol(protocol); err != nil {
		return t, f.Errorf("program.protocol", "%v", err)
	}
	if t.Elem, err = collective.ElemBytes(f.Program.DType); err != nil {
		return t, f.Errorf("program.dtype", "%v", err)
	}
	if f.Program.TileBytes < t.Elem {
		return t, f.Errorf("program.tile_bytes", "%d: want at least the %d bytes of an element", f.Program.TileBytes, t.Elem)
	}
	rows, err := f.Rows()
	if err != nil {
		return t, err
	}
	col, err := collective.New(p.Collective)
	if err != nil {
		return t, err
	}
	var sizes []int64
	for _, row := range rows {
		sizes = append(sizes, row.Bytes)
	}
	p = p.Used()
	trial := executor.Trial{Topology: t.Topology, DType: f.Program.DType, Protocol: protocol, TileBytes: f.Program.TileBytes}
	completes, hangs, why, err := sim.Completes(p, col, trial, sizes)
	if err != nil {
		return t, err
	}
	if len(completes) == 0 {
		return t, &WrongProgram{f.File, fmt.Errorf("not run at %s: %w", units.Span(hangs), why)}
	}
	wrong, simulated, hang := 0, 0, 0
	for _, row := range rows {
		if executor.IsModel(row.Executor) {
			simulated++
		}
		switch {
		case row.Wrong != nil && *row.Wrong > 0:
			wrong++
		case !slices.Contains(completes, row.Bytes):
			hang++
		case r.takes(row.Bytes):
			t.Points = append(t.Points, Point{Bytes: row.Bytes, Name: p.Name + " " + protocol.String(), Protocol: protocol, Tile: f.Program.TileBytes, Program: p, MeasuredUS: row.TimeUS})
		}
	}
	r.remark(&t, hang, "not used, as the program hangs there with the slots of "+t.Topology.Name)
	r.remark(&t, wrong, "not used, as the results were wrong")
	r.remark(&t, simulated, notMeasured)
	if len(t.Points) == 0 {
		return t, fmt.Errorf("%s: no usable time: want rows without wrong results, of sizes from --min-bytes to --max-bytes", f.File)
	}
	return t, nil
}

// programTable is a table for times of a program, or of several that compute the same, on the
// system that they are for.
func (r *Reader) programTable(file string, p *ir.Program) (t Table, err error) {
	t = Table{Origin: Program, File: file, Collective: p.Collective.Name}
	if t.Topology, err = r.System(p.Ranks()); err != nil {
		return t, err
	}
	if n := len(t.Topology.Ranks); n != p.Ranks() {
		return t, fmt.Errorf("%s: its program is for %d ranks, and %s has %d: want --nodes or --gpus that make them as many", file, p.Ranks(), t.Topology.Name, n)
	}
	if err := verify.Check(p, verify.Options{Linked: t.Topology.Linked}).Err(); err != nil {
		return t, &WrongProgram{file, err}
	}
	return t, nil
}

// Campaign returns the times of a campaign's programs in a folder, spread over sizes and
// programs where there are many.
func (r *Reader) Campaign(dir string, c *results.Campaign) (t Table, err error) {
	calls := r.programCalls(c)
	n := len(calls)
	if n == 0 {
		return t, fmt.Errorf("%s: no usable time: want trials of programs that ended well, of sizes from --min-bytes to --max-bytes", dir)
	}
	if n > mostOfCampaign {
		r.Notice(fmt.Sprintf("%s: %d of its %d times are used, spread over sizes and programs", dir, mostOfCampaign, n))
		for i := range mostOfCampaign {
			calls[i] = calls[i*n/mostOfCampaign]
		}
		calls = calls[:mostOfCampaign]
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
		of, err := r.programTable(filepath.Base(filepath.Clean(dir)), p)
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
		protocol, err := topologies.ParseProto(call.Protocol)
		if err == nil {
			err = t.Topology.CheckProtocol(protocol)
		}
		if err != nil {
			return t, fmt.Errorf("%s: %w", dir, err)
		}
		name := fmt.Sprintf("%s ×%d %s", call.Algorithm, max(call.Instances, 1), call.Protocol)
		t.Points = append(t.Points, Point{Bytes: call.Bytes, Name: name, Protocol: protocol, Tile: call.TileBytes, Program: programs[call.Program], MeasuredUS: call.timeUS})
	}
	switch e, _ := c.Executor(); {
	case executor.IsModel(e.Name):
		r.remark(&t, len(t.Points), notMeasured)
	case e.OtherLinks || e.SharedGPUs(len(t.Topology.Ranks)) > 0:
		r.remark(&t, len(t.Points), "measured by executor "+e.Name+" without this system's links")
	}
	return t, nil
}

// programCall is what trials of one program and its knobs have in common, with the median of
// their times.
type programCall struct {
	results.Trial
	timeUS float64
}

// programCalls returns the calls of a campaign's programs that ended well, by rising size, each
// once. Trials of native algorithms run the library, and are none.
func (r *Reader) programCalls(c *results.Campaign) (calls []programCall) {
	type knobs struct {
		bytes                        int64
		protocol, program, placement string
		tile                         int64
	}
	times, first := map[knobs][]float64{}, map[knobs]results.Trial{}
	for _, t := range c.Trials() {
		if t.Outcome != results.OK || t.IsNative() || !r.takes(t.Bytes) {
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

// From says where a fit's numbers are from: the tables' files, and whether they are times of
// programs, which topologies.SettledBy reads again.
func From(tables []Table) string {
	var names []string
	for _, t := range tables {
		name := t.File
		if t.Origin == Program {
			name = "programs of " + t.File
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// widest returns the system with most nodes, which has every kind of link.
func widest(tables []Table) *topologies.Topology {
	return slices.MaxFunc(tables, func(a, b Table) int { return a.Topology.Nodes - b.Topology.Nodes }).Topology
}
