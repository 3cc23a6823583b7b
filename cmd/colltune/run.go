package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/intervals"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/topologies"
)

func runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Time one program over a range of sizes",
		Long: `run verifies one program (colltune's IR or MSCCL XML), times it over a range of sizes
and prints nccl-tests' table. FILE may be - for standard input. Sizes are rounded up
to whole elements, and equal sizes run once. Without -t, the system has a link between
every two ranks.

  colltune run ring.json -t dgx-a100 -b 1K -e 1G --protocol LL128
  colltune run ring.json --executor cpu -e 64M
  colltune run ring.json -t dgx-a100 -b 16M -e 16M --explain`,
		Args: exactArgs("the program's FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := readProgram(cmd, args[0])
			if err == nil && f.Plan != nil {
				err = usagef("%s: run does not take MSCCL++ plans, which verify reads: want an IR in JSON or MSCCL XML", args[0])
			}
			if err == nil {
				err = checkCollectiveKnown(f)
			}
			if err != nil {
				return err
			}
			return runProgram(cmd, f)
		},
	}
	topologyFlags(cmd)
	executorFlags(cmd)
	sizeFlags(cmd)
	elementFlags(cmd)
	trialFlags(cmd)
	choiceFlag(cmd, "protocol", "", "", topologies.ProtocolNames(), "wire protocol (default: what the file says, else Simple)")
	cmd.Flags().Var(&size{}, "tile-bytes", "tile size (default: the runtime's own)")
	explainFlags(cmd)
	outputFlags(cmd)
	return cmd
}

// checkCollectiveKnown refuses a file that does not define the collective of its program:
// there would be nothing to check results against.
func checkCollectiveKnown(f *programFile) error {
	if f.XML == nil {
		return nil
	}
	if _, known, err := f.XML.Spec(f.Program.Collective.InPlace); err != nil || known {
		return err
	}
	return usagef("%s: the file does not define its collective (%s), so results cannot be checked: want the program's IR (--to ir)", f.Name, f.XML.Computes())
}

type runRow struct {
	measured.RunRow
	Explanation *explanation `json:"explanation,omitempty"` // with --explain
	lacks       string       // why no measurement says how far it may be off
}

func (r *runRequest) program(f *programFile) measured.RunProgram {
	t := r.trial
	p := measured.RunProgram{
		File: filepath.ToSlash(filepath.Clean(f.Name)), IR: f.Program.Hash(), Collective: r.col.Name, Topology: t.Topology.Name, Nodes: t.Topology.Nodes,
		Ranks: len(t.Topology.Ranks), Placement: "out", DType: t.DType, Protocol: t.Protocol.String(), TileBytes: t.TileBytes,
	}
	if r.col.InPlace {
		p.Placement = "in"
	}
	switch {
	case f.input:
		p.File = "-"
	case !filepath.IsLocal(f.Name):
		p.File = filepath.Base(f.Name)
	}
	return p
}

// runProgram times a program at every size, and prints the table of what was measured
// before any error.
func runProgram(cmd *cobra.Command, f *programFile) error {
	explain, err := explainOptionsOf(cmd)
	if err != nil {
		return err
	}
	r, err := runRequestOf(cmd, f)
	if err != nil {
		return err
	}
	if explain.trace != "" {
		if err := r.checkOneSize(); err != nil {
			return err
		}
	}
	if flagValue(cmd, "topology") == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "no -t/--topology: using %s, with a link between every two ranks\n", r.trial.Topology.Name)
	}
	h, err := startExecutor(cmd.Context(), cmd)
	if err != nil {
		return err
	}
	defer h.Close()
	d, err := h.Describe(cmd.Context())
	if err != nil {
		return err
	}
	rows, err := timeSizes(cmd.Context(), h, d, r.trial, r.col, r.sizes)
	if err != nil && len(rows) == 0 {
		return err
	}
	if d.Simulated {
		r.addBands(rows)
	}
	notes := runNotes(d, r.trial.Topology, rows)
	s := r.sheet(rows)
	s.notes = notes
	if explain.on {
		if e := r.explainRows(cmd.Context(), explain.timeout, rows); e != nil {
			return errors.Join(err, e)
		}
		s.explain(rows)
	}
	if explain.trace != "" {
		note, e := r.writeTrace(cmd.Context(), explain.timeout, explain.trace)
		if e != nil {
			return errors.Join(err, e)
		}
		fmt.Fprintln(cmd.ErrOrStderr(), safe.Line(note))
	}
	if e := printResult(cmd, "run", struct {
		Program measured.RunProgram `json:"program"`
		Notes   []string            `json:"notes"`
		Rows    []runRow            `json:"rows"`
	}{r.program(f), notes, rows}, s); e != nil {
		return errors.Join(err, e)
	}
	wrong := int64(0)
	for _, row := range rows {
		if row.Wrong != nil {
			wrong += *row.Wrong
		}
	}
	if err == nil {
		err = r.hangs
	}
	if wrong == 0 || errors.Is(err, context.Canceled) {
		return err
	}
	found := fmt.Errorf("%s: %d elements wrong", f.Name, wrong)
	if err != nil { // %v: wrong elements decide the exit code
		found = fmt.Errorf("%w; then %v", found, err)
	}
	return &wrongError{found}
}

// addBands fills in the intervals of simulated times.
func (r *runRequest) addBands(rows []runRow) {
	t := r.trial.Topology
	m := intervals.Model{Name: t.Name, System: intervals.SystemOf(t), Table: intervals.Shipped()}
	apart := intervals.UpAndDown(r.trial.Program)
	for i := range rows {
		row := &rows[i]
		interval, lacks := m.Program(intervals.Call{Protocol: r.trial.Protocol.String(), Collective: r.col.Name, UpAndDown: apart, Bytes: row.Bytes})
		if row.lacks, row.Unsupported = lacks, lacks != ""; lacks == "" {
			band := interval.Scale(row.TimeUS)
			row.TimeBandUS = &band
		}
	}
}

// runNotes returns the lines above the table: where the ranks ran, how many rows are
// unchecked, and how many have no interval.
func runNotes(d executor.Description, t *topologies.Topology, rows []runRow) []string {
	notes := []string{}
	if place := autotune.ExecutorOf(d).PlaceNote(len(t.Ranks), t.Name); place != "" {
		notes = append(notes, place)
	}
	unchecked := 0
	for _, row := range rows {
		if !row.Checked && !d.Simulated {
			unchecked++
		}
	}
	if unchecked > 0 {
		notes = append(notes, fmt.Sprintf("unchecked: the data in %d of %s", unchecked, units.Count(len(rows), "row")))
	}
	unsupported := 0
	var lacks []string
	for _, row := range rows {
		if row.Unsupported {
			unsupported++
			if !slices.Contains(lacks, row.lacks) {
				lacks = append(lacks, row.lacks)
			}
		}
	}
	if unsupported > 0 {
		notes = append(notes, table.UnsupportedNote(unsupported, len(rows), lacks))
	}
	return notes
}

type runRequest struct {
	col   collective.Collective
	trial executor.Trial // without its size
	sizes []int64        // those at which the program completes
	hangs error          // names the other sizes, and says why; nil: there are none
}

// runRequestOf reads the flags of run, and verifies the program with the links and FIFO
// slots of the system and protocol.
func runRequestOf(cmd *cobra.Command, f *programFile) (r runRequest, err error) {
	p := f.Program
	t, err := runTopology(cmd, p)
	if err != nil {
		return r, err
	}
	if n := len(t.Ranks); n != p.Ranks() {
		return r, usagef("%s is for %d ranks, %s has %d", f.Name, p.Ranks(), t.Name, n)
	}
	if r.col, err = collective.New(p.Collective); err != nil {
		return r, usagef("%s: %w", f.Name, err)
	}
	if err := checkOp(cmd, r.col); err != nil {
		return r, err
	}
	if r.sizes, err = sizesOf(cmd); err != nil {
		return r, err
	}
	if r.trial, err = trialOf(cmd); err != nil {
		return r, err
	}
	if r.sizes, err = roundUpSizes(r.sizes, r.col, r.trial.DType); err != nil {
		return r, usage(err)
	}
	r.trial.Program, r.trial.Topology, r.trial.Protocol = p.Used(), t, topologies.Simple
	asked := flagValue(cmd, "protocol")
	if asked != "" && f.Protocol != "" && asked != f.Protocol {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s names protocol %s: run with %s, as --protocol says\n", f.Name, f.Protocol, asked)
	}
	for _, name := range []string{f.Protocol, asked} {
		if name != "" {
			if r.trial.Protocol, err = topologies.ParseProto(name); err != nil {
				return r, usage(err)
			}
		}
	}
	if err := t.CheckProtocol(r.trial.Protocol); err != nil {
		return r, usage(err)
	}
	r.trial.TileBytes = int64(t.Protocols[r.trial.Protocol].Tile)
	if err := checkTileBytes(sizeOf(cmd, "tile-bytes"), r.trial.DType); err != nil {
		return r, err
	}
	if n := sizeOf(cmd, "tile-bytes"); n > 0 {
		r.trial.TileBytes = n
	}
	if err := verify.Check(p, verify.Options{Linked: t.Linked}).Err(); err != nil {
		return r, &wrongError{fmt.Errorf("%s: %w", f.Name, err)}
	}
	err = r.refuseHangs(f)
	return r, err
}

// refuseHangs takes out the sizes at which the program would hang, as a step of several
// chunks then takes more calls than a connection has FIFO slots. That all would is an error.
func (r *runRequest) refuseHangs(f *programFile) error {
	fit, hang, why, err := sim.Completes(f.Program, r.col, r.trial, r.sizes)
	if err != nil {
		return usage(err)
	}
	if why != nil {
		r.hangs = &wrongError{fmt.Errorf("%s: not run at %s: %w", f.Name, units.Span(hang), why)}
	}
	if r.sizes = fit; len(fit) == 0 {
		return r.hangs
	}
	return nil
}

// sheet returns the rows in nccl-tests' columns, and after them the 90 % intervals of
// simulated times, if one has any.
func (r *runRequest) sheet(rows []runRow) sheet {
	elem, _ := collective.ElemBytes(r.trial.DType) // the executor has accepted the type
	op, root := "none", "-1"
	if r.col.Reduces() {
		op = r.trial.Op
	}
	if r.col.Rooted() {
		root = strconv.Itoa(r.col.Root)
	}
	s := sheet{columns: []column{number("size").As("size_bytes"), number("count"), text("type"), text("redop"), number("root"), text("protocol"), number("time us"), number("algbw GB/s"), number("busbw GB/s"), number("#wrong")}}
	banded := slices.ContainsFunc(rows, func(row runRow) bool { return row.TimeBandUS != nil })
	if banded {
		for i := 1; i < 5; i++ { // there is no room for all
			s.columns[i].Wide = true
		}
		s.columns = append(s.columns, number("90 % from").As("time_band_low_us"), number("to us").As("time_band_high_us"))
	}
	for _, row := range rows {
		count := row.Bytes / elem * int64(r.col.InChunks(r.col.Root)) / int64(r.col.LoopChunks())
		wrong := "N/A"
		if row.Wrong != nil {
			wrong = strconv.FormatInt(*row.Wrong, 10)
		}
		busBW := ""
		if row.BusBW != nil {
			busBW = fixed(*row.BusBW)
		}
		cells := []string{strconv.FormatInt(row.Bytes, 10), strconv.FormatInt(count, 10), r.trial.DType, op, root, r.trial.Protocol.String(), fixed(row.TimeUS), fixed(row.AlgBW), busBW, wrong}
		switch {
		case row.TimeBandUS != nil:
			cells = append(cells, fixed(row.TimeBandUS[0]), fixed(row.TimeBandUS[1]))
		case banded:
			cells = append(cells, "", "")
		}
		s.add(cells...)
	}
	return s
}

// roundUpSizes rounds sizes up so that every rank has the same number of whole elements,
// as nccl-tests does, and drops repeated sizes.
func roundUpSizes(sizes []int64, col collective.Collective, dtype string) ([]int64, error) {
	d, err := data.ParseDType(dtype)
	if err != nil {
		return nil, err
	}
	whole := make([]int64, len(sizes))
	for i, n := range sizes {
		l, err := data.NewLayout(col, n, d)
		if err != nil {
			return nil, err
		}
		whole[i] = l.UserBytes(col.LoopChunks())
	}
	return slices.Compact(whole), nil
}

// runTopology returns the system of -t, otherwise one with a link between every two
// ranks, which is not a model of this machine.
func runTopology(cmd *cobra.Command, p *ir.Program) (*topologies.Topology, error) {
	if flagValue(cmd, "topology") != "" {
		return topology(cmd)
	}
	return topology(cmd, fmt.Sprintf("fullmesh:%d", p.Ranks()))
}

// timeSizes runs a trial at each size. With an error it returns the rows measured before.
func timeSizes(ctx context.Context, e executor.Executor, d executor.Description, t executor.Trial, col collective.Collective, sizes []int64) ([]runRow, error) {
	if len(d.Protocols) > 0 && !slices.Contains(d.Protocols, t.Protocol.String()) {
		return nil, usagef("executor %s has no protocol %s: want one of %s", d.Name, t.Protocol, strings.Join(d.Protocols, ", "))
	}
	if err := d.Takes(slices.Max(sizes)); err != nil {
		return nil, err
	}
	var rows []runRow
	for _, n := range sizes {
		t.Bytes = n
		m, err := e.Run(ctx, t)
		if err != nil {
			return rows, fmt.Errorf("at %d bytes: %w", n, err)
		}
		r := runRow{RunRow: measured.RunRow{Bytes: n, TimeUS: results.Median(m.TimesUS), Checked: m.Checked, Note: m.Note, Executor: d.Name}}
		if m.Checked || m.Wrong > 0 {
			r.Wrong = &m.Wrong
		}
		r.AlgBW = float64(n) / r.TimeUS / 1e3
		if shared := autotune.ExecutorOf(d).SharedGPUs(len(t.Topology.Ranks)); shared == 0 {
			busBW := r.AlgBW * col.BusFactor()
			r.BusBW = &busBW
		}
		rows = append(rows, r)
	}
	return rows, nil
}
