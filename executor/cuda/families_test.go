package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/topologies"
)

// family is a program of the repository's families, compiled.
type family struct {
	name    string
	program *ir.Program
}

// families compiles every family and collective for a machine, with the
// parameters' defaults, as the templates say they apply.
func families(t *testing.T, nodes, gpus int, proto topologies.Proto) []family {
	t.Helper()
	return instances(t, nodes, gpus, proto, 1)
}

// instances is the same, replicated.
func instances(t *testing.T, nodes, gpus int, proto topologies.Proto, n int) (all []family) {
	t.Helper()
	library := map[string]string{}
	for _, f := range glob(t, "../../templates/library/*.star") {
		library[filepath.Base(f)] = readText(t, f)
	}
	m := script.Even(nodes, gpus)
	for _, f := range glob(t, "../../templates/families/*.star") {
		template, err := script.Load(filepath.Base(f), []byte(readText(t, f)), script.Options{Library: library})
		if err != nil {
			t.Fatal(err)
		}
		for _, coll := range template.Collectives {
			for _, inPlace := range []bool{false, true} {
				p := compiled(t, template, m, coll, inPlace, proto, n)
				if p == nil {
					continue
				}
				name := fmt.Sprintf("%s/%s/%dx%d", strings.TrimSuffix(filepath.Base(f), ".star"), coll, nodes, gpus)
				if inPlace {
					name += "/in-place"
				}
				all = append(all, family{name, p})
			}
		}
	}
	if len(all) < 5 {
		t.Fatalf("only %d programs of the families for %dx%d", len(all), nodes, gpus)
	}
	return all
}

// compiled is nil where the family does not apply.
func compiled(t *testing.T, template *script.Template, m script.Machine, coll string, inPlace bool, proto topologies.Proto, instances int) *ir.Program {
	t.Helper()
	q := script.Request{Collective: coll, InPlace: inPlace}
	applies, _, err := template.Admits(m, q, nil)
	if err != nil || !applies {
		return nil
	}
	traced, err := template.Trace(m, q, nil)
	if err != nil {
		return nil // no in-place form
	}
	r, err := compiler.Compile(traced, compiler.Options{Instances: instances})
	if err != nil && instances > 1 {
		return nil // more channels than there are
	}
	if err != nil {
		t.Fatalf("%s %s: %v", template.Name, coll, err)
	}
	if err := verify.Check(r.Program, verify.Options{Slots: int(wires[proto].slots)}).Err(); err != nil {
		return nil // needs more slots than this protocol has
	}
	return r.Program
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v, %d files", pattern, err, len(files))
	}
	return files
}

func readText(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
