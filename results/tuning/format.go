package tuning

import (
	"fmt"
	"slices"
	"strings"
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
	// Nodes and System report whether entries tell numbers of nodes, and systems, apart.
	Nodes, System bool
	// Each asks for a rule for each size that was measured, even where neighbours are equal.
	Each bool
	// Write makes the files of rules that Lacks admits, in order of scope and size, without
	// overlaps; head are lines of comment. told says where the files differ from the rules.
	Write func(rules []Rule, head []string) (files []File, told []string)
	Read  func(name string, text []byte) (Reader, error)
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
func Names() (names []string) {
	for _, f := range Formats {
		names = append(names, f.Name)
	}
	return names
}

// Named returns the format of a name.
func Named(name string) (*Format, error) {
	i := slices.IndexFunc(Formats, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("unknown format %.40q: want one of %s", name, strings.Join(Names(), ", "))
	}
	return &Formats[i], nil
}

// scopes splits rules into those of each scope, in order.
func scopes(rules []Rule) (all [][]Rule) {
	for len(rules) > 0 {
		n := 1
		for n < len(rules) && rules[n].Scope == rules[0].Scope {
			n++
		}
		all = append(all, rules[:n])
		rules = rules[n:]
	}
	return all
}

// String is the scope as people read it.
func (s Scope) String() string {
	of := ""
	if s.System != "" {
		of = " of " + s.System
	}
	return fmt.Sprintf("%s over %d ranks%s", s.Collective, s.Ranks, of)
}
