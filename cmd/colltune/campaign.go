package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/topologies"
)

// opened is what a user may name: a campaign, or a map.
type opened interface{ Remarks() []string }

// openCampaign opens a campaign or a map that a user named, with a function of package
// results, and prints remarks on it. The caller closes it.
func openCampaign[O opened](cmd *cobra.Command, open func(string) (O, error), dir string) (O, error) {
	c, err := open(dir)
	var locked *results.LockedError
	if err != nil && !errors.As(err, &locked) && !accessDenied(err) && !errors.Is(err, syscall.ENOSPC) {
		err = usage(err) // the folder is not a campaign, or is damaged
	}
	if err == nil {
		printRemarks(cmd, c)
	}
	return c, err
}

// printRemarks prints remarks on a campaign's journal, such as a torn last line, or on a map.
func printRemarks(cmd *cobra.Command, c opened) {
	for _, line := range c.Remarks() {
		fmt.Fprintln(cmd.ErrOrStderr(), line)
	}
}

// accessDenied reports whether err means that a file or folder exists but may not be
// read or written.
func accessDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

func checkMapWinners(all []*results.Campaign, rows []table.Row) (err error) {
	for _, c := range all {
		err = errors.Join(err, checkWinners(c, rows))
	}
	return err
}

// checkWinners returns an error that names each winner's program that is lost or was
// changed, or does not agree with the campaign's plan and trials. Of a map's rows it checks
// the campaign's.
func checkWinners(c *results.Campaign, rows []table.Row) (err error) {
	seen := map[string]bool{"": true} // native algorithms have no program
	for _, r := range rows {
		if !seen[r.IR] && r.Nodes == c.Plan().Topology.Nodes {
			seen[r.IR] = true
			_, lost := c.Program(r.IR)
			err = errors.Join(err, lost)
		}
	}
	return err
}

// openCampaigns opens for reading the campaigns that a user named: one, or those of a map, by
// their folders or its own. close closes them.
func openCampaigns(cmd *cobra.Command, dirs []string) (all []*results.Campaign, close func(), err error) {
	var closers []func() error
	close = func() {
		for _, one := range closers {
			_ = one()
		}
	}
	for _, dir := range dirs {
		if results.IsMap(dir) {
			m, err := openCampaign(cmd, results.OpenMapReadOnly, dir)
			if err != nil {
				return all, close, err
			}
			all, closers = append(all, m.Campaigns()...), append(closers, m.Close)
			continue
		}
		c, err := openCampaign(cmd, results.OpenReadOnly, dir)
		if err != nil {
			return all, close, err
		}
		all, closers = append(all, c), append(closers, c.Close)
	}
	return all, close, usage(results.SortMap(all))
}

// printTable prints the winning table of the measurements so far of a campaign, or of those
// of a map, and returns how many rows it has. schema is the NAME in colltune.NAME/v1.
func printTable(cmd *cobra.Command, schema string, campaigns ...*results.Campaign) (rows int, err error) {
	t, err := tableOf(cmd.Context(), campaigns, tableOptions{})
	if err != nil {
		return 0, err
	}
	t.Schema = "colltune." + schema + "/v1"
	return len(t.Rows), writeOut(cmd, func(w io.Writer) error { return t.Write(w, flagValue(cmd, "format"), tableLook(cmd, campaigns)) })
}

// sayEnd says how a search goes on that ended early and has n rows: with again. It returns
// the search's error, or nil where a limit that was asked for has left rows.
func sayEnd(cmd *cobra.Command, err error, rows int, again string) error {
	limit := (*autotune.LimitError)(nil)
	if rows > 0 && errors.As(err, &limit) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s; %s goes on\n", limit.Spent(), again)
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "saved; continue with: %s\n", again)
	return err
}

// writeTable opens the campaigns in dirs and calls write with them, their winning table, and
// standard output or --out. The table has the baseline of --baseline, and the winners of --max-sms.
func writeTable(cmd *cobra.Command, dirs []string, front bool, write func(io.Writer, []*results.Campaign, *table.Table) error) error {
	all, close, err := openCampaigns(cmd, dirs)
	defer close()
	if err != nil {
		return err
	}
	var o tableOptions
	if o.baseline, err = otherBaselineOf(cmd); err != nil {
		return err
	}
	if o.sms, err = maxSMsOf(cmd); err != nil {
		return err
	}
	t, err := tableOf(cmd.Context(), all, o)
	if err == nil {
		err = checkFits(all, t, o.sms)
	}
	if err == nil && front {
		err = setFront(cmd.Context(), t, all, o)
	}
	if err != nil {
		return err
	}
	return writeOut(cmd, func(w io.Writer) error { return write(w, all, t) })
}

// tableOptions say what a winning table is made of.
type tableOptions struct {
	baseline *search.BaselineFile // that it is compared with; nil: the campaign's own
	sms      int                  // that a winner may take; 0: all
}

// tableOf returns the winning table of a campaign, or of those of a map.
func tableOf(ctx context.Context, all []*results.Campaign, o tableOptions) (*table.Table, error) {
	var tables []*table.Table
	for _, c := range all {
		t, err := campaignTable(ctx, c, o)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	if len(tables) == 1 {
		return tables[0], nil
	}
	return table.Join(tables), nil
}

func campaignTable(ctx context.Context, c *results.Campaign, of tableOptions) (*table.Table, error) {
	t, err := table.BuildWithin(c, of.sms)
	if err != nil || of.baseline == nil {
		return t, err
	}
	p, o, err := search.FromPlan(c.Plan())
	if err != nil {
		return nil, usage(fmt.Errorf("%s: %w", c.Dir(), err))
	}
	points, err := of.baseline.Points(ctx, &p, o)
	if err != nil {
		return nil, usage(err)
	}
	t.Compare(points)
	return t, nil
}

// baselineFlag adds --baseline and --registered to a search.
func baselineFlag(cmd *cobra.Command) {
	cmd.Flags().Var(&once{}, "baseline", "compare the winner with `RELEASE|FILE`: a release of the system's library (nccl or rccl, its newest; "+strings.Join(minorReleases(), ", ")+"), or nccl-tests' output (default: the executor's release, or else the newest)")
	choiceFlag(cmd, "registered", "", search.Fastest, append(results.States(), search.Fastest), "how the library knows your buffers; "+search.Fastest+" is the state in which it is fastest")
}

// minorReleases are the releases that have a row, by their first two numbers: nccl-2.30.
func minorReleases() (all []string) {
	for _, r := range library.Releases() {
		major, rest, _ := strings.Cut(r.String(), ".")
		minor, _, _ := strings.Cut(rest, ".")
		all = append(all, major+"."+minor)
	}
	return slices.Compact(all)
}

// otherBaselineFlag adds --baseline to a command that reads a campaign.
func otherBaselineFlag(cmd *cobra.Command) {
	cmd.Flags().Var(&once{}, "baseline", "compare with this `FILE` of nccl-tests' output instead of the campaign's baseline")
}

// once is the value of a flag that is a word, and is given once: of two files the second
// would take the first one's place without a word.
type once struct {
	value string
	given bool
}

func (o *once) String() string { return o.value }
func (o *once) Type() string   { return "string" }

func (o *once) Set(s string) error {
	if s == "" {
		return errors.New("want a release such as nccl or nccl-2.30, or a file of nccl-tests' output")
	}
	if o.given {
		return fmt.Errorf("is given twice: want one, and --library NAME=FILE for each library besides")
	}
	o.value, o.given = s, true
	return nil
}

// maxBaseline is the largest file of measured times, in bytes.
const maxBaseline = 64 << 20

// releaseName is what --baseline takes for a release, and not for a file.
var releaseName = lazyregexp.New(`^(nccl|rccl)(-[0-9.]+(-rocm[0-9.]+)?)?$`)

// baselineRelease is the release of a system's library that --baseline names, or that stands for it; the
// zero value where it names none, or a file.
func baselineRelease(cmd *cobra.Command, t *topologies.Topology) (library.Release, error) {
	name := flagValue(cmd, "baseline")
	if !releaseName().MatchString(name) {
		return library.Release{}, nil
	}
	r, note, err := library.AskedRelease(name, library.LibraryOf(t))
	if err != nil {
		return r, usagef("--baseline %w", err)
	}
	if note != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "--baseline: %s\n", note)
	}
	return r, nil
}

// unmodelled are libraries whose name --baseline might be given, and of which nothing here says the times.
var unmodelled = map[string]string{"msccl": "MSCCL", "mscclpp": "MSCCL++", "msccl++": "MSCCL++"}

// baselineOf reads the file that --baseline names; nil if it names none.
func baselineOf(cmd *cobra.Command) (*search.BaselineFile, error) {
	path := flagValue(cmd, "baseline")
	if path == "" || releaseName().MatchString(path) {
		return nil, nil
	}
	text, err := readFile(cmd.Context(), path, maxBaseline)
	if of := unmodelled[strings.ToLower(path)]; of != "" && errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("--baseline %s: %s is not modelled: want a release of NCCL or RCCL, such as nccl-2.30, or give --library %s=FILE with times that were measured", path, of, path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		meant := suggest.DidYouMean(strings.ToLower(path), append([]string{"nccl", "rccl"}, minorReleases()...))
		return nil, usagef("--baseline %w%s: want a release such as nccl or nccl-2.30, or a file of nccl-tests' output", err, meant)
	}
	if err != nil {
		return nil, err
	}
	return &search.BaselineFile{Name: filepath.Base(path), Text: strings.ToValidUTF8(string(text), "\uFFFD")}, nil
}

// otherBaselineOf is baselineOf of a command that reads a campaign, which keeps its release.
func otherBaselineOf(cmd *cobra.Command) (*search.BaselineFile, error) {
	if name := flagValue(cmd, "baseline"); releaseName().MatchString(name) {
		return nil, usagef("--baseline %s: a campaign keeps the release that it was compared with: want a file of nccl-tests' output, or search with --baseline %s into another folder", name, name)
	}
	return baselineOf(cmd)
}
