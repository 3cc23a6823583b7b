package tuning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
)

// Format is a kind of file.
type Format struct {
	Name string
	Doc  string
	Load string // how the files are loaded, <file> being one of them
	// Pattern is a regular expression of the files' names.
	Pattern string
	// Lacks returns the reason for which no entry can say that a configuration is to run for
	// calls of a scope; "" where one can.
	Lacks func(Scope, Config) string
	// Same is what an entry says of a configuration: those of which it is equal are one.
	Same func(Config) Config
	// Rung, where the file has only thresholds, is the place of a configuration in the order
	// in which the library tries them, by rising size; nil: any order can be said.
	Rung func(Config) int
	// One reports that a file has room for a single configuration of a scope.
	One bool
	// Nodes reports whether entries tell numbers of nodes apart. System is how entries name a
	// system, which makes those of one name one; nil: they don't.
	Nodes  bool
	System func(system string) string
	// Own reports whether a configuration is what the library that loads the file runs without
	// it, to which sizes are left where nothing is faster; nil: the file is no such library's.
	Own func(Config) bool
	// All asks for rows of all that is left, too (WithLeft).
	All bool
	// Releases are those of the library that read the file differently, rising; nil: all read
	// one form.
	Releases []string
	// Each asks for a rule for each size that was measured, even where neighbours are equal.
	Each bool
	// Write makes the files of rules that Lacks admits, in order of scope and size, without
	// overlaps. told says where the files differ from the rules.
	Write func(rules []Rule, o Options) (files []File, told []string)
}

// Ran returns what ran in a call of which a framework was measured: as it ships, it goes by
// size, through kernels of its own and then to NCCL. A row that names a kernel is taken at its
// word, and so are those of other libraries.
func Ran(s Scope, c Config, bytes int64) Config {
	switch {
	case s.Collective != "allreduce":
	case c.Library == "vllm":
		return vllmRan(s, c, bytes)
	case c.Library == "sglang":
		return sglangRan(c, bytes)
	}
	return c
}

// namesKernel reports whether a name is of a kernel, and not of what chooses among several.
func namesKernel(name string, kernels ...string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(kernels, func(k string) bool { return strings.Contains(name, k) })
}

// Options are what a writer is told beside the rules.
type Options struct {
	Head    []string // lines of comment
	Release string   // one of Format.Releases; "": the newest
	// KeepSlower exports what is not known to be faster than the library's own choice, too.
	KeepSlower bool
	Left       Left // for Format.All
}

// Release returns the release of a version, which may have further numbers, as 2.31.2 of
// 2.31; the newest of "".
func (f *Format) Release(version string) (string, error) {
	for i, r := range slices.Backward(f.Releases) {
		if version == "" && i == len(f.Releases)-1 || version == r || strings.HasPrefix(version, r+".") {
			return r, nil
		}
	}
	switch {
	case len(f.Releases) > 0:
		return "", fmt.Errorf("%.20q: want one of %s", version, strings.Join(f.Releases, ", "))
	case version != "":
		return "", fmt.Errorf("%.20q: %s is the same for all releases", version, f.Name)
	}
	return "", nil
}

// Formats is the table of formats.
var Formats = []Format{
	mcrdl,
	ncclTuner,
	ncclxCSV,
	ncclxJSON,
	rcclConf,
	mscclppTuning,
	ncclSymmetric,
	vllm,
	sglang,
	document,
}

// Names lists the formats' names.
func Names() []string { return lists.Map(Formats, func(f Format) string { return f.Name }) }

// Named returns the format of a name.
func Named(name string) (*Format, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown format %.40q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return &Formats[i], nil
}

// scopes splits rules into those of each scope, in order.
func scopes(rules []Rule) [][]Rule {
	return groups(rules, func(a, b Rule) bool { return a.Scope == b.Scope })
}

// groups splits rules into runs of those that are alike.
func groups(rules []Rule, alike func(a, b Rule) bool) (all [][]Rule) {
	for len(rules) > 0 {
		n := 1
		for n < len(rules) && alike(rules[n], rules[0]) {
			n++
		}
		all = append(all, rules[:n])
		rules = rules[n:]
	}
	return all
}

// generations are names of the generations of GPUs, by what is in a system's name; the first
// that fits counts.
type generations []struct{ system, name string }

// of returns a system's generation; "": it is not known.
func (g generations) of(system string) string {
	for _, row := range g {
		if strings.Contains(strings.ToLower(system), row.system) {
			return row.name
		}
	}
	return ""
}

// String is the scope as people read it.
func (s Scope) String() string {
	of := ""
	if s.System != "" {
		of = " of " + s.System
	}
	return fmt.Sprintf("%s over %d ranks%s", s.Collective, s.Ranks, of)
}
