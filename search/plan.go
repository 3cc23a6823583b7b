package search

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Source is a topology as it was asked for, so that a campaign can read it again
// even if its file is gone.
type Source struct {
	Text  string // the TOML file's text, or a generator such as ring:8; never a path
	Nodes int    // --nodes; 0: the file's own
	GPUs  []int  // --gpus; none: all
}

// Read gives the topology of a source. Its text may be another user's, so it is
// only parsed. Name is what errors call it.
func (s Source) Read(name string) (*topologies.Topology, error) {
	return topologies.FromText(name, s.Text, topologies.Options{Nodes: s.Nodes, GPUs: s.GPUs})
}

// flagRow is one flag of a plan: how an option becomes its value, and back.
type flagRow struct {
	name string
	get  func(*Options, *Source) []string
	set  func(*Options, *Source, string) error
}

// flagTable lists the flags that shape a search beyond the problem itself.
var flagTable = []flagRow{
	{"gpus", func(_ *Options, s *Source) []string {
		if len(s.GPUs) == 0 {
			return nil
		}
		return []string{joinInts(s.GPUs)}
	}, func(_ *Options, s *Source, v string) (err error) { s.GPUs, err = splitInts(v); return err }},
	{"family", func(o *Options, _ *Source) []string { return o.Families },
		func(o *Options, _ *Source, v string) error { o.Families = append(o.Families, v); return nil }},
	{"exclude", func(o *Options, _ *Source) []string { return o.Exclude },
		func(o *Options, _ *Source, v string) error { o.Exclude = append(o.Exclude, v); return nil }},
	{"routing", func(o *Options, _ *Source) []string { return o.Routings },
		func(o *Options, _ *Source, v string) error { o.Routings = append(o.Routings, v); return nil }},
	{"param", func(o *Options, _ *Source) []string { return assignments(o.Parameters) },
		func(o *Options, _ *Source, v string) error { return o.assign(v) }},
	{"channels", func(o *Options, _ *Source) []string { return number(o.Channels) },
		func(o *Options, _ *Source, v string) (err error) { o.Channels, err = strconv.Atoi(v); return err }},
	{"instances", func(o *Options, _ *Source) []string { return number(o.Instances) },
		func(o *Options, _ *Source, v string) (err error) { o.Instances, err = strconv.Atoi(v); return err }},
	{"protocol", func(o *Options, _ *Source) (all []string) {
		for _, p := range o.Protocols {
			all = append(all, p.String())
		}
		return all
	}, func(o *Options, _ *Source, v string) error {
		p, err := topologies.ParseProto(v)
		o.Protocols = append(o.Protocols, p)
		return err
	}},
	{"max-sms", func(o *Options, _ *Source) []string { return number(o.MaxSMs) },
		func(o *Options, _ *Source, v string) (err error) { o.MaxSMs, err = strconv.Atoi(v); return err }},
	{"tile-bytes", func(o *Options, _ *Source) []string { return number(int(o.TileBytes)) },
		func(o *Options, _ *Source, v string) error {
			n, err := units.ParseBytes(v)
			o.TileBytes = int64(n)
			return err
		}},
	{"runtime", func(o *Options, _ *Source) []string { return words(o.Runtime) },
		func(o *Options, _ *Source, v string) error { o.Runtime = v; return nil }},
	{"strategy", func(o *Options, _ *Source) []string { return words(o.Strategy) },
		func(o *Options, _ *Source, v string) error { o.Strategy = v; return autotune.CheckStrategy(v) }},
	{"gain", func(o *Options, _ *Source) []string {
		if o.Gain == 0 {
			return nil
		}
		return []string{strconv.FormatFloat(o.Gain*100, 'g', 6, 64) + "%"}
	}, func(o *Options, _ *Source, v string) error {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(v, "%"), 64)
		o.Gain = percent / 100
		return err
	}},
	{"baseline", func(o *Options, _ *Source) []string {
		if o.Release == (library.Release{}) {
			return nil
		}
		return []string{o.Release.String()}
	}, func(o *Options, _ *Source, v string) (err error) {
		of, _, _ := strings.Cut(v, "-")
		o.Release, err = library.FindRelease(v, of)
		return err
	}},
	{"registered", func(o *Options, _ *Source) []string {
		if o.Unregistered {
			return nil
		}
		if o.Registered == nil {
			return []string{Fastest}
		}
		return []string{o.Registered.String()}
	}, func(o *Options, _ *Source, v string) (err error) {
		o.Unregistered = false
		o.Registered, err = ParseRegistered(v)
		return err
	}},
	{"solver", func(o *Options, _ *Source) []string { return words(o.Solver) },
		func(o *Options, _ *Source, v string) error { o.Solver = v; return nil }},
}

// Settings are the numbers of a plan that belong to neither the problem nor the
// options: how a trial is run.
type Settings struct {
	Version      string
	Iters        int
	Warmup       int
	Seed         int64
	ExecutorName string // base name where it is a file
}

// PlanOf is the campaign plan of a search: everything that determines its answer.
func PlanOf(p Problem, o Options, s Source, set Settings) results.Plan {
	call := p.Call
	call.Counts, call.Custom = nil, nil // among the files
	plan := results.Plan{
		Version: set.Version,
		Topology: results.Topology{
			Name: p.Topology.Name, Nodes: p.Topology.Nodes, Ranks: len(p.Topology.Ranks),
			Hash: p.Topology.Hash(), Text: s.Text,
		},
		Call: call, Placement: p.placement(), Sizes: p.Sizes,
		Iters: set.Iters, Warmup: set.Warmup, Seed: set.Seed, Executor: set.ExecutorName, Memory: o.Memory,
	}
	for _, row := range flagTable {
		for _, v := range row.get(&o, &s) {
			plan.Flags = append(plan.Flags, results.Flag{Name: row.name, Value: v})
		}
	}
	if len(p.Counts) > 0 {
		plan.Files = append(plan.Files, results.File{Kind: "counts", Name: "counts", Text: collective.FormatCounts(p.Counts, len(p.Topology.Ranks))})
	}
	if o.Baseline != nil {
		plan.Files = append(plan.Files, results.File{Kind: "baseline", Name: o.Baseline.Name, Text: o.Baseline.Text})
	}
	for i := range o.Libraries {
		plan.Files = append(plan.Files, results.File{Kind: "library", Name: o.Libraries[i].Name, Text: o.Libraries[i].text(&p, set.Version)})
	}
	for _, e := range o.Earlier {
		plan.Files = append(plan.Files, results.File{Kind: "learn-from", Name: e.Name, Text: e.Text})
	}
	for _, t := range o.Templates {
		plan.Files = append(plan.Files, results.File{Kind: "template", Name: t.Name, Text: t.Text})
	}
	return plan
}

// FromPlan is the inverse of PlanOf: it returns the search that made a campaign. A flag
// that this version does not know, or a value that it refuses, is an error.
func FromPlan(plan results.Plan) (Problem, Options, error) {
	p, o, _, err := fromPlan(plan)
	if err != nil {
		return Problem{}, o, err
	}
	if got := p.Topology.Hash(); got != plan.Topology.Hash {
		return Problem{}, o, fmt.Errorf("campaign.toml: topology %s now has hash %.12s, the campaign's has %.12s: this version reads it differently", plan.Topology.Name, got, plan.Topology.Hash)
	}
	return p, o, nil
}

// PlanOn returns the plan of the same search on another number of nodes, and its problem. Files
// of measured times, which are of the plan's own ranks, are left out. Errors are FromPlan's, and
// about a collective with counts, which are of a number of ranks.
func PlanOn(plan results.Plan, nodes int) (Problem, results.Plan, error) {
	plan.Topology.Nodes = nodes
	plan.Files = slices.DeleteFunc(slices.Clone(plan.Files), func(f results.File) bool { return f.Kind != "counts" && f.Kind != "template" })
	p, o, s, err := fromPlan(plan)
	if err == nil && len(p.Counts) > 0 {
		err = fmt.Errorf("%s has counts for each of %d ranks: on other nodes it is another call", plan.Collective, plan.Topology.Ranks)
	}
	if err != nil {
		return Problem{}, results.Plan{}, err
	}
	return p, PlanOf(p, o, s, Settings{Version: plan.Version, Iters: plan.Iters, Warmup: plan.Warmup, Seed: plan.Seed, ExecutorName: plan.Executor}), nil
}

// fromPlan reads a plan, whatever the hash of its topology.
func fromPlan(plan results.Plan) (Problem, Options, Source, error) {
	o := Options{Unregistered: true} // as before --registered
	s := Source{Text: plan.Topology.Text, Nodes: plan.Topology.Nodes}
	for _, f := range plan.Flags {
		i := slices.IndexFunc(flagTable, func(r flagRow) bool { return r.name == f.Name })
		if i < 0 {
			return Problem{}, o, s, fmt.Errorf("campaign.toml: flag %q is unknown: it was written by version %s", f.Name, plan.Version)
		}
		if err := flagTable[i].set(&o, &s, f.Value); err != nil {
			return Problem{}, o, s, fmt.Errorf("campaign.toml: flag %s: %w", f.Name, err)
		}
	}
	var counts []int
	for _, f := range plan.Files {
		if f.Kind == "counts" {
			var err error
			if counts, err = collective.ParseCounts("campaign.toml: counts", []byte(f.Text)); err != nil {
				return Problem{}, o, s, err
			}
		}
		if f.Kind == "baseline" {
			o.Baseline = &BaselineFile{f.Name, f.Text}
		}
		if f.Kind == "library" {
			l, err := libraryOf(f.Name, f.Text)
			if err != nil {
				return Problem{}, o, s, err
			}
			o.Libraries = append(o.Libraries, l)
		}
		if f.Kind == "learn-from" {
			o.Earlier = append(o.Earlier, Earlier{f.Name, f.Text})
		}
		if f.Kind == "template" {
			o.Templates = append(o.Templates, Template{Name: f.Name, Text: f.Text})
		}
	}
	o.Executor, o.Memory = plan.Executor, plan.Memory
	t, err := s.Read("campaign.toml: topology " + plan.Topology.Name)
	if err != nil {
		return Problem{}, o, s, err
	}
	call := plan.Call
	call.Counts = counts
	return Problem{Topology: t, Call: call, InPlace: plan.Placement != "out", Both: plan.Placement == "both", Sizes: plan.Sizes}, o, s, nil
}

// assign fixes a template parameter from NAME=VALUE.
func (o *Options) assign(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return fmt.Errorf("parameter %q: want NAME=VALUE", text)
	}
	if o.Parameters == nil {
		o.Parameters = map[string]string{}
	}
	o.Parameters[name] = value
	return nil
}

// Assign fixes template parameters from NAME=VALUE, as -p gives them. A text of another
// form is an error; a later value replaces an earlier one.
func (o *Options) Assign(texts []string) error {
	for _, t := range texts {
		if err := o.assign(t); err != nil {
			return err
		}
	}
	return nil
}

func (p *Problem) placement() string {
	if p.Both {
		return "both"
	}
	return program.Placement(p.InPlace)
}

func assignments(m map[string]string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		all = append(all, name+"="+m[name])
	}
	return all
}

func number(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{strconv.Itoa(n)}
}

func words(s string) []string {
	if s == "" || s == "auto" {
		return nil
	}
	return []string{s}
}

func joinInts(ns []int) string {
	var texts []string
	for _, n := range ns {
		texts = append(texts, strconv.Itoa(n))
	}
	return strings.Join(texts, ",")
}

func splitInts(text string) (ns []int, err error) {
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return nil, fmt.Errorf("%q: want numbers with commas between, such as 0,3,5", text)
		}
		ns = append(ns, n)
	}
	return ns, nil
}
