package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

func compareCommand() *cobra.Command {
	tolerance := percent{}
	cmd := &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two campaigns size by size",
		Long: `compare prints two campaigns of one collective side by side: the winner of each at
every size, its time, and the ratio of the times. Differences between the searches
or their executors, such as another driver version, go to standard error.

--tolerance makes it a gate for builds: exit code 1 if some size is slower by more
than that, or has lost its winner. Times within the tolerance, and times whose
confidence intervals overlap, count as the same.

  colltune compare campaigns/monday campaigns/tuesday
  colltune compare released next --tolerance 3%`,
		Args: exactArgs("the folder BEFORE", "the folder AFTER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var campaigns []*results.Campaign
			for _, dir := range args {
				c, err := openCampaign(cmd, results.OpenReadOnly, dir)
				if err != nil {
					return err
				}
				defer c.Close()
				campaigns = append(campaigns, c)
			}
			d, err := table.Differ(campaigns[0], campaigns[1], tolerance.share)
			switch {
			case errors.Is(err, table.ErrNotAlike):
				return usage(err)
			case err != nil:
				return err
			}
			var before, after []table.Row
			for _, r := range d.Rows {
				if r.Before != nil {
					before = append(before, *r.Before)
				}
				if r.After != nil {
					after = append(after, *r.After)
				}
			}
			if err := errors.Join(checkWinners(campaigns[0], before), checkWinners(campaigns[1], after)); err != nil {
				return err
			}
			for _, c := range campaigns {
				if !c.Finished() {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: the search is not finished: sizes may be slower or gone only because candidates were not tried yet\n", c.Dir())
				}
			}
			for _, line := range slices.Concat(d.Notes, d.Asked) {
				fmt.Fprintln(cmd.ErrOrStderr(), line)
			}
			s := differenceSheet(d)
			if flagValue(cmd, "format") == "csv" {
				s = differencesCSV(d)
			}
			if err := printResult(cmd, "compare", d, s); err != nil {
				return err
			}
			return checkTolerance(cmd, d, tolerance)
		},
		ValidArgsFunction: completeFolder,
	}
	cmd.Flags().Var(&tolerance, "tolerance", "exit with code 1 if a size is slower by more than this `PERCENT`, such as 3% (default: never)")
	outputFlags(cmd)
	return cmd
}

// checkTolerance returns an error if --tolerance is set and a size is slower or gone.
func checkTolerance(cmd *cobra.Command, d *table.Differences, tolerance percent) error {
	if !isSet(cmd, "tolerance") {
		return nil
	}
	var why []string
	if n := d.Counts[table.Slower]; n > 0 {
		why = append(why, fmt.Sprintf("slower by more than %g%% at %s", tolerance.share*100, units.Count(n, "size")))
	}
	if n := d.Counts[table.Gone]; n > 0 {
		why = append(why, fmt.Sprintf("no winner any more at %s", units.Count(n, "size")))
	}
	if len(why) == 0 {
		return nil
	}
	return errors.New(strings.Join(why, "; "))
}

// differenceSheet returns a comparison for people. It names the second winner only where
// it differs from the first.
func differenceSheet(d *table.Differences) sheet {
	s := sheet{columns: []column{number("size"), text("place").OnceAbove(), text("verdict"), text("before"), number("us").As("us_before"), text("after"), number("us").As("us_after"), number("change %")}}
	side := func(r, other *table.Row) (what, us string) {
		switch {
		case r == nil:
			return "", ""
		case other != nil && r.What() == other.What() && r.Title() != other.Title():
			return r.Title(), fixed(r.TimeUS)
		}
		return r.What(), fixed(r.TimeUS)
	}
	for _, r := range d.Rows {
		before, was := side(r.Before, r.After)
		after, is := side(r.After, r.Before)
		if after == before && before != "" {
			after = "the same"
		}
		change := ""
		if r.Ratio != nil {
			change = signedPercent(*r.Ratio)
		}
		s.add(units.Bytes(r.Bytes).String(), r.Placement, verdictText(r.Verdict), before, was, after, is, change)
	}
	return withTally(s, d.Counts, d.Ratio)
}

// verdictText is a verdict in a table: ~ where two times are the same.
func verdictText(verdict string) string {
	if verdict == table.Same {
		return "~"
	}
	return verdict
}

// withTally prints how many rows have each verdict below a comparison, and the geometric mean
// of their ratios, nil if there are none.
func withTally(s sheet, counts map[string]int, ratio *float64) sheet {
	mean := ""
	if ratio != nil {
		mean = "; in the geometric mean " + signedPercent(*ratio) + " %"
	}
	s.below = append(s.below, fmt.Sprintf("%d faster, %d slower, %d the same, %d gone, %d new%s",
		counts[table.Faster], counts[table.Slower], counts[table.Same], counts[table.Gone], counts[table.New], mean))
	return s
}

// differencesCSV returns a comparison for -o csv, with exact numbers.
func differencesCSV(d *table.Differences) sheet {
	s := sheet{columns: []column{text("size_bytes"), text("placement"), text("verdict"), text("ratio")}}
	for _, when := range []string{"before", "after"} {
		for _, name := range []string{"algorithm", "protocol", "tile_bytes", "ir", "time_us"} {
			s.columns = append(s.columns, text(name+"_"+when))
		}
	}
	for _, r := range d.Rows {
		line := []string{strconv.FormatInt(r.Bytes, 10), r.Placement, r.Verdict, ""}
		if r.Ratio != nil {
			line[3] = exact(*r.Ratio)
		}
		for _, w := range []*table.Row{r.Before, r.After} {
			if w == nil {
				line = append(line, "", "", "", "", "")
				continue
			}
			line = append(line, w.Algorithm, w.Protocol, strconv.FormatInt(w.TileBytes, 10), w.IR, exact(w.TimeUS))
		}
		s.add(line...)
	}
	return s
}

// percent is the value of a flag that takes a percentage: 3% or 3.
type percent struct{ share float64 }

func (p *percent) Type() string { return "percent" }

func (p *percent) String() string {
	if p.share == 0 {
		return ""
	}
	return strconv.FormatFloat(p.share*100, 'g', 6, 64) + "%"
}

func (p *percent) Set(s string) error {
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || !(v >= 0 && v <= 1000) {
		return errors.New("want a percentage from 0 to 1000, such as 3%")
	}
	p.share = v / 100
	return nil
}
