package colltune

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// goList is what go list says, or why it says nothing.
func goList(t *testing.T, args ...string) string {
	t.Helper()
	var out, told strings.Builder
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &told
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list: %v\n%s", err, &told)
	}
	return out.String()
}

// testOnly lists the packages that only tests need, and that only tests may import.
var testOnly = []string{
	"compiler/ir/irtest",
	"constraints/internal/contexttest",
	"constraints/internal/formulatest",
	"constraints/internal/publishedtest",
	"constraints/solver/solvertest",
	"executor/cuda/internal/ptxtest",
	"executor/executortest",
	"executor/executortest/liar",
	"executor/measured/measuredtest",
	"internal/filetest",
	"results/resultstest",
	"results/tuning/tuningtest",
	"topologies/topotest", "topologies/topotest/reported",
}

const modulePath = "github.com/colltune/colltune/"

// listed is a package of this module, as go list describes it. Paths are relative
// to the module.
type listed struct {
	Name, ImportPath                   string
	Imports, TestImports, XTestImports []string
}

// packages lists the packages below this one, with their imports of each other only.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	out := goList(t, "-json=Name,ImportPath,Imports,TestImports,XTestImports", "./...")
	ours := func(imports []string) (paths []string) {
		for _, imp := range imports {
			if p, ok := strings.CutPrefix(imp, modulePath); ok {
				paths = append(paths, p)
			}
		}
		return paths
	}
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path, inside := strings.CutPrefix(p.ImportPath, modulePath)
		if !inside {
			continue // this package
		}
		all = append(all, listed{p.Name, path, ours(p.Imports), ours(p.TestImports), ours(p.XTestImports)})
	}
	if len(all) < 50 {
		t.Fatalf("go list named %d packages: too few to be all of them", len(all))
	}
	return all
}

// row is a package of ARCHITECTURE.md's table.
type row struct {
	layer   int
	what    string
	imports []string // of its own room
}

// tableRow is | layer | `package` | what it is | `import`, … |.
var tableRow = regexp.MustCompile("(?m)^\\| ([0-9]) \\| `([a-z0-9/]+)` \\| (.+) \\| (.*) \\|$")

// longestCell is the most characters that ARCHITECTURE.md has to say of a package.
const longestCell = 120

// architecture reads the table of ARCHITECTURE.md, and the layer of each room.
func architecture(t *testing.T) (rows map[string]row, layers map[string]int) {
	t.Helper()
	rows, layers = map[string]row{}, map[string]int{}
	for _, m := range tableRow.FindAllStringSubmatch(read(t, "ARCHITECTURE.md"), -1) {
		path, what := m[2], m[3]
		layer, _ := strconv.Atoi(m[1])
		if _, twice := rows[path]; twice {
			t.Errorf("ARCHITECTURE.md has two rows of %s", path)
		}
		if n := utf8.RuneCountInString(what); n > longestCell {
			t.Errorf("ARCHITECTURE.md says %d characters of %s: want at most %d", n, path, longestCell)
		}
		var imports []string
		for _, name := range strings.Fields(strings.ReplaceAll(m[4], ",", "")) {
			imports = append(imports, strings.Trim(name, "`"))
		}
		rows[path] = row{layer, what, imports}
		room := roomOf(path)
		if other, known := layers[room]; known && other != layer {
			t.Errorf("ARCHITECTURE.md has %s in layer %d, and others of its room in %d", path, layer, other)
		}
		layers[room] = layer
	}
	if len(rows) < 50 {
		t.Fatalf("ARCHITECTURE.md has %d rows of packages: too few to be all of them", len(rows))
	}
	return rows, layers
}

// roomOf is the top-level folder of a package.
func roomOf(path string) string {
	room, _, _ := strings.Cut(path, "/")
	return room
}

// TestArchitecture holds the packages and their imports to the table of ARCHITECTURE.md.
func TestArchitecture(t *testing.T) {
	rows, layers := architecture(t)
	there := map[string]bool{}
	for _, p := range packages(t) {
		there[p.ImportPath] = true
		room := roomOf(p.ImportPath)
		if layers[room] == 0 {
			t.Errorf("%s is in none of the rooms", p.ImportPath)
			continue
		}
		// The compiler's verifier and the solvers' checker are oracles of the rooms they
		// judge: what a test imports keeps to the layers, too.
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if other := roomOf(imp); other != room && layers[other] >= layers[room] {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, imp)
			}
		}
		if slices.Contains(testOnly, p.ImportPath) {
			continue
		}
		var own []string
		for _, imp := range p.Imports {
			if roomOf(imp) == room {
				own = append(own, strings.TrimPrefix(imp, room+"/"))
			}
		}
		if r, listed := rows[p.ImportPath]; !listed || !slices.Equal(r.imports, own) {
			cell := ""
			if len(own) > 0 {
				cell = "`" + strings.Join(own, "`, `") + "`"
			}
			t.Errorf("%s imports other packages of its room than ARCHITECTURE.md allows: the row would be\n| %d | `%s` | %s | %s |",
				p.ImportPath, layers[room], p.ImportPath, cmp.Or(r.what, "what it is"), cell)
		}
	}
	for path := range rows {
		if !there[path] {
			t.Errorf("ARCHITECTURE.md has a row of %s, which is not there", path)
		}
	}
}

// TestOnlyTestsImport holds the list of test-only packages to the imports: product
// code imports none of them, and all that it does not need is on the list.
func TestOnlyTestsImport(t *testing.T) {
	needed := map[string]bool{}
	all := packages(t)
	for _, p := range all {
		if slices.Contains(testOnly, p.ImportPath) {
			continue
		}
		for _, imp := range p.Imports {
			needed[imp] = true
			if slices.Contains(testOnly, imp) {
				t.Errorf("%s imports %s, which only tests may import", p.ImportPath, imp)
			}
		}
	}
	there := map[string]bool{}
	for _, p := range all {
		there[p.ImportPath] = true
		if p.Name != "main" && !needed[p.ImportPath] && !slices.Contains(testOnly, p.ImportPath) {
			t.Errorf("only tests import %s: list it in testOnly", p.ImportPath)
		}
	}
	for _, path := range testOnly {
		if !there[path] {
			t.Errorf("testOnly lists %s, which is not there", path)
		}
	}
}

// TestVerifierSharesNoCode keeps the oracle independent: the verifier may know
// the IR and the collectives, nothing else of the compiler.
func TestVerifierSharesNoCode(t *testing.T) {
	out := goList(t, "-f", `{{join .Imports "\n"}}`, "./compiler/verify")
	for _, imp := range strings.Fields(out) {
		if p, ours := strings.CutPrefix(imp, modulePath); ours && p != "compiler/ir" && p != "compiler/collective" {
			t.Errorf("compiler/verify imports %s", p)
		}
	}
}

// TestPatternsAreLazy keeps regular expressions from being compiled at the start of every
// process: see package lazyregexp.
func TestPatternsAreLazy(t *testing.T) {
	global := regexp.MustCompile(`(?m)^(?:var |\t)\w+ *= regexp\.MustCompile\(`)
	for _, file := range textFiles(t) {
		if strings.HasSuffix(file, "_test.go") || filepath.Ext(file) != ".go" || strings.HasPrefix(file, "cmd/lab/") {
			continue
		}
		if at := global.FindString(read(t, file)); at != "" {
			t.Errorf("%s compiles a pattern at the start: %q; use lazyregexp.New", file, strings.TrimSpace(at))
		}
	}
}
