package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/libraries"
)

func tableCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "table",
		Short: "Say which library is fastest for which call, from anyone's measurements",
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(tableBuildCommand(), tableShowCommand(), tableAtCommand(), tableDiffCommand(), tableNextCommand(), tableExportCommand())
	return cmd
}

func tableBuildCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "build --library NAME=FILE --out TABLE",
		Short: "Gather the measurements of several libraries into a table",
		Long: `build reads measurements of communication libraries and writes them as one table,
which says which conditions must be equal for two times to be compared. A file is the
output of nccl-tests or rccl-tests (text or JSON), of OSU micro-benchmarks, CSV with
named columns, another table, or a campaign's folder. What a file does not say is stated
behind it.

  colltune table build --library nccl=all_reduce.txt,ranks=8 --library mpi=osu_allreduce.txt,ranks=8 --out times.table
  colltune table build --library libraries.csv --out h200.table

Identical rows are merged and counted. Different times of one version under equal
conditions become a median and an interval; more than 20% apart, they are told.`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			named, _ := cmd.Flags().GetStringArray("library")
			if len(named) == 0 {
				return usagef("--library is missing: want NAME=FILE, or FILE where its rows name their libraries")
			}
			if out, _ := cmd.Flags().GetString("out"); out == "" {
				return usagef("--out is missing: want the file of the table")
			}
			names, _ := cmd.Flags().GetStringSlice("equal")
			equal, err := measured.ParseConditions(slices.Concat(names, conditionNames(libraries.DefaultEqual)))
			if err != nil {
				return usagef("--equal: %w", err)
			}
			var rows []measured.Row
			for _, text := range named {
				more, err := readLibrary(cmd, text)
				if err != nil {
					return err
				}
				rows = append(rows, more...)
			}
			t, warnings := libraries.Build(rows, equal)
			tellSome(cmd.ErrOrStderr(), warnings)
			fmt.Fprintf(cmd.ErrOrStderr(), "%s of %s, from %s\n", units.Count(len(t.Rows), "time"), units.Count(len(t.Choices(0)), "call"), units.Count(len(rows), "row"))
			return writeOut(cmd, func(w io.Writer) error { return t.Write(w, buildVersion().Version) })
		},
	}
	cmd.Flags().StringArray("library", nil, "`NAME=FILE[,CONDITION=VALUE…]`: a library's measurements, and conditions that the file does not say; FILE alone where its rows name their libraries; may be repeated")
	cmd.Flags().StringSlice("equal", nil, "`CONDITIONS` that must be equal besides system, nodes and traffic: "+strings.Join(measured.ConditionNames(), ", "))
	outFlag(cmd)
	return cmd
}

func conditionNames(all []measured.Condition) (names []string) {
	for _, c := range all {
		names = append(names, c.String())
	}
	return names
}

// readLibrary reads the rows that a value of --library names.
func readLibrary(cmd *cobra.Command, text string) ([]measured.Row, error) {
	source, err := measured.ParseSource(text)
	if err != nil {
		return nil, usagef("--library %w", err)
	}
	if isFolder(source.Path) {
		if source.Library == "" {
			return nil, usagef("--library %s: want NAME=FOLDER: a campaign's programs have no name of a library", source.Path)
		}
		c, err := openCampaign(cmd, results.OpenReadOnly, source.Path)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		rows, err := libraries.ReadCampaign(source, c)
		if err != nil {
			return nil, usage(err)
		}
		return rows, nil
	}
	content, err := readFile(cmd.Context(), source.Path, measured.MaxBytes)
	if err != nil {
		return nil, err
	}
	rows, notes, err := measured.Read(source, content)
	if err != nil {
		return nil, usage(err)
	}
	tellSome(cmd.ErrOrStderr(), notes)
	return rows, nil
}

// tellSome prints the first of many lines, and how many more there are.
func tellSome(w io.Writer, lines []string) {
	const most = 10
	for _, line := range lines[:min(len(lines), most)] {
		fmt.Fprintln(w, line)
	}
	if n := len(lines) - most; n > 0 {
		fmt.Fprintf(w, "and %d more like these\n", n)
	}
}

// readTable reads the table that an argument names.
func readTable(cmd *cobra.Command, path string) (*libraries.Table, error) {
	text, err := readFile(cmd.Context(), path, measured.MaxBytes)
	if err != nil {
		return nil, err
	}
	t, err := libraries.ReadTable(path, text)
	var at *measured.Error
	if errors.As(err, &at) {
		return nil, usage(err)
	}
	return t, err
}

func tableShowCommand() *cobra.Command {
	within := percent{}
	cmd := &cobra.Command{
		Use:   "show TABLE",
		Short: "Print the fastest library of each range of sizes",
		Long: `show prints, for each collective and number of ranks, the ranges of sizes over which
one library is the fastest, how far ahead of the second it is, and what the best single
library would lose. --sizes prints each size. -c, --ranks and the others choose calls.

  colltune table show times.table
  colltune table show times.table -c allreduce --ranks 8
  colltune table show times.table --sizes -o csv --out winners.csv`,
		Args: exactArgs("the file TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := tableFilter(cmd)
			if err != nil {
				return err
			}
			t, err := readTable(cmd, args[0])
			if err != nil {
				return err
			}
			if t = t.Select(q); len(t.Rows) == 0 {
				return usagef("%s: the table has no times under these conditions", args[0])
			}
			choices := t.Choices(within.share)
			s := rangeSheet(t, choices, flagValue(cmd, "format") == "csv")
			if sizes, _ := cmd.Flags().GetBool("sizes"); sizes {
				s = choiceSheet(t, choices)
			}
			return printResult(cmd, "table", tableDocument(t, choices), s)
		},
	}
	callFlags(cmd)
	withinFlag(cmd, &within)
	cmd.Flags().Bool("sizes", false, "print each size instead of ranges")
	outputFlags(cmd)
	return cmd
}

// callRow is a call without its size, in JSON.
type callRow struct {
	Collective string `json:"collective"`
	Ranks      int    `json:"ranks"`
	Nodes      int    `json:"nodes"` // 0: not stated
	System     string `json:"system"`
}

// callRowOf is the call of a row, under conditions.
func callRowOf(r *measured.Row, c measured.Conditions) callRow {
	nodes, _ := strconv.Atoi(c[measured.Nodes])
	return callRow{r.Collective, r.Ranks, nodes, c[measured.System]}
}

type choiceRow struct {
	callRow
	Bytes        int64      `json:"bytes"`
	Library      string     `json:"library"`
	Version      string     `json:"version"`
	Kernel       string     `json:"kernel"`
	TimeUS       float64    `json:"time_us"`
	IntervalUS   [2]float64 `json:"interval_us"`
	Second       *string    `json:"second"`
	SecondTimeUS *float64   `json:"second_time_us"`
	Near         bool       `json:"within_noise"`
	Evidence     string     `json:"evidence"`
}

// singleRow is what an entry would take alone, in JSON.
type singleRow struct {
	callRow
	Library string  `json:"library"`
	Version string  `json:"version"`
	Sizes   int     `json:"sizes"`
	Of      int     `json:"of"`
	Ratio   float64 `json:"ratio"`
}

// wonRow is sizes at which one library is the fastest, in JSON.
type wonRow struct {
	callRow
	Width    int64  `json:"element_bytes"` // where they are reduced; else 0
	MinBytes int64  `json:"min_bytes"`
	MaxBytes int64  `json:"max_bytes"` // included
	Library  string `json:"library"`
	Version  string `json:"version"`
	Kernel   string `json:"kernel"` // at the first measured size of the range
}

func tableDocument(t *libraries.Table, choices []libraries.Choice) any {
	rows, singles, ranges := []choiceRow{}, []singleRow{}, []wonRow{}
	for _, w := range t.Regions() {
		b := w.Best
		ranges = append(ranges, wonRow{callRowOf(b, b.Conditions), b.Width(), w.First, w.Last, b.Library, b.Version, b.Conditions[measured.Kernel]})
	}
	for i := range choices {
		rows = append(rows, choiceRowOf(&choices[i]))
	}
	for _, s := range libraries.Singles(choices) {
		singles = append(singles, singleRow{callRowOf(s.Best, t.Held(s.Best)), s.Best.Library, s.Best.Version, s.Sizes, s.Of, s.Ratio})
	}
	return struct {
		Conditions heldDocument `json:"conditions"`
		Rows       []choiceRow  `json:"rows"`
		Ranges     []wonRow     `json:"ranges"`
		Single     []singleRow  `json:"single"`
	}{heldOf(t), rows, ranges, singles}
}

// heldDocument is which conditions must be equal, in JSON.
type heldDocument struct {
	Equal  []string `json:"equal"`
	Differ []string `json:"differing"`
}

func heldOf(t *libraries.Table) heldDocument {
	return heldDocument{conditionNames(t.Equal), conditionNames(t.Differ())}
}

// intervalOf is a time's interval in JSON.
func intervalOf(r *measured.Row) [2]float64 {
	low, high := r.Interval()
	return [2]float64{low, high}
}

func choiceRowOf(c *libraries.Choice) choiceRow {
	b := &c.Best
	row := choiceRow{
		callRow: callRowOf(b, b.Conditions), Bytes: b.Bytes,
		Library: b.Library, Version: b.Version, Kernel: b.Conditions[measured.Kernel],
		TimeUS: b.TimeUS, IntervalUS: intervalOf(b), Near: c.Near, Evidence: b.Conditions[measured.Evidence],
	}
	if c.Second != nil {
		name := c.Second.Entry()
		row.Second, row.SecondTimeUS = &name, &c.Second.TimeUS
	}
	return row
}

// heldColumns returns the columns of the conditions that must be equal, and of the width of elements,
// where the choices differ in them or state them.
func heldColumns(t *libraries.Table, choices []libraries.Choice) (columns []column, cells func(*measured.Row) []string) {
	var shown []measured.Condition
	for _, c := range t.Equal {
		if slices.ContainsFunc(choices, func(x libraries.Choice) bool { return x.Best.Conditions[c] != "" }) {
			shown = append(shown, c)
			columns = append(columns, text(c.String()).OnceAbove())
		}
	}
	return columns, func(r *measured.Row) (values []string) {
		for _, c := range shown {
			values = append(values, r.Conditions[c])
		}
		return values
	}
}

// rangeSheet has a line for each range of sizes, as MCR-DL's Table II, and under -o table
// what a single library would lose. Of libraries that tie at every size it names all, but in CSV.
func rangeSheet(t *libraries.Table, choices []libraries.Choice, inCSV bool) sheet {
	held, values := heldColumns(t, choices)
	s := sheet{columns: slices.Concat([]column{text("collective").OnceAbove(), number("ranks").OnceAbove()}, held,
		[]column{number("element bytes").OnceAbove(), number("from"), number("to"), text("library"), text("version").InWide(), number("second takes x"), text("within noise"), text("evidence").OnceAbove()})}
	for _, r := range libraries.Ranges(choices) {
		b := r.Best
		ahead := ""
		if r.Ratio > 0 {
			ahead = fmt.Sprintf("%.2f", r.Ratio)
		}
		library, near := b.Library, fmt.Sprintf("%d of %d", r.Near, r.Sizes)
		if !inCSV {
			library = b.Entry()
		}
		if r.Ties != "" && !inCSV {
			library, near = "any of "+r.Ties, "tie"
		}
		s.add(slices.Concat([]string{b.Collective, strconv.Itoa(b.Ranks)}, values(b), []string{
			widthText(b.Width()), units.Bytes(b.Bytes).String(), units.Bytes(r.Last).String(), library, b.Version, ahead, near, r.Evidence,
		})...)
	}
	s.above = []string{fmt.Sprintf("equal: collective, ranks, bytes, %s; may differ: %s", strings.Join(conditionNames(t.Equal), ", "), strings.Join(conditionNames(t.Differ()), ", "))}
	singles := libraries.Singles(choices)
	for i, x := range singles {
		if r := x.Best; i == 0 || !t.SameCalls(r, singles[i-1].Best) {
			s.below = append(s.below, fmt.Sprintf("%s over %d ranks%s: %s alone takes %.2f times as long as the best of all, over %d of %d sizes", r.Collective, r.Ranks, ofWidth(r.Width()), r.Entry(), x.Ratio, x.Sizes, x.Of))
		}
	}
	return s
}

// choiceSheet has a line for each size.
func choiceSheet(t *libraries.Table, choices []libraries.Choice) sheet {
	held, values := heldColumns(t, choices)
	s := sheet{columns: slices.Concat([]column{text("collective").OnceAbove(), number("ranks").OnceAbove()}, held,
		[]column{number("element bytes").OnceAbove(), number("bytes"), text("library"), text("version"), text("kernel"), number("time us"), number("low us").InWide(), number("high us").InWide(), text("second"), number("second us"), text("within noise"), text("evidence").OnceAbove()})}
	for i := range choices {
		c := &choices[i]
		b := &c.Best
		low, high := b.Interval()
		second, us, near := "", "", "no"
		if c.Second != nil {
			second, us = c.Second.Entry(), exact(c.Second.TimeUS)
		}
		if c.Near {
			near = "yes"
		}
		s.add(slices.Concat([]string{b.Collective, strconv.Itoa(b.Ranks)}, values(b), []string{
			widthText(b.Width()), strconv.FormatInt(b.Bytes, 10), b.Library, b.Version, b.Conditions[measured.Kernel],
			exact(b.TimeUS), strconv.FormatFloat(low, 'g', 6, 64), strconv.FormatFloat(high, 'g', 6, 64), second, us, near, b.Conditions[measured.Evidence],
		})...)
	}
	return s
}

// widthText prints the width of elements; empty where nothing is reduced.
func widthText(bytes int64) string {
	if bytes > 0 {
		return strconv.FormatInt(bytes, 10)
	}
	return ""
}

func ofWidth(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf(" of %s", units.Count(int(bytes), "byte"))
}
