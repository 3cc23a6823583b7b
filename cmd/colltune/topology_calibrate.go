package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/topologies"
)

func topologyCalibrateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "calibrate T --measured [COLLECTIVE=]FILE…",
		Short: "Fit a system's numbers to what nccl-tests measured on it",
		Long: `calibrate compares the simulator with times that nccl-tests measured on the system.
At each size of the table it simulates what the vendor's library would choose, and
prints both times and the error. Then it fits three kinds of number: the time before
a call's first byte, the speed of threadblocks, and the bandwidth of each kind of
link, which it only reduces. It changes a number only if that makes the errors clearly
smaller. --out writes the topology file with the fitted numbers; their sources name
the measurements.

Several tables are fitted at once, with equal weights; they may differ in collective
and number of nodes. A table's collective is the one before its FILE, else -c, else
the one that the table names. Its number of nodes is --nodes, or else its number of
ranks divided by the ranks of a node.

  colltune topology calibrate cluster.toml -c allreduce --measured all_reduce.txt --out fitted.toml`,
		Args:              exactArgs("the topology T"),
		RunE:              calibrateTopology,
		ValidArgsFunction: firstArg(completeTopology),
	}
	topologyPartFlags(cmd)
	collectiveFlag(cmd)
	cmd.Flags().StringArray("measured", nil, "a `[COLLECTIVE=]FILE` of nccl-tests' output on the system; may be given several times")
	cmd.Flags().VarP(&size{1 << 10}, "min-bytes", "b", "smallest size to fit")
	cmd.Flags().VarP(&size{}, "max-bytes", "e", "largest size to fit (default: no limit)")
	rootFlag(cmd)
	placementFlag(cmd, "which times of the table: in place or out of place", "in", "out")
	choiceFlag(cmd, "op", "", "sum", data.Operations(), "which times of the table: the reduction")
	choiceFlag(cmd, "dtype", "", "f32", collective.DTypes(), "which times of the table: the element type")
	cmd.Flags().Int("jobs", runtime.NumCPU(), "number of simulations at a time; never changes the result")
	choiceFlag(cmd, "format", "o", "table", formats, "how to print the result")
	cmd.Flags().String("out", "", "write the topology file with the fitted numbers to `FILE`")
	return cmd
}

// calibrateTopology fits a topology to measured times, and prints the simulator's errors
// before and after.
func calibrateTopology(cmd *cobra.Command, args []string) error {
	file, text, err := topologyText(cmd, args[0])
	if err != nil {
		return err
	}
	tables, elem, err := readMeasured(cmd, args[0])
	if err != nil {
		return err
	}
	jobs, _ := cmd.Flags().GetInt("jobs")
	if jobs < 1 {
		return usagef("--jobs %d: want at least 1", jobs)
	}
	bar := newProgress(cmd.ErrOrStderr())
	fit, err := calibrate.Fit(cmd.Context(), tables.fitted(), elem, jobs, func(done, of int) { bar.stage("fitting", done, of) })
	bar.done()
	if err != nil {
		return err
	}
	if fit.Doubtful() {
		fmt.Fprintln(cmd.ErrOrStderr(), "the fitted speed of threadblocks is implausible: the library may run other channels or another algorithm than its cost model says (see NCCL_DEBUG=INFO)")
	}
	if out := flagValue(cmd, "out"); out != "" {
		fitted, err := topologies.Rewrite(file, text, fit.Calibration, tables.files())
		if err != nil {
			return usage(err)
		}
		if err := writeFile(out, func(w io.Writer) error { _, err := w.Write(fitted); return err }); err != nil {
			return err
		}
	}
	s := calibrationSheet(tables, fit)
	if flagValue(cmd, "format") == "csv" {
		s = calibrationCSV(tables, fit)
	}
	return writeResult(cmd, cmd.OutOrStdout(), "calibration", calibrationDocument(tables, fit), s)
}

// topologyText returns the topology file to change, and its name for errors. A generator
// has none, which --out refuses.
func topologyText(cmd *cobra.Command, name string) (file string, text []byte, err error) {
	if text, ok := topologies.Source(name); ok {
		return name + ".toml", text, nil
	}
	if isGenerator(name) {
		if flagValue(cmd, "out") != "" {
			return "", nil, usagef("--out: %s is a generator, without numbers to change: want a catalogue name or a .toml file", name)
		}
		return name, nil, nil
	}
	text, err = readFile(cmd.Context(), name, maxImport)
	return name, text, err
}

// fittedNumber is a number of the topology before and after the fit, in JSON.
type fittedNumber struct {
	What   string  `json:"what"` // "launch of LL", "nvlink"
	Before string  `json:"before"`
	After  string  `json:"after"`
	Times  float64 `json:"times"`
}

// threadblocks is the What of their speed.
const threadblocks = "threadblocks"

// fittedNumbers returns the numbers that the fit changed.
func fittedNumbers(t *topologies.Topology, fit *calibrate.Result) []fittedNumber {
	all := []fittedNumber{}
	after := t.Calibrated(fit.Calibration)
	for _, p := range t.HasProtocols() {
		if a, b := t.Protocols[p].Launch, after.Protocols[p].Launch; a != b {
			all = append(all, fittedNumber{"launch of " + p.String(), a.String(), b.String(), float64(b) / math.Max(float64(a), 1e-9)})
		}
	}
	if fit.Speed > 0 {
		all = append(all, fittedNumber{threadblocks, "1", short(fit.Speed), fit.Speed})
	}
	for _, kind := range t.Kinds() {
		times, changed := fit.Links[kind]
		if !changed {
			continue
		}
		var seen []units.Bandwidth
		for i, e := range t.Edges {
			if e.Kind == kind && !slices.Contains(seen, e.Bandwidth) {
				seen = append(seen, e.Bandwidth)
				all = append(all, fittedNumber{kind.String(), e.Bandwidth.String(), after.Edges[i].Bandwidth.String(), times})
			}
		}
	}
	return all
}

// calibrationRow is one size of a table, in JSON.
type calibrationRow struct {
	Table      int     `json:"table"` // index in tables
	Bytes      int64   `json:"bytes"`
	Library    string  `json:"library"` // the library's choice
	MeasuredUS float64 `json:"measured_us"`
	BeforeUS   float64 `json:"simulated_before_us"`
	AfterUS    float64 `json:"simulated_after_us"`
}

// calibrationTable is a table of measured times and its errors, in JSON.
type calibrationTable struct {
	File       string  `json:"file"`
	Collective string  `json:"collective"`
	Nodes      int     `json:"nodes"`
	OffBefore  float64 `json:"error_before"`
	OffAfter   float64 `json:"error_after"`
}

// calibrationResult is the document of calibrate, in JSON.
type calibrationResult struct {
	Numbers   []fittedNumber     `json:"numbers"`
	Tables    []calibrationTable `json:"tables"`
	Rows      []calibrationRow   `json:"rows"`
	OffBefore float64            `json:"error_before"` // median of |simulated ÷ measured - 1|
	OffAfter  float64            `json:"error_after"`
}

// calibrationDocument returns a fit for JSON.
func calibrationDocument(tables measuredSet, fit *calibrate.Result) calibrationResult {
	before, after := fit.Off()
	d := calibrationResult{fittedNumbers(tables.widest(), fit), []calibrationTable{}, []calibrationRow{}, before, after}
	for i, t := range tables {
		before, after := fit.OffTable(i)
		d.Tables = append(d.Tables, calibrationTable{t.file, t.collective, t.Topology.Nodes, before, after})
	}
	for _, r := range fit.Rows {
		d.Rows = append(d.Rows, calibrationRow{r.Table, r.Bytes, r.Name, r.MeasuredUS, r.BeforeUS, r.AfterUS})
	}
	return d
}

// calibrationSheet returns a fit for people.
func calibrationSheet(tables measuredSet, fit *calibrate.Result) sheet {
	s := sheet{columns: []column{text("table"), number("size"), text("library runs"), number("measured"), number("simulated"), number("off %"), number("fitted"), number("off %")}}
	for _, r := range fit.Rows {
		s.add(tables[r.Table].name(), units.Bytes(r.Bytes).String(), r.Name, fixed(r.MeasuredUS), fixed(r.BeforeUS), signedPercent(r.BeforeUS/r.MeasuredUS), fixed(r.AfterUS), signedPercent(r.AfterUS/r.MeasuredUS))
	}
	if len(tables) == 1 { // the column table would repeat one name
		s.columns = s.columns[1:]
		for i := range s.rows {
			s.rows[i] = s.rows[i][1:]
		}
	}
	rows := s
	s.human = func(w io.Writer) error {
		fmt.Fprintln(w, "sizes in bytes, times in us; the library runs the choice of its cost model")
		if err := rows.writeTable(w); err != nil {
			return err
		}
		for i, t := range tables {
			if before, after := fit.OffTable(i); len(tables) > 1 {
				fmt.Fprintf(w, "%s (%s): median error %.1f %%, fitted %.1f %%\n", t.name(), t.file, before*100, after*100)
			}
		}
		before, after := fit.Off()
		fmt.Fprintf(w, "median error %.1f %%, fitted %.1f %%\n", before*100, after*100)
		numbers := fittedNumbers(tables.widest(), fit)
		for _, n := range numbers {
			if n.What == threadblocks {
				fmt.Fprintf(w, "threadblocks: %s times as fast (send_pass, recv_pass, send_rate, recv_rate)\n", n.After)
				continue
			}
			fmt.Fprintf(w, "%s: %s instead of %s\n", n.What, n.After, n.Before)
		}
		if len(numbers) == 0 {
			fmt.Fprintln(w, "no number changed: no change makes the errors clearly smaller")
		}
		return nil
	}
	return s
}

// calibrationCSV returns a fit for -o csv, with exact numbers.
func calibrationCSV(tables measuredSet, fit *calibrate.Result) sheet {
	s := sheet{columns: []column{text("size_bytes"), text("library"), text("measured_us"), text("simulated_before_us"), text("simulated_after_us"), text("collective"), text("nodes")}}
	for _, r := range fit.Rows {
		s.add(strconv.FormatInt(r.Bytes, 10), r.Name, exact(r.MeasuredUS), exact(r.BeforeUS), exact(r.AfterUS),
			tables[r.Table].collective, strconv.Itoa(tables[r.Table].Topology.Nodes))
	}
	return s
}
