package colltune

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
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

func TestImportsPointDown(t *testing.T) {
	const module = "github.com/colltune/colltune/"
	floor := map[string]int{}
	for i, rooms := range floors {
		for _, r := range rooms {
			floor[r] = i
		}
	}
	out := goList(t, "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(out)); ; {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		path, inside := strings.CutPrefix(p.ImportPath, module)
		if !inside {
			continue // this package
		}
		seen++
		room, _, _ := strings.Cut(path, "/")
		at, known := floor[room]
		if !known {
			t.Errorf("%s is in none of the rooms", path)
			continue
		}
		// The compiler's verifier and the solvers' checker are oracles of the
		// rooms they judge: what a test imports keeps to the same rule.
		for _, imp := range append(append(p.Imports, p.TestImports...), p.XTestImports...) {
			imported, ours := strings.CutPrefix(imp, module)
			if !ours {
				continue
			}
			other, _, _ := strings.Cut(imported, "/")
			if other != room && floor[other] >= at {
				t.Errorf("%s imports %s, which is not below it", path, imported)
			}
		}
	}
	if seen < len(floor) {
		t.Errorf("go list named %d packages: too few to be all of them", seen)
	}
}

// TestVerifierSharesNoCode keeps the oracle independent: the verifier may know
// the IR and the collectives, nothing else of the compiler.
func TestVerifierSharesNoCode(t *testing.T) {
	out := goList(t, "-f", `{{join .Imports "\n"}}`, "./compiler/verify")
	for _, imp := range strings.Fields(out) {
		if p, ours := strings.CutPrefix(imp, "github.com/colltune/colltune/"); ours && p != "compiler/ir" && p != "compiler/collective" {
			t.Errorf("compiler/verify imports %s", p)
		}
	}
}
