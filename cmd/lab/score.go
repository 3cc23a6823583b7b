package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/colltune/colltune/cmd/lab/score"
	"github.com/colltune/colltune/cmd/lab/strategies"
	"github.com/colltune/colltune/executor/replay/recorded"
	"github.com/colltune/colltune/internal/units"
)

// runScore plays strategies on recorded times, and prints how far their winners are from the
// best after how many trials a size.
func runScore(ctx context.Context, args []string) error {
	o := score.Options{Strategies: strategies.Table, Gain: 0.01}
	var call recorded.Call
	flags := flag.NewFlagSet("score", flag.ExitOnError)
	flags.Func("strategy", "only those of these `names`, separated by commas", func(text string) error {
		o.Strategies = nil
		for _, name := range strings.Split(text, ",") {
			row, err := strategies.Named(name)
			if err != nil {
				return err
			}
			o.Strategies = append(o.Strategies, row)
		}
		return nil
	})
	flags.IntVar(&o.Seeds, "seeds", 100, "how often each strategy is played")
	flags.Int64Var(&o.Seed, "seed", 1, "seed of the first play; the others follow it")
	flags.IntVar(&o.Trials, "trials", 0, "most trials a size, in the mean over sizes (default: as many as there are configurations)")
	percent(flags, &o.Noise.Spread, "noise", "spread of a trial's time around the recorded one")
	percent(flags, &o.Noise.Drift, "drift", "grow the times by this over a hundred trials")
	percent(flags, &o.Noise.Outliers, "outliers", "share of the trials that take 2 to 5 times as long")
	percent(flags, &o.Gain, "gain", "a strategy is done with a size when it expects to gain less than this (default: 1%)")
	flags.BoolVar(&o.NoPrior, "no-prior", false, "hide the table's prior_us from the strategies")
	flags.StringVar(&call.Collective, "c", "", "of several calls that were recorded, that of this collective")
	flags.IntVar(&call.Nodes, "nodes", 0, "… that on a number of nodes")
	flags.IntVar(&call.Ranks, "ranks", 0, "… that over a number of ranks")
	flags.StringVar(&call.Placement, "placement", "", "… that in place or out of place: in, out")
	flags.IntVar(&o.Jobs, "jobs", runtime.NumCPU(), "number of plays at a time; never changes the result")
	if err := errors.Join(flags.Parse(args), o.Noise.Validate()); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("want files of recorded times")
	}
	table, err := recorded.Read(flags.Args()...)
	if err != nil {
		return err
	}
	space, err := table.Of(call)
	if err != nil {
		return fmt.Errorf("%w (--c, --nodes, --ranks and --placement choose)", err)
	}
	s, err := score.Play(ctx, space, o)
	if err != nil {
		return err
	}
	return printScore(space.Call, &o, s)
}

// percent adds a flag for a part, which is given in percent.
func percent(flags *flag.FlagSet, into *float64, name, usage string) {
	flags.Func(name, usage+": a `percentage`", func(text string) error {
		v, err := units.ParseDecimal(strings.TrimSuffix(text, "%"))
		*into = v / 100
		return err
	})
}

// printScore prints the ratios after 1, 2, 3, 4, 6, 8, 12, … trials a size, and at the end.
func printScore(call recorded.Call, o *score.Options, s *score.Score) error {
	prior := "without a prior"
	if s.Prior {
		prior = "with a prior"
	}
	fmt.Printf("%s: %s at %s, %d recorded; %s, noise %g %%, drift %g %%, outliers %g %%, %s\n", call, units.Count(s.Configs, "configuration"), units.Count(s.Sizes, "size"), s.Points,
		prior, 100*o.Noise.Spread, 100*o.Noise.Drift, 100*o.Noise.Outliers, units.Count(o.Seeds, "seed"))
	fmt.Println("ratios to the best: the largest over the sizes, and the geometric mean; -: some size has no winner yet")
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "strategy\ttrials/size\tlargest median\tlargest p90\tmean median\tmean p90\t")
	for _, c := range s.Curves {
		row := func(trials string, p score.Point) {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", c.Strategy, trials, p.Largest.Median, p.Largest.P90, p.Mean.Median, p.Mean.P90)
		}
		for i, p := range c.Points {
			if float64(i) < c.Trials && isRound(i+1) {
				row(strconv.Itoa(i+1), p)
			}
		}
		row(fmt.Sprintf("end %.2f", c.Trials), c.End())
	}
	return w.Flush()
}

// isRound reports whether n is a power of two, or one and a half.
func isRound(n int) bool {
	if n%3 == 0 {
		n /= 3
	}
	return n&(n-1) == 0
}
