package templates

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
)

func TestFind(t *testing.T) {
	families := Builtin()
	for _, c := range []struct{ name, coll, want, err string }{
		{name: "ring", coll: "allreduce", want: "ring"},
		{name: "Ring", want: "ring"},
		{name: "allpairs", want: "all-pairs"},
		{name: "all_pairs", want: "all-pairs"},
		{name: "ALL-PAIRS", want: "all-pairs"},
		{name: "rhd", want: "recursive-halving-doubling"},
		{name: "dbtree", want: "double-binary-tree"},
		{name: "twostep", coll: "alltoall", want: "two-step"},
		{name: "two_step", want: "two-step"},
		{name: "p2p", want: "direct"},
		{name: "binomial", coll: "gather", want: "k-nomial"},
		{name: "Recursive-Doubling", want: "recursive-doubling"},
		{name: "pccl", coll: "allgather", want: "multi-level"},
		{name: "rnig", err: `unknown family "rnig" (did you mean ring?): there are all-pairs, bruck, chain, direct,`},
		{name: "zzzzzz", err: `unknown family "zzzzzz": there are`},
		{name: "ring", coll: "alltoall", err: "family ring does not implement alltoall: it implements allreduce, allgather, reducescatter"},
	} {
		f, err := Find(families, c.name, c.coll)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %s", c.name, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case f.Name != c.want:
			t.Errorf("%s: found %s, want %s", c.name, f.Name, c.want)
		}
	}
}

func TestAliasesNameFamilies(t *testing.T) {
	for alias, name := range aliases {
		if f, err := Find(Builtin(), alias, ""); err != nil || f.Name != name {
			t.Errorf("%s: %v", alias, err)
		}
		if alias != plainName(alias) {
			t.Errorf("%s is not plain, and is never found", alias)
		}
	}
}

const own = `"""A family of the user's own."""
load("rings.star", "AllGather")
family(name = "ring", collectives = ["allreduce"])
def program(topo, p):
    for r in range(1, topo.ranks):
        chunk(0, "in", 0).reduce(chunk(r, "in", 0))
    for r in range(1, topo.ranks):
        chunk(0, "in", 0).copy(r, "in", 0)
`

// TestFindBuiltin finds by any name what Find finds among all families.
func TestFindBuiltin(t *testing.T) {
	names := []string{"Recursive-Doubling", "rnig", "zzzzzz"}
	for _, f := range Builtin() {
		names = append(names, f.Name)
	}
	for alias := range aliases {
		names = append(names, alias)
	}
	for _, name := range names {
		for _, coll := range []string{"", "alltoall"} {
			want, refused := Find(Builtin(), name, coll)
			got, err := FindBuiltin(name, coll)
			if got != want || fmt.Sprint(err) != fmt.Sprint(refused) {
				t.Errorf("%s for %q: %v, %v; want %v, %v", name, coll, got, err, want, refused)
			}
		}
	}
}

func TestLoadFilesAndFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd [name]*")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := Load(dir, nil); err == nil || !strings.Contains(err.Error(), "no *.star file in it") {
		t.Errorf("empty folder: %v", err)
	}
	path := write("a.star", own)
	write("b.star", strings.Replace(own, `"ring"`, `"star"`, 1))
	write("notes.txt", "not a template")
	one, err := Load(path, nil)
	if err != nil || len(one) != 1 || one[0].Source != path || one[0].Doc != "A family of the user's own." {
		t.Fatalf("file: %+v, %v", one, err)
	}
	all, err := Load(dir, nil)
	if err != nil || len(all) != 2 || all[1].Name != "star" {
		t.Fatalf("folder: %+v, %v", all, err)
	}
	// The user's own goes before the built-in one of its name.
	f, err := Find(append(Builtin(), all...), "ring", "")
	if err != nil || f != all[0] {
		t.Errorf("ring is %v, %v", f, err)
	}
	if _, err := f.Trace(script.Even(1, 3), script.Request{Collective: "allreduce", InPlace: true}, nil); err != nil {
		t.Error(err)
	}
	if text, err := f.Text(); err != nil || text != own {
		t.Errorf("text %q, %v", text, err)
	}
	write("c.star", own)
	if _, err := Load(dir, nil); err == nil || !strings.Contains(err.Error(), "family ring is declared in") {
		t.Errorf("declared twice: %v", err)
	}
	broken := write("d.star", "family(")
	if _, err := Load(broken, nil); err == nil || !strings.HasPrefix(err.Error(), broken+":1:8: ") {
		t.Errorf("broken file: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "none.star"), nil); err == nil || strings.Count(err.Error(), "none.star") != 1 {
		t.Errorf("missing file: %v", err)
	}
}

func TestGrid(t *testing.T) {
	ring, err := Find(Builtin(), "ring", "allreduce")
	if err != nil {
		t.Fatal(err)
	}
	list := func(grid []script.Params) string {
		var all []string
		for _, p := range grid {
			all = append(all, p.String())
		}
		return strings.Join(all, "; ")
	}
	for _, c := range []struct {
		m     script.Machine
		fixed map[string]string
		want  string
		err   string
	}{
		{script.Even(1, 4), nil, "channels=1 rings=1; channels=2 rings=1; channels=4 rings=1", ""},
		{script.Even(2, 2), nil, "channels=1 rings=1; channels=1 rings=2; channels=2 rings=1; channels=2 rings=2; channels=4 rings=1; channels=4 rings=2", ""},
		{script.Even(1, 4), map[string]string{"channels": "2", "order": "0,2,1,3"}, "channels=2 order=0,2,1,3 rings=1", ""},
		{script.Even(1, 4), map[string]string{"channels": "2", "order": "0,2,1,3;0,1,2,3", "rings": "2"}, "channels=2 order=0,2,1,3;0,1,2,3 rings=2", ""},
		{script.Even(1, 4), map[string]string{"order": "0,1,2"}, "", ""},
		{script.Even(1, 1), nil, "", ""},
		{script.Even(1, 4), map[string]string{"chanels": "2"}, "", "ring has no parameter chanels (did you mean channels?)"},
		{script.Even(1, 4), map[string]string{"channels": "3"}, "", "ring: parameter channels=3: want 1, 2, 4, 8"},
	} {
		grid, err := ring.Grid(c.m, "allreduce", c.fixed)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%v: error %v, want %s", c.fixed, err, c.err)
		}
		if got := list(grid); got != c.want {
			t.Errorf("%v %v:\n%s\nwant\n%s", c.m.GPUsPerNode, c.fixed, got, c.want)
		}
	}
	if holes := ring.Holes(); len(holes) != 1 || holes[0].Name != "order" || holes[0].Hole != script.HoleRings {
		t.Errorf("holes %+v", holes)
	}
}

// TestFirstOfAGrid: it is the grid's first set of parameters, and where the grid is
// empty there is a reason.
func TestFirstOfAGrid(t *testing.T) {
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			for _, m := range []script.Machine{script.Even(1, 1), script.Even(1, 3), script.Even(3, 4)} {
				q := script.Request{Collective: c, InPlace: collective.DefaultInPlace(c)}
				grid, err := f.GridFor(m, q, nil, 1)
				if err != nil {
					t.Fatal(err)
				}
				first, why, err := f.First(m, q)
				switch {
				case err != nil:
					t.Error(err)
				case len(grid) == 0 && (why == "" || first != nil):
					t.Errorf("%s %s on %v: %v, %q; want a reason", f.Name, c, m.GPUsPerNode, first, why)
				case len(grid) > 0 && (why != "" || !reflect.DeepEqual(first, grid[0])):
					t.Errorf("%s %s on %v: %v, %q; want %v", f.Name, c, m.GPUsPerNode, first, why, grid[0])
				}
			}
		}
	}
}

// TestGridAtOnce: neither the grid nor the error depends on how many sets are looked at at a
// time.
func TestGridAtOnce(t *testing.T) {
	f, err := Parse("odd.star", []byte(`
family(name = "odd", collectives = ["broadcast"], parameters = {"a": between(1, 200), "most": choice(200, 90)})
def applies(topo, p):
    if p.a > p.most:
        fail("a is %d" % p.a)
    return p.a % 3 == 0
def program(topo, p):
    pass
`))
	if err != nil {
		t.Fatal(err)
	}
	f = &Family{Template: f.Template, Source: builtinSource} // without a budget
	q := script.Request{Collective: "broadcast", InPlace: true}
	for most, want := range map[string]string{"200": "", "90": "a is 91"} {
		for _, jobs := range []int{1, 7} {
			grid, err := f.GridFor(script.Even(1, 2), q, map[string]string{"most": most}, jobs)
			switch {
			case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%d jobs: %v, want %s", jobs, err, want)
			case want == "" && (err != nil || len(grid) != 66 || grid[65]["a"] != 198):
				t.Errorf("%d jobs: %v, %v", jobs, grid, err)
			}
		}
	}
}

func TestGridTooLarge(t *testing.T) {
	f, err := Parse("wide.star", []byte(`
family(name = "wide", collectives = ["allgather"], parameters = {"a": between(1, 4096), "b": between(1, 4096)})
def program(topo, p):
    pass
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Grid(script.Even(1, 2), "allgather", nil); err == nil || !strings.Contains(err.Error(), "wide: more than 16384 sets of parameters") {
		t.Errorf("error %v", err)
	}
	if grid, err := f.Grid(script.Even(1, 2), "allgather", map[string]string{"a": "7", "b": "4096"}); err != nil || len(grid) != 1 {
		t.Errorf("fixed: %v, %v", grid, err)
	}
}

// TestGridTooLong: what a family may take to say where it applies is counted
// for all of its parameters together, and so is what its program takes for
// them.
func TestGridTooLong(t *testing.T) {
	text := `
family(name = "slow", collectives = ["broadcast"], parameters = {"a": between(1, 4096)})
def slow():
    for i in range(650000):
        pass
def applies(topo, p):
    slow()
    return True
def program(topo, p):
    for r in range(topo.ranks):
        chunk(topo.root, "in", 0).copy(r, "out", 0)
`
	const want = "too many steps for all sets of parameters together: want at most 33587200 of the interpreter (fix some parameters, or have fewer values)"
	m, q := script.Even(1, 2), script.Request{Collective: "broadcast"}
	slow, err := Parse("slow.star", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := slow.GridFor(m, q, nil, 1); err == nil || !strings.HasPrefix(err.Error(), "slow.star") || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v", err)
	}
	for range 2 { // each enumeration has a budget of its own
		if grid, err := slow.GridFor(m, q, map[string]string{"a": "7"}, 1); err != nil || len(grid) != 1 {
			t.Errorf("fixed: %v, %v", grid, err)
		}
	}
	for _, f := range Builtin() {
		if f.Budgeted(m).Limited() {
			t.Errorf("%s has a budget", f.Name)
		}
	}
	// With the grid cheap, the programs run into the same budget.
	moved := strings.Replace(strings.Replace(text, "    slow()\n", "", 1), "    for r in", "    slow()\n    for r in", 1)
	quick, err := Parse("quick.star", []byte(moved))
	if err != nil {
		t.Fatal(err)
	}
	quick = quick.Budgeted(m)
	grid, err := quick.GridFor(m, q, nil, 1)
	if err != nil || len(grid) != 4096 {
		t.Fatal(len(grid), err)
	}
	traced := 0
	for _, p := range grid {
		if _, err = quick.Trace(m, q, p); err != nil {
			break
		}
		traced++
	}
	if err == nil || !strings.Contains(err.Error(), want) || traced < 8 || traced > 11 {
		t.Errorf("%d programs, then %v", traced, err)
	}
}

// TestMissingLinksAreReasons takes one link out of every two-node machine and
// asks every family: it must say why it does not apply, or trace.
func TestMissingLinksAreReasons(t *testing.T) {
	refused := map[string]bool{}
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			for a := range 4 {
				for b := range 4 {
					m := script.Even(2, 2)
					m.Linked = func(x, y int) bool { return x != a || y != b }
					yes, why, err := f.Applies(m, c, 0)
					if err != nil {
						t.Fatal(err)
					}
					if !yes {
						refused[f.Name] = true
						if !strings.Contains(why, "link") && !strings.Contains(why, "cannot pass") && !strings.Contains(why, "begins with") {
							t.Errorf("%s %s without %d→%d: %s", f.Name, c, a, b, why)
						}
						continue
					}
					grid, err := f.Grid(m, c, nil)
					if err != nil {
						t.Fatal(err)
					}
					for _, p := range grid {
						if _, err := f.Trace(m, script.Request{Collective: c, InPlace: c == "allreduce" || c == "reduce" || c == "broadcast"}, p); err != nil {
							t.Errorf("%s %s without %d→%d, %v: %v", f.Name, c, a, b, p, err)
						}
					}
				}
			}
		}
	}
	for _, f := range Builtin() {
		if !refused[f.Name] {
			t.Errorf("%s applies without any of its links", f.Name)
		}
	}
}

func TestSummaries(t *testing.T) {
	for _, f := range Builtin() {
		s := f.Summary()
		if s.Doc == "" || s.Applies == "any" && f.Where == "" || s.Source != "builtin" {
			t.Errorf("%s: %+v", f.Name, s)
		}
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := json.Unmarshal(doc, &back); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"name", "collectives", "parameters", "applies", "source"} {
			if back[key] == nil {
				t.Errorf("%s: no %s in %s", f.Name, key, doc)
			}
		}
		for _, p := range f.Parameters {
			if p.Doc == "" {
				t.Errorf("%s: parameter %s has no doc", f.Name, p.Name)
			}
		}
	}
	if !slices.IsSortedFunc(Builtin(), func(a, b *Family) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the families are not in order")
	}
}

// A built-in family is what a user's copy of it is, which is traced in a child.
func TestBuiltinFamiliesAsUsersOwn(t *testing.T) {
	traced := 0
	for _, f := range Builtin() {
		text, err := f.Text()
		if err != nil {
			t.Fatal(err)
		}
		mine, err := Parse(f.Name+".star", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		for _, coll := range f.Collectives {
			q := script.Request{Collective: coll, InPlace: collective.DefaultInPlace(coll)}
			if slices.Contains(collective.VectorForms(), coll) { // which want counts
				continue
			}
			want, wantErr := f.Trace(script.Even(2, 2), q, nil)
			got, gotErr := mine.Trace(script.Even(2, 2), q, nil)
			if gotErr == nil {
				traced++
			}
			switch {
			case (gotErr == nil) != (wantErr == nil):
				t.Errorf("%s %s: a copy gives %v, the built-in family %v", f.Name, coll, gotErr, wantErr)
			case gotErr == nil && !slices.Equal(got.Ops, want.Ops):
				t.Errorf("%s %s: a copy moves other chunks than the built-in family", f.Name, coll)
			}
		}
	}
	if traced < 30 {
		t.Errorf("%d programs traced: want 30 or more", traced)
	}
}
