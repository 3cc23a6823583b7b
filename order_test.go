package colltune

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mostForward is the largest share of a package's references between its files that may
// run to a later file, in the order in which doc.go lists them.
var mostForward = map[string]float64{
	"search":            0.03,
	"search/program":    0.05,
	"search/library":    0.05,
	"cmd/colltune":      0.15,
	"constraints/synth": 0.15,
}

// A package's doc.go lists its files in an order in which they can be read: most of what a
// file refers to stands in the files before it.
func TestFilesCanBeReadInOrder(t *testing.T) {
	for dir, most := range mostForward {
		order, err := fileOrder(dir)
		if err != nil {
			t.Fatal(err)
		}
		refs, files, err := references(dir)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(files)
		if listed := slices.Sorted(slices.Values(order)); !slices.Equal(listed, files) {
			t.Errorf("%s/doc.go lists %v: want each file once, and the package has %v", dir, order, files)
			continue
		}
		all, forward := 0, map[string]int{}
		sum := 0
		for r, n := range refs {
			all += n
			if slices.Index(order, r.from) < slices.Index(order, r.to) {
				sum += n
				forward[r.from+" -> "+r.to] += n
			}
		}
		share := float64(sum) / float64(all)
		t.Logf("%s: %d of %d references between files run to a later one, %.1f %%", dir, sum, all, 100*share)
		if share > most {
			t.Errorf("%s: %.1f %% of the references between files run to a later one: want at most %.0f %%; they are %v", dir, 100*share, 100*most, forward)
		}
	}
}

// fileOrder is the list of files in a package's doc.go: all words that end in .go, in a
// paragraph that begins with Files.
func fileOrder(dir string) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "doc.go"), nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return nil, err
	}
	_, list, found := strings.Cut(file.Doc.Text(), "\nFiles")
	if !found {
		return nil, fmt.Errorf("%s/doc.go: no paragraph that begins with Files", dir)
	}
	return regexp.MustCompile(`\b[a-z0-9_]+\.go\b`).FindAllString(list, -1), nil
}

// reference is from a file to what another one of the package declares.
type reference struct{ from, to string }

// references counts the uses of what is declared in another file of the package, tests and
// doc.go left out. Other packages are not loaded, so a method or field that is reached
// through one of their types is not counted.
func references(dir string) (map[reference]int, []string, error) {
	set := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, nil, err
	}
	var files []*ast.File
	var names []string
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") || name == "doc.go" {
			continue
		}
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		files, names = append(files, f), append(names, name)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check(dir, set, files, info)
	refs := map[reference]int{}
	for id, of := range info.Uses {
		if of.Pkg() != pkg || of.Parent() != pkg.Scope() && !isMember(of) {
			continue
		}
		if r := (reference{filepath.Base(set.Position(id.Pos()).Filename), filepath.Base(set.Position(of.Pos()).Filename)}); r.from != r.to {
			refs[r]++
		}
	}
	return refs, names, nil
}

// noImports gives no package.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not loaded", path)
}

// isMember reports whether an object is a field or a method.
func isMember(o types.Object) bool {
	switch o := o.(type) {
	case *types.Var:
		return o.IsField()
	case *types.Func:
		return true
	}
	return false
}
