package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/libraries"
)

func tableAtCommand() *cobra.Command {
	within := percent{}
	bytes := size{}
	cmd := &cobra.Command{
		Use:   "at TABLE -c COLLECTIVE --ranks N --bytes SIZE",
		Short: "Print the fastest library for one call",
		Long: `at prints what each library of a table takes for a call, and from which size to which
the first is the fastest, to the byte. Between two sizes that were measured, the logarithm
of a time runs straight in the logarithm of the size; beyond its sizes a library is left
out.

  colltune table at times.table -c allreduce --ranks 8 --bytes 3000 --dtype f32`,
		Args: exactArgs("the file TABLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := tableQuery(cmd)
			if err != nil {
				return err
			}
			if bytes.value == 0 {
				return usagef("--bytes is missing: want a size such as 3M")
			}
			t, err := readTable(cmd, args[0])
			if err != nil {
				return err
			}
			curves, err := t.Curves(q)
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			times := curves.At(int64(bytes.value))
			if len(times) == 0 {
				least, most := curves.Sizes()
				return &nothingError{fmt.Errorf("%s: no times reach %s: want a size from %s to %s", args[0], &bytes, units.Bytes(least), units.Bytes(most))}
			}
			region := curves.RegionOf(int64(bytes.value))
			return printResult(cmd, "table", atDocument(t, times, region, within.share), atSheet(times, region, within.share))
		},
	}
	callFlags(cmd)
	cmd.Flags().Var(&bytes, "bytes", "the size, as nccl-tests counts it, such as 3M")
	withinFlag(cmd, &within)
	outputFlags(cmd)
	return cmd
}

// queryConditions are the conditions that have a flag of table at.
var queryConditions = []measured.Condition{measured.System, measured.Nodes, measured.DType, measured.Placement, measured.Mode, measured.Registered, measured.SMs}

// callFlags adds the flags that tableQuery reads.
func callFlags(cmd *cobra.Command) {
	cmd.Flags().StringP("collective", "c", "", "the collective: "+strings.Join(collective.Names(), ", "))
	cmd.Flags().Int("ranks", 0, "the number of ranks")
	for _, c := range queryConditions {
		cmd.Flags().String(c.String(), "", "of calls that differ in it, that of this "+c.String())
	}
}

// tableQuery reads the call that the flags describe.
func tableQuery(cmd *cobra.Command) (q libraries.Query, err error) {
	if q.Collective, err = collectiveName(cmd); err != nil {
		return q, err
	}
	if q.Ranks, _ = cmd.Flags().GetInt("ranks"); q.Ranks < 1 {
		return q, usagef("--ranks is missing: want the number of ranks")
	}
	return q, queryConditionsOf(cmd, &q)
}

// queryConditionsOf reads the flags of conditions into a query.
func queryConditionsOf(cmd *cobra.Command, q *libraries.Query) (err error) {
	for _, c := range queryConditions {
		if q.Conditions[c], err = measured.ParseCondition(c, flagValue(cmd, c.String())); err != nil {
			return usagef("--%s %w", c, err)
		}
	}
	return nil
}

// withinFlag adds --within.
func withinFlag(cmd *cobra.Command, within *percent) {
	cmd.Flags().Var(within, "within", "count the second as within noise where it takes at most this `PERCENT` longer, besides where its interval says so (default: there only)")
}

// timeRow is what a library takes for the call, in JSON.
type timeRow struct {
	Library      string     `json:"library"`
	Version      string     `json:"version"`
	Kernel       string     `json:"kernel"`
	TimeUS       float64    `json:"time_us"`
	IntervalUS   [2]float64 `json:"interval_us"`
	Ratio        float64    `json:"ratio"` // to the fastest
	Interpolated bool       `json:"interpolated"`
	BetweenBytes [2]int64   `json:"between_bytes"`
	Evidence     string     `json:"evidence"`
}

// atDocument is the JSON of a call: the choice, as a row of table show, and all libraries.
func atDocument(t *libraries.Table, times []libraries.Time, region libraries.Region, within float64) any {
	choice := choiceRowOf(&libraries.Choice{Best: times[0].Row})
	if len(times) > 1 {
		name := times[1].Entry()
		choice.Second, choice.SecondTimeUS, choice.Near = &name, &times[1].TimeUS, times[0].Near(times[1], within)
	}
	var all []timeRow
	for _, x := range times {
		all = append(all, timeRow{
			x.Library, x.Version, x.Conditions[measured.Kernel], x.TimeUS, intervalOf(&x.Row),
			x.TimeUS / times[0].TimeUS, x.Interpolated, x.Between, x.Conditions[measured.Evidence],
		})
	}
	return struct {
		Conditions heldDocument `json:"conditions"`
		Rows       []choiceRow  `json:"rows"`
		MinBytes   int64        `json:"min_bytes"` // of the sizes at which the library is the fastest
		MaxBytes   int64        `json:"max_bytes"`
		Libraries  []timeRow    `json:"libraries"`
	}{heldOf(t), []choiceRow{choice}, region.First, region.Last, all}
}

func atSheet(times []libraries.Time, region libraries.Region, within float64) sheet {
	s := sheet{columns: []column{text("library"), text("version"), text("kernel"), number("time us"), number("low us").InWide(), number("high us").InWide(), number("takes x"), text("within noise"), text("from"), text("evidence").OnceAbove()}}
	for _, x := range times {
		low, high := x.Interval()
		near, from := "no", "measured"
		if times[0].Near(x, within) {
			near = "yes"
		}
		if x.Interpolated {
			from = fmt.Sprintf("%s and %s", units.Bytes(x.Between[0]), units.Bytes(x.Between[1]))
		}
		s.add(x.Library, x.Version, x.Conditions[measured.Kernel], fixed(x.TimeUS), fixed(low), fixed(high),
			strconv.FormatFloat(x.TimeUS/times[0].TimeUS, 'f', 2, 64), near, from, x.Conditions[measured.Evidence])
	}
	s.above = []string{fmt.Sprintf("%s is the fastest from %s", region.Best.Entry(), region)}
	var ties []string
	for _, x := range times {
		if times[0].Near(x, within) {
			ties = append(ties, x.Entry())
		}
	}
	if len(ties) > 1 {
		s.above = append(s.above, "tie: any of "+strings.Join(ties, ", ")+", within noise")
	}
	return s
}
