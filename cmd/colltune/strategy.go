package main

import (
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/autotune/strategy"
	"github.com/colltune/colltune/autotune/strategy/score"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/replay/recorded"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/report"
)

func strategyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "strategy",
		Short: "List and score strategies, which choose what to measure next",
		Args:  cobra.ArbitraryArgs,
		RunE:  runGroup,
	}
	cmd.AddCommand(strategyListCommand(), strategyScoreCommand())
	return cmd
}

func strategyListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the strategies",
		Long: `list prints the strategies that search --strategy takes. All but bounded choose the
next trial where every trial costs time, and are those that score plays.

  colltune strategy list`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			type row struct {
				Name string `json:"name"`
				Doc  string `json:"doc"`
			}
			var rows []row
			s := sheet{columns: []column{text("strategy"), text("what it does")}}
			bounded := strategy.Row{Name: autotune.Bounded, Doc: "by rising lower bound, every trial that could win; only in a search, where times are exact"}
			for _, r := range append([]strategy.Row{bounded}, strategy.Table...) {
				rows = append(rows, row{r.Name, r.Doc})
				s.add(r.Name, r.Doc)
			}
			return printResult(cmd, "strategies", struct {
				Strategies []row `json:"strategies"`
			}{rows}, s)
		},
	}
	outputFlags(cmd)
	return cmd
}

// strategyNames returns the names of the strategies.
func strategyNames() (names []string) {
	for _, r := range strategy.Table {
		names = append(names, r.Name)
	}
	return names
}

func strategyScoreCommand() *cobra.Command {
	var noise, drift, outliers percent
	gain := percent{share: 0.01}
	cmd := &cobra.Command{
		Use:   "score FILE…",
		Short: "Score strategies on recorded times: regret against trials",
		Long: `score plays strategies on a recorded space, a table of configurations times sizes, and
prints how far their winners are from the best after how many trials a size: the
largest ratio to the best time over the sizes, and the geometric mean of the ratios,
as the median of the seeds and as what nine tenths of them do not exceed.

FILE is CSV (columns bytes, time_us and those of the configuration; optional prior_us,
collective, nodes, ranks or gpus_per_node, inplace), T4 results as export --to t4
writes them, or a folder of such files. --out FILE.svg or FILE.html draws the curves.

  colltune strategy score times.csv
  colltune strategy score times.csv --strategy random,exhaustive --noise 10% --out regret.svg`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exactArgs("the FILE of recorded times")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			space, o, err := scoreOptions(cmd, args)
			if err != nil {
				return err
			}
			o.Noise = recorded.Noise{Spread: noise.share, Drift: drift.share, Outliers: outliers.share}
			if err := o.Noise.Validate(); err != nil {
				return usage(err)
			}
			o.Gain = gain.share
			s, err := score.Play(cmd.Context(), space, o)
			if err != nil {
				return usage(err)
			}
			return printScore(cmd, space.Call, o, s)
		},
	}
	cmd.Flags().StringSlice("strategy", nil, "score only the strategies `NAMES`, separated by commas (default: all)")
	_ = cmd.RegisterFlagCompletionFunc("strategy", completeList(strategyNames))
	cmd.Flags().Int("seeds", 100, "how often each strategy is played")
	cmd.Flags().Int64("seed", 1, "seed of the first play; the others follow it")
	cmd.Flags().Int("trials", 0, "most trials a size, in the mean over sizes (default: as many as there are configurations)")
	cmd.Flags().Var(&noise, "noise", "spread of a trial's time around the recorded one: a `PERCENT` (default: none)")
	cmd.Flags().Var(&drift, "drift", "grow the times by this `PERCENT` over a hundred trials (default: none)")
	cmd.Flags().Var(&outliers, "outliers", "let this `PERCENT` of the trials take 2 to 5 times as long (default: none)")
	cmd.Flags().Var(&gain, "gain", "a strategy is done with a size when it expects to gain less than this `PERCENT`")
	cmd.Flags().Bool("no-prior", false, "hide the table's prior_us from the strategies")
	cmd.Flags().StringP("collective", "c", "", "of several calls that were recorded, that of this collective")
	_ = cmd.RegisterFlagCompletionFunc("collective", cobra.FixedCompletions(collective.Names(), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Int("nodes", 0, "… that on so many nodes")
	cmd.Flags().Int("ranks", 0, "… that over so many ranks")
	cmd.Flags().String("placement", "", "… that in place or out of place: in, out")
	_ = cmd.RegisterFlagCompletionFunc("placement", cobra.FixedCompletions([]string{"in", "out"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().Int("jobs", runtime.NumCPU(), "number of plays at a time; never changes the result")
	choiceFlag(cmd, "format", "o", "table", formats, "how to print the result")
	cmd.Flags().String("out", "", "draw the curves to `FILE`.svg or FILE.html, beside the printed result; any other FILE gets the result")
	return cmd
}

// scoreOptions reads the files and flags.
func scoreOptions(cmd *cobra.Command, paths []string) (*recorded.Space, score.Options, error) {
	var o score.Options
	o.Seeds, _ = cmd.Flags().GetInt("seeds")
	o.Seed, _ = cmd.Flags().GetInt64("seed")
	o.Trials, _ = cmd.Flags().GetInt("trials")
	o.Jobs, _ = cmd.Flags().GetInt("jobs")
	o.NoPrior, _ = cmd.Flags().GetBool("no-prior")
	for flag, n := range map[string]int{"seeds": o.Seeds, "jobs": o.Jobs} {
		if n < 1 {
			return nil, o, usagef("--%s %d: want at least 1", flag, n)
		}
	}
	if o.Trials < 0 || o.Trials == 0 && isSet(cmd, "trials") {
		return nil, o, usagef("--trials %d: want at least 1; leave it out for the whole space", o.Trials)
	}
	names, _ := cmd.Flags().GetStringSlice("strategy")
	if len(names) == 0 {
		names = strategyNames()
	}
	for _, n := range names {
		row, err := strategy.Named(n)
		if err != nil {
			return nil, o, usagef("--strategy: %w", err)
		}
		o.Strategies = append(o.Strategies, row)
	}
	call := recorded.Call{Placement: flagValue(cmd, "placement")}
	call.Nodes, _ = cmd.Flags().GetInt("nodes")
	call.Ranks, _ = cmd.Flags().GetInt("ranks")
	if call.Placement != "" && call.Placement != "in" && call.Placement != "out" {
		return nil, o, usagef("--placement %s: want in or out", call.Placement)
	}
	if call.Collective = flagValue(cmd, "collective"); call.Collective != "" && !slices.Contains(collective.Names(), call.Collective) {
		return nil, o, usagef("--collective %s: want one of %s", call.Collective, strings.Join(collective.Names(), ", "))
	}
	t, err := recorded.Read(paths...)
	if err != nil {
		return nil, o, usage(err)
	}
	space, err := t.Of(call)
	if err != nil {
		return nil, o, usagef("%s: %w (-c, --nodes, --ranks and --placement choose)", strings.Join(paths, ", "), err)
	}
	return space, o, nil
}

// scoreDocument is the result as JSON.
type scoreDocument struct {
	Call    string        `json:"call"`
	Configs int           `json:"configurations"`
	Sizes   int           `json:"sizes"`
	Points  int           `json:"points"`
	Prior   bool          `json:"prior"`
	Seeds   int           `json:"seeds"`
	Seed    int64         `json:"seed"`
	Noise   float64       `json:"noise"`
	Drift   float64       `json:"drift"`
	Out     float64       `json:"outliers"`
	Curves  []score.Curve `json:"strategies"`
}

// printScore prints the result, and draws it if --out names a picture.
func printScore(cmd *cobra.Command, call recorded.Call, o score.Options, s *score.Score) error {
	d := scoreDocument{call.String(), s.Configs, s.Sizes, s.Points, s.Prior, o.Seeds, o.Seed, o.Noise.Spread, o.Noise.Drift, o.Noise.Outliers, s.Curves}
	sheet := scoreSheet(&d, flagValue(cmd, "format") == "table")
	write := func(w io.Writer) error { return writeResult(cmd, w, "strategy-score", d, sheet) }
	path := flagValue(cmd, "out")
	var draw func(io.Writer) error
	switch picture := scoreCurves(&d); strings.ToLower(filepath.Ext(path)) {
	case ".svg":
		draw = picture.WriteSVG
	case ".html":
		draw = picture.WritePage
	default:
		return writeOut(cmd, write)
	}
	if err := writeFile(path, draw); err != nil {
		return err
	}
	return write(cmd.OutOrStdout())
}

// about describes the play.
func (d *scoreDocument) about() []string {
	prior := "without a prior"
	if d.Prior {
		prior = "with a prior"
	}
	noise := "no noise"
	if d.Noise != 0 || d.Drift != 0 || d.Out != 0 {
		noise = fmt.Sprintf("noise %g %%, drift %g %%, outliers %g %%", d.Noise*100, d.Drift*100, d.Out*100)
	}
	return []string{
		fmt.Sprintf("%s: %s at %s, %d recorded; %s, %s, %s", d.Call, units.Count(d.Configs, "configuration"), units.Count(d.Sizes, "size"), d.Points, prior, noise, units.Count(d.Seeds, "seed")),
		"ratios to the best: the largest over the sizes, and the geometric mean; -: some size has no winner yet",
	}
}

// scoreSheet returns the result as rows, for people only those of 1, 2, 3, 4, 6, 8, 12, …
// trials and the last.
func scoreSheet(d *scoreDocument, people bool) sheet {
	s := sheet{notes: d.about(), columns: []column{
		text("strategy"), {name: "trials/size", right: true, csv: "trials_per_size"},
		number("largest median"), number("largest p90"), {name: "mean median", right: true, csv: "mean_median"}, number("mean p90"),
	}}
	ratio := func(r score.Ratio) string {
		switch {
		case !r.Finite() && people:
			return "-"
		case !r.Finite():
			return ""
		case people:
			return strconv.FormatFloat(float64(r), 'f', 3, 64)
		}
		return exact(float64(r))
	}
	add := func(name, trials string, p score.Point) {
		s.add(name, trials, ratio(p.Largest.Median), ratio(p.Largest.P90), ratio(p.Mean.Median), ratio(p.Mean.P90))
	}
	for _, c := range d.Curves {
		for i, p := range c.Points {
			if people && (float64(i) >= c.Trials || !isRound(i+1)) {
				continue // it was done, or the row is one of many
			}
			add(c.Strategy, strconv.Itoa(i+1), p)
		}
		if people {
			add(c.Strategy, "end "+strconv.FormatFloat(c.Trials, 'f', 2, 64), c.End())
		}
	}
	if !people {
		s.notes = nil
	}
	return s
}

// isRound reports whether n is a power of two, or one and a half.
func isRound(n int) bool {
	if n%3 == 0 {
		n /= 3
	}
	return n&(n-1) == 0
}

// leastShown is the least distance from the best that is drawn, in percent: a logarithmic
// axis has no place for none.
const leastShown = 0.1

// scoreCurves returns the result as curves.
func scoreCurves(d *scoreDocument) *report.Curves {
	c := &report.Curves{Title: "Regret against trials: " + d.Call, Notes: append(d.about()[:1], fmt.Sprintf("Solid: the median of the seeds. Dashed: nine tenths of them are not above it. %g %% stands for that or less.", leastShown))}
	percent := func(r score.Ratio) float64 { return math.Max(100*(float64(r)-1), leastShown) }
	for _, panel := range []struct {
		title string
		of    func(score.Point) score.Spread
	}{
		{"The size that is farthest from its best", func(p score.Point) score.Spread { return p.Largest }},
		{"All sizes, in the geometric mean", func(p score.Point) score.Spread { return p.Mean }},
	} {
		p := report.Panel{Title: panel.title, X: "trials a size", Y: "% slower", Log: true}
		for _, curve := range d.Curves {
			l := report.PanelLine{Label: curve.Strategy}
			for _, at := range curve.Points {
				s := panel.of(at)
				l.Points = append(l.Points, report.PanelPoint{X: int64(at.Trials), Y: percent(s.Median), High: percent(s.P90)})
			}
			p.Lines = append(p.Lines, l)
		}
		c.Panels = append(c.Panels, p)
	}
	return c
}
