package templates

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/internal/files"
	"github.com/colltune/colltune/internal/suggest"
)

//go:embed families/*.star library/*.star
var sources embed.FS

// Family is a template with its origin.
type Family struct {
	*script.Template
	Source string // "builtin", or the file it was loaded from
}

// builtinSource is the Source of built-in families.
const builtinSource = "builtin"

// Summary is a family's entry in `template list`.
type Summary struct {
	Name        string             `json:"name"`
	Doc         string             `json:"doc"`
	Collectives []string           `json:"collectives"`
	Parameters  []script.Parameter `json:"parameters"`
	Applies     string             `json:"applies"`            // the machines it applies to, in words
	Protocol    string             `json:"protocol,omitempty"` // its own
	Source      string             `json:"source"`
}

// Summary returns the family's entry in `template list`.
func (f *Family) Summary() Summary {
	s := Summary{f.Name, f.Doc, f.Collectives, f.Parameters, f.Where, f.Protocol, f.Source}
	if s.Applies == "" {
		s.Applies = "any"
	}
	if s.Parameters == nil {
		s.Parameters = []script.Parameter{}
	}
	return s
}

// library holds the modules that templates can load, by file name.
var library = sync.OnceValue(func() map[string]string {
	modules := map[string]string{}
	for _, e := range embedded("library") {
		modules[e.name] = e.text
	}
	return modules
})

type source struct{ name, text string }

// embedded reads an embedded folder, sorted by name. It can't fail: the build
// fails first if a file is missing.
func embedded(folder string) []source {
	entries, err := sources.ReadDir(folder)
	if err != nil {
		panic(err)
	}
	all := make([]source, len(entries))
	for i, e := range entries {
		text, err := sources.ReadFile(path.Join(folder, e.Name()))
		if err != nil {
			panic(err)
		}
		all[i] = source{e.Name(), string(text)}
	}
	return all
}

// builtin is a built-in family, which is loaded when it is first needed.
type builtin struct {
	name string
	load func() *Family
}

// builtins are the built-in families, sorted by name. A file is named for its family.
var builtins = sync.OnceValue(func() []builtin {
	var all []builtin
	for _, e := range embedded("families") {
		all = append(all, builtin{strings.TrimSuffix(e.name, ".star"), sync.OnceValue(func() *Family {
			t, err := script.Load(e.name, []byte(e.text), script.Options{Library: library()})
			if err != nil {
				panic(err) // tests load every built-in family, so no release panics here
			}
			return &Family{Template: t, Source: builtinSource}
		})})
	}
	slices.SortFunc(all, func(a, b builtin) int { return strings.Compare(a.name, b.name) })
	return all
})

// Builtin returns the built-in families, sorted by name. The caller may modify the
// slice.
func Builtin() []*Family {
	var all []*Family
	for _, b := range builtins() {
		all = append(all, b.load())
	}
	return all
}

// FindBuiltin is Find among the built-in families. It loads no other than the one found.
func FindBuiltin(name, coll string) (*Family, error) {
	plain := plainName(name)
	if full, ok := aliases[plain]; ok {
		plain = plainName(full)
	}
	for _, b := range builtins() {
		if plainName(b.name) == plain {
			return Find([]*Family{b.load()}, name, coll)
		}
	}
	return Find(Builtin(), name, coll)
}

// Files returns the path of a template file itself or, of a folder, those of its *.star
// files, sorted by name. The error is about a missing path, a folder without templates, or
// one in which a *.star is not a regular file.
func Files(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, cause(err))
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	names, err := filepath.Glob(filepath.Join(globEscape(name), "*.star"))
	if err != nil {
		return nil, fmt.Errorf("template folder %s: %w", name, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("template folder %s: no *.star file in it", name)
	}
	for _, n := range names {
		if info, err := os.Stat(n); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("template %s: want a regular file", n)
		}
	}
	return names, nil
}

// Load reads the template in a file, or all *.star files of a folder in the order
// of their names. Output of print statements goes to print, unless it is nil. Errors are
// those of Files and Parse, or about two families of one name.
func Load(name string, print func(msg string)) ([]*Family, error) {
	names, err := Files(name)
	if err != nil {
		return nil, err
	}
	var all []*Family
	for _, n := range names {
		f, err := loadFile(n, print)
		if err != nil {
			return nil, err
		}
		for _, g := range all {
			if g.Name == f.Name {
				return nil, fmt.Errorf("template %s: family %s is declared in %s already", n, f.Name, g.Source)
			}
		}
		all = append(all, f)
	}
	return all, nil
}

func loadFile(name string, print func(string)) (*Family, error) {
	src, err := files.Read(name, script.MaxSource)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", name, err)
	}
	t, err := script.LoadApart(name, src, script.Options{Library: library(), Print: print})
	if err != nil {
		return nil, err
	}
	return &Family{Template: t, Source: name}, nil
}

// globEscape escapes a folder's name for use in a glob pattern.
func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// cause strips the path from a file system error, for messages that name the path
// already.
func cause(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// aliases maps other names in use for an algorithm to the family that implements
// it.
var aliases = map[string]string{
	"rhd":                      "recursive-halving-doubling",
	"halvingdoubling":          "recursive-halving-doubling",
	"recursivedoublinghalving": "recursive-halving-doubling",
	"recursivehalving":         "recursive-halving-doubling",
	"rabenseifner":             "recursive-halving-doubling",
	"binomial":                 "k-nomial",
	"vandegeijn":               "scatter-allgather",
	"pccl":                     "multi-level",
	"twolevel":                 "multi-level",
	"threelevel":               "multi-level",
	"mesh":                     "grid",
	"torus":                    "grid",
	"pipeline":                 "chain",
	"tree":                     "double-binary-tree",
	"dbtree":                   "double-binary-tree",
	"dbt":                      "double-binary-tree",
	"spanningtree":             "spanning-trees",
	"hier":                     "hierarchical",
	"p2p":                      "direct",
	"onestep":                  "direct",
}

// plainName returns a name without case, hyphens and underscores, so that spelling
// variants match.
func plainName(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// Find looks up a family by name or alias, in any spelling, and requires it to implement
// coll unless coll is empty; else it returns an error that lists what there is. Of
// families with the same name the last wins, so that users' own, which come after the
// built-in ones, replace them.
func Find(families []*Family, name, coll string) (*Family, error) {
	plain := plainName(name)
	if full, ok := aliases[plain]; ok && !slices.ContainsFunc(families, func(f *Family) bool { return plainName(f.Name) == plain }) {
		plain = plainName(full)
	}
	var names []string
	for _, f := range slices.Backward(families) {
		if plainName(f.Name) != plain {
			names = append(names, f.Name)
			continue
		}
		if coll != "" && !slices.Contains(f.Collectives, coll) {
			return nil, fmt.Errorf("family %s does not implement %s: it implements %s", f.Name, coll, strings.Join(f.Collectives, ", "))
		}
		return f, nil
	}
	slices.Sort(names)
	return nil, fmt.Errorf("unknown family %q%s: there are %s", name, suggest.DidYouMean(strings.ToLower(name), names), strings.Join(slices.Compact(names), ", "))
}

// ForCollective selects the families that implement a collective, in order.
func ForCollective(families []*Family, coll string) []*Family {
	var some []*Family
	for _, f := range families {
		if slices.Contains(f.Collectives, coll) {
			some = append(some, f)
		}
	}
	return some
}
