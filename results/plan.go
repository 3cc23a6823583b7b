package results

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/safe"
)

// PlanSchema names the form of campaign.toml.
const PlanSchema = "colltune.campaign/v1"

// Plan defines a campaign's search. Two plans that differ in Version or Memory alone ask
// for the same answer; a campaign keeps the Memory that it was begun with, because it
// decides which candidates are refused. How fast or how far a run goes (jobs, budgets of
// trials and time) and its output formats are not part of a plan.
type Plan struct {
	// Call is the call searched for, without Counts and Custom, whose texts are in Files.
	collective.Call
	Version   string // of the colltune that wrote it; not compared
	Topology  Topology
	Placement string  // in, out or both
	Sizes     []int64 // bytes, as nccl-tests counts them
	Iters     int     // timed iterations of a trial
	Warmup    int     // iterations before those
	Seed      int64
	Executor  string // sim, or the base name of a plugin
	Flags     []Flag // further flags that shape the search, sorted by name
	Files     []File // files the flags named: templates, a baseline
	Memory    int64  // limit in bytes of the search that made it; not compared. 0: no limit
}

// Topology is the system, with its whole text, so that a campaign can go on when
// its file is gone.
type Topology struct {
	Name  string
	Nodes int
	Ranks int
	Hash  string // of the graph
	Text  string // TOML, or a generator's name
}

// Flag is a command-line flag without its dashes, and its value. One that was
// given twice is there twice.
type Flag struct {
	Name, Value string
}

// File is a file that the plan depends on.
type File struct {
	Kind string // template, baseline, …
	Name string // base name
	Text string
}

// Placements lists the placements searched, "in" before "out".
func (p Plan) Placements() []string {
	if p.Placement == "both" {
		return []string{"in", "out"}
	}
	return []string{p.Placement}
}

// PlacementText is a placement in words.
func PlacementText(placement string) string {
	if placement == "in" {
		return "in place"
	}
	return "out of place"
}

// normal is the plan with its lists in a fixed order.
func (p Plan) normal() Plan {
	p.Sizes = slices.Clone(p.Sizes)
	slices.Sort(p.Sizes)
	p.Sizes = slices.Compact(p.Sizes)
	p.Flags = slices.Clone(p.Flags)
	slices.SortStableFunc(p.Flags, func(a, b Flag) int {
		if a.Name == b.Name && slices.Contains(setFlags, a.Name) {
			return strings.Compare(a.Value, b.Value)
		}
		return strings.Compare(a.Name, b.Name)
	})
	p.Flags = slices.CompactFunc(p.Flags, func(a, b Flag) bool { return a == b && slices.Contains(setFlags, a.Name) })
	p.Files = slices.Clone(p.Files)
	slices.SortStableFunc(p.Files, func(a, b File) int {
		return strings.Compare(a.Kind+"\x00"+a.Name, b.Kind+"\x00"+b.Name)
	})
	return p
}

// setFlags are the flags whose order and repetition don't matter.
var setFlags = []string{"family", "exclude", "routing"}

// check refuses a plan that no search could have written.
func (p Plan) check() error {
	known := collective.New
	if slices.ContainsFunc(p.Files, func(f File) bool { return f.Kind == "template" }) {
		known = collective.OfName // a template may define collectives
	}
	if _, err := known(p.Spec(p.Topology.Ranks, 1, false)); err != nil {
		return err
	}
	if _, err := collective.ElemBytes(p.DType); err != nil {
		return err
	}
	for _, n := range p.Sizes {
		if n < 1 {
			return fmt.Errorf("size %d: want at least 1", n)
		}
	}
	for _, s := range p.texts() {
		if !utf8.ValidString(s) {
			return fmt.Errorf("text %.40q: want UTF-8", s)
		}
	}
	switch {
	case p.Memory < 0:
		return fmt.Errorf("memory of %d bytes: want 0 or more", p.Memory)
	case p.Placement != "in" && p.Placement != "out" && p.Placement != "both":
		return fmt.Errorf("placement %.80q: want in, out or both", p.Placement)
	case p.Topology.Nodes < 1:
		return fmt.Errorf("topology of %d nodes: want at least 1", p.Topology.Nodes)
	case len(p.Sizes) == 0:
		return errors.New("no sizes")
	}
	return nil
}

// Registered is the state of buffers that the search asked for; empty: the library's fastest.
func (p Plan) Registered() string {
	for _, f := range p.Flags {
		if f.Name == "registered" && slices.Contains(States(), f.Value) {
			return f.Value
		}
	}
	return ""
}

// texts lists all strings that campaign.toml holds.
func (p Plan) texts() []string {
	all := []string{p.Version, p.Topology.Name, p.Topology.Hash, p.Topology.Text, p.Op, p.Executor}
	for _, f := range p.Flags {
		all = append(all, f.Name, f.Value)
	}
	for _, f := range p.Files {
		all = append(all, f.Kind, f.Name, f.Text)
	}
	return all
}

// Command returns the command line that makes this plan, without paths, so that it is the
// same for every run of the same search.
func (p Plan) Command() string {
	if p.Topology.Nodes > 1 {
		return p.command(strconv.Itoa(p.Topology.Nodes))
	}
	return p.command("")
}

// command is the command line with that value of --nodes; empty: without it.
func (p Plan) command(nodes string) string {
	p = p.normal()
	words := []string{"colltune", "search", "-t", safe.Shell(p.Topology.Name), "-c", safe.Shell(p.Collective)}
	add := func(flag, value string) { words = append(words, "--"+flag, safe.Shell(value)) }
	if nodes != "" {
		add("nodes", nodes)
	}
	if n := len(p.Sizes); n > 0 {
		words = append(words, "-b", sizeText(p.Sizes[0]), "-e", sizeText(p.Sizes[n-1]))
		if n > 1 && p.Sizes[1] != 2*p.Sizes[0] {
			words = append(words, "-f", strconv.FormatInt(p.Sizes[1]/p.Sizes[0], 10))
		}
	}
	if p.Root != 0 {
		add("root", strconv.Itoa(p.Root))
	}
	add("op", p.Op)
	add("dtype", p.DType)
	add("placement", p.Placement)
	add("iters", strconv.Itoa(p.Iters))
	add("warmup-iters", strconv.Itoa(p.Warmup))
	add("seed", strconv.FormatInt(p.Seed, 10))
	add("executor", p.Executor)
	for _, f := range p.Files {
		if slices.Contains([]string{"template", "baseline", "library", "learn-from"}, f.Kind) {
			add(f.Kind, f.Name)
		}
	}
	file := slices.ContainsFunc(p.Files, func(f File) bool { return f.Kind == "baseline" })
	for _, f := range p.Flags {
		if f.Name != "baseline" || !file { // a file names its release
			add(f.Name, f.Value)
		}
	}
	return strings.Join(words, " ")
}

// OtherPlanError reports that a folder holds another search's campaign.
type OtherPlanError struct {
	Dir  string
	Diff []string // a line for each difference: what the folder has, and what was asked for
}

// Error lists the differences, a line each.
func (e *OtherPlanError) Error() string {
	return fmt.Sprintf("campaign %s is of another search:\n  %s\ngive another folder with --campaign, or remove this one",
		e.Dir, strings.Join(e.Diff, "\n  "))
}

// Diff lists the differences of a requested plan from this one, a line each; nil if both
// ask for the same answer.
func (p Plan) Diff(asked Plan) []string { return p.differ(asked, "there", "asked for") }

// differ is Diff with the two plans called one and two.
func (p Plan) differ(other Plan, one, two string) []string {
	a, b := p.normal(), other.normal()
	var diff []string
	line := func(what, has, wants string) {
		if has != wants {
			diff = append(diff, fmt.Sprintf("%s: %s %s, %s %s", what, orNone(has), one, orNone(wants), two))
		}
	}
	line("topology", a.Topology.Name, b.Topology.Name)
	line("nodes", strconv.Itoa(a.Topology.Nodes), strconv.Itoa(b.Topology.Nodes))
	line("ranks", strconv.Itoa(a.Topology.Ranks), strconv.Itoa(b.Topology.Ranks))
	line("topology's graph", ShortHash(a.Topology.Hash), ShortHash(b.Topology.Hash))
	if a.Topology.Text != b.Topology.Text {
		diff = append(diff, "topology's text: "+firstDifference(a.Topology.Text, b.Topology.Text, one, two))
	}
	line("collective", a.Collective, b.Collective)
	line("root", strconv.Itoa(a.Root), strconv.Itoa(b.Root))
	line("op", a.Op, b.Op)
	line("dtype", a.DType, b.DType)
	line("placement", a.Placement, b.Placement)
	line("sizes", sizesText(a.Sizes), sizesText(b.Sizes))
	line("iters", strconv.Itoa(a.Iters), strconv.Itoa(b.Iters))
	line("warmup-iters", strconv.Itoa(a.Warmup), strconv.Itoa(b.Warmup))
	line("seed", strconv.FormatInt(a.Seed, 10), strconv.FormatInt(b.Seed, 10))
	line("executor", a.Executor, b.Executor)

	fa, fb := flagsByName(a.Flags), flagsByName(b.Flags)
	for _, name := range sortedUnion(fa, fb) {
		line("--"+name, fa[name], fb[name])
	}
	ta, tb := filesByName(a.Files), filesByName(b.Files)
	for _, name := range sortedUnion(ta, tb) {
		has, there := ta[name]
		wants, asked := tb[name]
		switch {
		case !there:
			diff = append(diff, fmt.Sprintf("%s: none %s, one %s", name, one, two))
		case !asked:
			diff = append(diff, fmt.Sprintf("%s: one %s, none %s", name, one, two))
		case has != wants:
			diff = append(diff, name+": "+firstDifference(has, wants, one, two))
		}
	}
	return diff
}

// DescribeDifferences lists the differences between two campaigns' searches and
// executors, a line each: they may explain why their times differ.
func DescribeDifferences(before, after *Campaign) []string {
	a, b := before.Plan(), after.Plan()
	lines := a.differ(b, "before", "after")
	x, _ := before.Executor()
	y, _ := after.Executor()
	add := func(what, one, two string) {
		if one != two {
			lines = append(lines, fmt.Sprintf("%s: %s before, %s after", what, orNone(one), orNone(two)))
		}
	}
	add("colltune", a.Version, b.Version)
	add("version of "+y.Name, x.Version, y.Version)
	for _, key := range sortedUnion(x.Fingerprint, y.Fingerprint) {
		add(key, x.Fingerprint[key], y.Fingerprint[key])
	}
	if lines == nil {
		return []string{}
	}
	return lines
}

func flagsByName(flags []Flag) map[string]string {
	m := map[string]string{}
	for _, f := range flags {
		if v, twice := m[f.Name]; twice {
			m[f.Name] = v + " " + safe.Shell(f.Value)
		} else {
			m[f.Name] = safe.Shell(f.Value)
		}
	}
	return m
}

func filesByName(files []File) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m[f.Kind+" "+f.Name] += f.Text
	}
	return m
}

func sortedUnion(a, b map[string]string) []string {
	var names []string
	for n := range a {
		names = append(names, n)
	}
	for n := range b {
		if _, both := a[n]; !both {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// firstDifference names the first line in which two texts differ.
func firstDifference(a, b, one, two string) string {
	la, lb := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := 0; i < max(len(la), len(lb)); i++ {
		var x, y string
		if i < len(la) {
			x = la[i]
		}
		if i < len(lb) {
			y = lb[i]
		}
		if x != y {
			return fmt.Sprintf("line %d: %s %s, %s %s", i+1, orNone(strings.TrimSpace(x)), one, orNone(strings.TrimSpace(y)), two)
		}
	}
	return "the same"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// ShortHash returns the part of a hash that people read: its first 12 digits.
func ShortHash(hash string) string {
	if len(hash) > 12 {
		return hash[:12]
	}
	return hash
}
