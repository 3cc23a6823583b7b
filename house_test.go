package colltune

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors are the rooms from the ground up. A package may import packages of
// lower floors and of its own room, never of another room on its own floor.
var floors = [][]string{
	{"internal"},
	{"compiler", "topologies"},
	{"executor", "results", "constraints"},
	{"autotune", "templates"},
	{"search"},
	{"cmd"},
}

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
	"constraints/internal/published",
	"constraints/solver/solvertest",
	"executor/cpu/mpi/mpitest",
	"executor/cuda/internal/ptxtest",
	"executor/executortest",
	"internal/filetest",
	"results/resultstest",
	"topologies/topotest",
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
	if len(all) < len(floors) {
		t.Fatalf("go list named %d packages: too few to be all of them", len(all))
	}
	return all
}

func TestImportsPointDown(t *testing.T) {
	floor := map[string]int{}
	for i, rooms := range floors {
		for _, r := range rooms {
			floor[r] = i
		}
	}
	for _, p := range packages(t) {
		room, _, _ := strings.Cut(p.ImportPath, "/")
		at, known := floor[room]
		if !known {
			t.Errorf("%s is in none of the rooms", p.ImportPath)
			continue
		}
		// The compiler's verifier and the solvers' checker are oracles of the
		// rooms they judge: what a test imports keeps to the same rule.
		for _, imp := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			other, _, _ := strings.Cut(imp, "/")
			if other != room && floor[other] >= at {
				t.Errorf("%s imports %s, which is not below it", p.ImportPath, imp)
			}
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
