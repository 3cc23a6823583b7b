package main

import (
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
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/calibrate"
	"github.com/colltune/colltune/topologies"
)

// sources are the flags that name measured times, each with what reads one of its values.
var sources = []struct {
	flag string
	read func(cmd *cobra.Command, r *calibrate.Reader, given string) ([]calibrate.Table, error)
}{
	{"measured", readMeasured},
	{"runs", one(readRun)},
	{"campaign", one(readCampaign)},
}

// one makes a reader of one table one of several.
func one(read func(*cobra.Command, *calibrate.Reader, string) (calibrate.Table, error)) func(*cobra.Command, *calibrate.Reader, string) ([]calibrate.Table, error) {
	return func(cmd *cobra.Command, r *calibrate.Reader, given string) ([]calibrate.Table, error) {
		t, err := read(cmd, r, given)
		return []calibrate.Table{t}, err
	}
}

// readSources reads all measured times for the topology name.
func readSources(cmd *cobra.Command, name string) (all []calibrate.Table, err error) {
	r := &calibrate.Reader{
		System: func(ranks int) (*topologies.Topology, error) { return topologyForRanks(cmd, name, ranks) },
		Part:   func(ranks, nodes int) (*topologies.Topology, error) { return topologyPart(cmd, name, ranks, nodes) },
		Least:  sizeOf(cmd, "min-bytes"), Most: sizeOf(cmd, "max-bytes"),
		Notice: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) },
	}
	points := 0
	for _, s := range sources {
		given, _ := cmd.Flags().GetStringArray(s.flag)
		for _, one := range given {
			tables, err := s.read(cmd, r, one)
			if err != nil {
				return nil, err
			}
			for i := range tables {
				points += len(tables[i].Points)
			}
			if points > calibrate.MostRows {
				return nil, usagef("--%s %s: %d usable times with it: want at most %d (--min-bytes and --max-bytes narrow them)", s.flag, one, points, calibrate.MostRows)
			}
			all = append(all, tables...)
		}
	}
	if len(all) == 0 {
		return nil, usagef("--measured is missing: want a file of nccl-tests' output on this system, or --runs or --campaign with times of programs")
	}
	if points < calibrate.LeastRows {
		return nil, usagef("%s in all: want at least %d, half to fit to and half to judge by", units.Count(points, "usable time"), calibrate.LeastRows)
	}
	return all, nil
}

// readMeasured reads one [COLLECTIVE=]FILE[,CONDITION=VALUE…] of --measured.
func readMeasured(cmd *cobra.Command, r *calibrate.Reader, given string) ([]calibrate.Table, error) {
	call := collective.Call{Op: flagValue(cmd, "op"), DType: flagValue(cmd, "dtype")}
	call.Root, _ = cmd.Flags().GetInt("root")
	rest := given
	if coll, after, ok := strings.Cut(given, "="); ok && slices.Contains(collective.Names(), coll) {
		call.Collective, rest = coll, after
	}
	system, err := r.System(0)
	if err != nil {
		return nil, err
	}
	source := measured.Source{Library: system.Runtime, Path: rest}
	if _, err := os.Stat(rest); err != nil {
		if source, err = measured.ParseSource(system.Runtime + "=" + rest); err != nil {
			return nil, usagef("--measured: %v", err)
		}
	}
	text, err := readFile(cmd.Context(), source.Path, measured.MaxBytes)
	if err != nil {
		return nil, err
	}
	named, ranks, err := measured.CallIn(filepath.Base(source.Path), text)
	format, _ := measured.Sniff(text, measured.OSU, measured.NCCLTests, measured.MoE, measured.CSV)
	if source.Path == rest && (err == nil || format == measured.NCCLTests) { // also without its header
		if err != nil {
			return nil, usage(err)
		}
		t, err := readNCCLTests(cmd, r, source.Path, text, call, named, ranks)
		return []calibrate.Table{t}, err
	}
	rows, notes, err := measured.Read(source, text)
	if err != nil {
		return nil, usage(err)
	}
	for _, n := range notes {
		r.Notice(n)
	}
	if call.Collective == "" && flagValue(cmd, "collective") != "" {
		if call.Collective, err = collectiveName(cmd); err != nil {
			return nil, err
		}
	}
	dtype := call.DType
	if !isSet(cmd, "dtype") {
		call.DType = ""
	}
	tables, err := r.Rows(cmd.Context(), source.Path, rows, call, dtype, func(name string) bool { return inPlaceOf(cmd, name) })
	return tables, usage(err)
}

// readNCCLTests reads the times of one call in nccl-tests' output, which names its collective
// and number of ranks, or not.
func readNCCLTests(cmd *cobra.Command, r *calibrate.Reader, path string, text []byte, call collective.Call, named string, ranks int) (t calibrate.Table, err error) {
	switch {
	case call.Collective != "":
	case flagValue(cmd, "collective") != "" || named == "":
		if call.Collective, err = collectiveName(cmd); err != nil {
			return t, err
		}
	default:
		call.Collective = named
	}
	system, err := r.System(ranks)
	if err != nil {
		return t, err
	}
	t, err = r.Library(cmd.Context(), path, text, system, call, inPlaceOf(cmd, call.Collective))
	return t, usage(err)
}

// topologyPart returns the part of the named system that a table was measured on. Without --nodes
// and --gpus it has the first GPUs of each node, as many as make up the ranks, on the given number of
// nodes or, where that is 0, on the fewest that hold them.
func topologyPart(cmd *cobra.Command, name string, ranks, nodes int) (*topologies.Topology, error) {
	t, err := topology(cmd, name)
	if err != nil || isSet(cmd, "nodes") || isSet(cmd, "gpus") || len(t.Ranks)%t.Nodes != 0 {
		if err == nil && len(t.Ranks) != ranks {
			err = usagef("measured on %s, and %s has %d", units.Count(ranks, "rank"), t.Name, len(t.Ranks))
		}
		return t, err
	}
	each := len(t.Ranks) / t.Nodes
	if nodes == 0 {
		nodes = (ranks + each - 1) / each
	}
	if ranks%nodes != 0 || ranks/nodes > each {
		return nil, usagef("%s are no equal parts of %s of %s: want --nodes and --gpus", units.Count(ranks, "rank"), units.Count(nodes, "node"), t.Name)
	}
	o := topologies.Options{Nodes: nodes}
	if ranks < nodes*each {
		for g := range ranks / nodes {
			o.GPUs = append(o.GPUs, g)
		}
	}
	t, err = abandonable(cmd.Context(), func() (*topologies.Topology, error) { return topologies.Resolve(name, o) })
	return t, usage(err)
}

// topologyForRanks returns the system with the nodes of --nodes, otherwise with as many
// nodes as have that many ranks. ranks is 0 if the table does not name it.
func topologyForRanks(cmd *cobra.Command, name string, ranks int) (*topologies.Topology, error) {
	t, err := topology(cmd, name)
	if err != nil || cmd.Flags().Changed("nodes") || ranks == 0 || len(t.Ranks)%t.Nodes != 0 {
		return t, err
	}
	each := len(t.Ranks) / t.Nodes
	if ranks == len(t.Ranks) || ranks%each != 0 {
		return t, nil // the reader reports the mismatch
	}
	return topologyOn(cmd, ranks/each, name)
}

// readRun reads one [PROGRAM=]FILE of --runs.
func readRun(cmd *cobra.Command, r *calibrate.Reader, given string) (t calibrate.Table, err error) {
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
	f, err := measured.ReadRun(path, text)
	if err != nil {
		return t, usage(err)
	}
	ran, err := ranProgram(cmd, f, program)
	if err != nil {
		return t, err
	}
	t, err = r.Run(f, ran)
	return t, usage(err)
}

// ranProgram reads the program that ran: the file given, else that of its name beside f,
// or below the working directory.
func ranProgram(cmd *cobra.Command, f *measured.Run, given string) (*ir.Program, error) {
	give := fmt.Sprintf("give the program that ran, --runs PROGRAM=%s", f.File)
	path := given
	if path == "" {
		name := filepath.FromSlash(f.Program.File)
		if name == "-" || !filepath.IsLocal(name) { // no file elsewhere is read for what another file says
			return nil, usage(f.Errorf("program.file", "%.80q names no file below a folder: %s", f.Program.File, give))
		}
		path = filepath.Join(filepath.Dir(f.File), filepath.Base(name))
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path = name
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, usage(f.Errorf("program.file", "there is no %s beside it, nor %s here: %s", filepath.Base(name), name, give))
		}
	}
	read, err := readProgram(cmd, path)
	if err != nil {
		return nil, err
	}
	if read.Program == nil {
		return nil, usagef("%s: run does not take MSCCL++ plans: %s", path, give)
	}
	if hash := read.Program.Hash(); hash != f.Program.IR {
		return nil, usage(f.Errorf("program.ir", "%.12s, where %s is %.12s: %s", f.Program.IR, path, hash, give))
	}
	return read.Program, nil
}

// readCampaign reads the times of programs in one folder of --campaign.
func readCampaign(cmd *cobra.Command, r *calibrate.Reader, dir string) (t calibrate.Table, err error) {
	c, err := openCampaign(cmd, results.OpenReadOnly, dir)
	if err != nil {
		return t, err
	}
	defer c.Close()
	t, err = r.Campaign(dir, c)
	if as[*fs.PathError](err) {
		return t, err // a program that can't be read
	}
	return t, usage(err)
}
