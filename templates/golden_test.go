package templates

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
)

var update = flag.Bool("update", false, "write the golden files anew")

// listing returns a program as a golden file has it: an operation a line.
func listing(p *lang.Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s over %d ranks, %d chunks, in place %v\n", p.Name, p.Collective.Name, p.Collective.Ranks, p.Collective.Chunks, p.Collective.InPlace)
	for i := range p.Ops {
		op := &p.Ops[i]
		verb := "copy  "
		if op.Kind == lang.Reduce {
			verb = "reduce"
		}
		fmt.Fprintf(&b, "%s %v → %v", verb, op.Src, op.Dst)
		if op.Channel >= 0 {
			fmt.Fprintf(&b, " ch=%d", op.Channel)
		}
		if op.Scope > 0 {
			fmt.Fprintf(&b, " ×%d", p.Scopes[op.Scope].Factor)
		}
		fmt.Fprintf(&b, "  %v\n", p.Pos(op))
	}
	return b.String()
}

// TestGolden compares the operations of one tiny case of every family and
// collective with testdata, line by line of the template.
func TestGolden(t *testing.T) {
	shapes := map[string]script.Machine{ // where 1 node of 3 will not do
		"hierarchical":               script.Even(2, 2),
		"two-step":                   script.Even(2, 2),
		"three-step":                 script.Even(2, 2),
		"multi-level":                script.Even(2, 2),
		"grid":                       meshMachine(false, 2, 2),
		"routed":                     meshMachine(false, 3),
		"spanning-trees":             script.Even(1, 4),
		"multi-nic":                  script.Even(2, 3),
		"recursive-halving-doubling": script.Even(1, 4),
		"double-binary-tree":         script.Even(4, 2),
	}
	chosen := map[string]map[string]any{
		"ring":         {"channels": 2},
		"all-pairs":    {"pieces": 2},
		"hierarchical": {"parallel": 2},
		"chain":        {"pieces": 2},

		"spanning-trees": {"pieces": 2, "trees": 2, "parents": [][]int{{-1, 0, 0, 1}, {-1, 3, 3, 0}}},
	}
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			t.Run(f.Name+"/"+c, func(t *testing.T) {
				m, ok := shapes[f.Name]
				if !ok {
					m = script.Even(1, 3)
				}
				given := chosen[f.Name]
				switch {
				case f.Name == "scatter-allgather":
					given = map[string]any{"gather": "ring"}
				case f.Name == "all-pairs" && c == "allgather":
					given = nil
				case f.Name == "recursive-halving-doubling" && c == "reducescatter":
					given = map[string]any{"first": "far"}
				}
				q := script.Request{Collective: c, InPlace: collective.DefaultInPlace(c)}
				for i := range collective.CountsOf(c, m.Ranks()) {
					q.Counts = append(q.Counts, []int{2, 1, 0, 3}[i%4])
				}
				if yes, why, err := f.Admits(m, q, given); !yes || err != nil {
					t.Fatalf("it does not apply: %s %v", why, err)
				}
				p, err := f.Trace(m, q, given)
				if err != nil {
					t.Fatal(err)
				}
				scratch := p.Scratch
				got, name := listing(p), filepath.Join("testdata", f.Name+"-"+c+".golden")
				if *update {
					if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s differs; got\n%s", name, got)
				}
				q.Sketch = true
				if p, err := f.Trace(m, q, given); err != nil || listing(p) != got || !slices.Equal(p.Scratch, scratch) {
					t.Errorf("the sketch differs: %v", err)
				}
			})
		}
	}
}
