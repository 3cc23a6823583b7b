package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/results"
)

// What is what a row's sizes run, in words: all-pairs ×8 LL; ring, 2 rings ×16 LL128; of the library's
// own algorithms NCCL ring LL, 32 channels. Parameters are named where they are not the first of their
// family's choices; orders and trees of many ranks never.
func (r *Row) What() string {
	if r.isSetting() {
		return r.settingWords()
	}
	if r.Source == results.SourceNative {
		return r.ownAlgorithm()
	}
	text := strings.Join(append([]string{r.Algorithm}, ParameterWords(r.Algorithm, r.Parameters)...), ", ")
	if r.Instances > 1 {
		text += fmt.Sprintf(" ×%d", r.Instances)
	}
	return strings.TrimSpace(text + " " + r.Protocol)
}

// ownAlgorithm is a library's algorithm with its settings: NCCL, 32 channels where the library would
// choose the same algorithm and protocol, else NCCL ring LL, 32 channels.
func (r *Row) ownAlgorithm() string {
	name := libraryOf(r.BaselineRelease)
	algorithm, rest, _ := strings.Cut(orEmpty(r.Baseline), " ") // ring of ring ×24 LL
	own := r.Algorithm == algorithm && strings.HasSuffix(" "+rest, " "+r.Protocol)
	if !own || name == "" {
		name = strings.TrimSpace(name + " " + r.Algorithm)
		if r.Protocol != "" && r.Protocol != results.ProtocolAuto {
			name += " " + r.Protocol
		}
	}
	words := ParameterWords(r.Algorithm, r.Parameters)
	if _, told := r.Parameters["channels"]; r.Channels > 0 && !told {
		words = append(words, fmt.Sprintf("%d channels", r.Channels))
	}
	return strings.Join(append([]string{name}, words...), ", ")
}

// libraryOf is the library of a release: NCCL of nccl-2.32.3. Empty without one.
func libraryOf(release *string) string {
	name, _, _ := strings.Cut(orEmpty(release), "-")
	return strings.ToUpper(name)
}

// parameter is how a parameter of families reads.
type parameter struct {
	words string // with * for the value; empty: never named
	usual string // the first of the choices, which goes without saying; several with | between
}

// parameterWords is the table of parameters that read in words of their own. A family's own, such as
// multi-level.local, goes before that of all.
var parameterWords = map[string]parameter{
	"apart":                    {"channels apart", "false"},
	"channels":                 {"* channels", "1"},
	"chunks":                   {"* chunks", "1"},
	"cross":                    {"* between nodes", "recursive|1"},
	"ctas":                     {"* CTAs", ""},
	"double-binary-tree.local": {"* in nodes", "chain"},
	"first":                    {"* first", "near"},
	"for":                      {"", ""},
	"gather":                   {"* gather", "ring"},
	"groups":                   {"* groups", "1"},
	"hierarchical.apart":       {"channels by *", "phase"},
	"local":                    {"* in nodes", "ring"},
	"nics":                     {"", ""},
	"order":                    {"", ""},
	"parallel":                 {"* in parallel", "1"},
	"parents":                  {"", ""},
	"parts":                    {"in * part", "all"},
	"phases":                   {"* phase", "2"},
	"pieces":                   {"pieces *", "1"},
	"radix":                    {"radix *", "2"},
	"rings":                    {"* rings", "1"},
	"rounds":                   {"* rounds", ""},
	"shuffle":                  {"no shuffle", "true"},
	"sms":                      {"", ""}, // a column says it
	"steps":                    {"* steps", ""},
	"top":                      {"* between groups", "recursive"},
	"trees":                    {"* trees", "1"},
}

// longestValue is the most characters of a value that is named.
const longestValue = 20

// ParameterWords are a program's parameters in words, those that are not the first of their family's
// choices: 2 rings, pieces 4.
func ParameterWords(family string, parameters map[string]any) (words []string) {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		_, value, _ := strings.Cut(ParametersText(map[string]any{name: parameters[name]}), "=")
		p, known := parameterWords[family+"."+name]
		if !known {
			p, known = parameterWords[name]
		}
		switch {
		case known && (p.words == "" || slices.Contains(strings.Split(p.usual, "|"), value)), strings.HasPrefix(value, "["):
		case known:
			words = append(words, strings.ReplaceAll(p.words, "*", value))
		case len(value) <= longestValue:
			words = append(words, name+" "+value)
		}
	}
	return words
}

// whatOf names what several rows run: one name, or their algorithms.
func whatOf(rows []*Row) string {
	if all := unique(lists.Map(rows, (*Row).What)); len(all) == 1 {
		return all[0]
	}
	return strings.Join(unique(lists.Map(rows, func(r *Row) string { return r.Algorithm })), ", ")
}

// unique are the texts without repetitions, in their order.
func unique(all []string) (some []string) {
	for _, s := range all {
		if s != "" && !slices.Contains(some, s) {
			some = append(some, s)
		}
	}
	return some
}
