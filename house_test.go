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

func TestImportsPointDown(t *testing.T) {
	const module = "github.com/colltune/colltune/"
	floor := map[string]int{}
	for i, rooms := range floors {
		for _, r := range rooms {
			floor[r] = i
		}
	}
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
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
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, "./compiler/verify").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range strings.Fields(string(out)) {
		if p, ours := strings.CutPrefix(imp, "github.com/colltune/colltune/"); ours && p != "compiler/ir" && p != "compiler/collective" {
			t.Errorf("compiler/verify imports %s", p)
		}
	}
}
