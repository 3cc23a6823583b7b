package script

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const paramsText = `
"""  All kinds of parameters.

More text.
"""
family(
    name = "kinds",
    collectives = ["allgather", "broadcast"],
    where = "anywhere",
    parameters = {
        "channels": choice(1, 2, 4, default = 2, doc = "how many"),
        "shape": choice("chain", "tree"),
        "wide": choice(True, False),
        "pieces": between(3, 9, default = 5),
        "order": ring_order(doc = "the ring"),
        "local": node_ring_order(),
        "parents": tree_parents(),
        "nics": nic_choice(),
    },
)

def program(topo, p):
    fail("%r %r %r %r %r %r %r %r" % (p.channels, p.shape, p.wide, p.pieces, p.order, p.local, p.parents, p.nics))
`

func kinds(t testing.TB) *Template {
	t.Helper()
	tpl, err := Load("kinds.star", []byte(paramsText), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

func TestDeclaration(t *testing.T) {
	tpl := kinds(t)
	want := []Parameter{
		{Name: "channels", Doc: "how many", Values: []any{1, 2, 4}, Default: 2},
		{Name: "shape", Values: []any{"chain", "tree"}, Default: "chain"},
		{Name: "wide", Values: []any{true, false}, Default: true},
		{Name: "pieces", Min: 3, Max: 9, Default: 5},
		{Name: "order", Doc: "the ring", Hole: HoleRings},
		{Name: "local", Hole: HoleNodeRings},
		{Name: "parents", Hole: HoleTrees},
		{Name: "nics", Hole: HoleNICs},
	}
	if !reflect.DeepEqual(tpl.Parameters, want) {
		t.Errorf("parameters %+v\nwant %+v", tpl.Parameters, want)
	}
	if tpl.Name != "kinds" || tpl.Doc != "All kinds of parameters.\n\nMore text." || tpl.Where != "anywhere" ||
		!reflect.DeepEqual(tpl.Collectives, []string{"allgather", "broadcast"}) {
		t.Errorf("declared %q %q %q %q", tpl.Name, tpl.Doc, tpl.Where, tpl.Collectives)
	}
	if n := want[3].Size(); n != 7 || len(want[3].All()) != 7 || want[3].All()[6] != 9 {
		t.Errorf("between(3, 9): %d values, %v", n, want[3].All())
	}
}

func TestParseValue(t *testing.T) {
	tpl := kinds(t)
	for _, c := range []struct {
		name, text string
		want       any
		err        string
	}{
		{"channels", "4", 4, ""},
		{"channels", "3", nil, "parameter channels=3: want 1, 2, 4"},
		{"channels", "many", nil, "parameter channels=many: want 1, 2, 4"},
		{"shape", "tree", "tree", ""},
		{"shape", "Tree", "tree", ""},
		{"wide", "false", false, ""},
		{"pieces", "9", 9, ""},
		{"pieces", "10", nil, "parameter pieces=10: want 3 to 9"},
		{"order", "0,2,1", [][]int{{0, 2, 1}}, ""},
		{"order", "0, 1;1,0", [][]int{{0, 1}, {1, 0}}, ""},
		{"order", "[[0,1],[1,0]]", [][]int{{0, 1}, {1, 0}}, ""},
		{"order", "[[0, 2, 1]]", [][]int{{0, 2, 1}}, ""},
		{"order", "[[0,1],[1,0]", nil, "parameter order=[[0,1],[1,0]: want rings of all ranks, as in 0,1,2,3;0,2,1,3"},
		{"order", "[[0,1]],[[1,0]]", nil, "parameter order=[[0,1]],[[1,0]]: want rings of all ranks, as in 0,1,2,3;0,2,1,3"},
		{"order", "0,2", nil, "parameter order=0,2: a ring of 2 has no 2"},
		{"order", "0,1,1", nil, "parameter order=0,1,1: 1 is twice in a ring"},
		{"parents", "-1,0,0,1", [][]int{{-1, 0, 0, 1}}, ""},
		{"parents", "[[-1,0],[1,-1]]", [][]int{{-1, 0}, {1, -1}}, ""},
		{"parents", "-1", [][]int{{-1}}, ""},
		{"parents", "", nil, "parameter parents=: want trees of all ranks, each rank's parent or -1, as in -1,0,0,1;1,3,0,-1"},
		{"parents", "-1,0,2;-1,0", nil, "parameter parents=-1,0,2;-1,0: 2 hangs from itself in a tree"},
		{"parents", "-1,2,1", nil, "parameter parents=-1,2,1: 2 hangs from itself in a tree"},
		{"parents", "-1,0,3", nil, "parameter parents=-1,0,3: a tree of 3 has no 3"},
		{"parents", "-1,-2", nil, "parameter parents=-1,-2: a tree of 2 has no -2"},
		{"parents", "-1,-1", nil, "parameter parents=-1,-1: a tree has one root, -1, and both 0 and 1 are"},
		{"parents", "1,0", nil, "parameter parents=1,0: a tree has a root, -1, and none is there"},
		{"nics", "0,0,2,2", [][]int{{0, 0, 2, 2}}, ""},
		{"nics", "1,1;0,0", [][]int{{1, 1}, {0, 0}}, ""},
		{"nics", "0,2", nil, "parameter nics=0,2: a node of 2 GPUs has no 2"},
		{"nics", "0,-1", nil, "parameter nics=0,-1: a node of 2 GPUs has no -1"},
		{"nics", "0,1;1,0;0,1", nil, "parameter nics=0,1;1,0;0,1: 3 lists: want by which GPU of its node each GPU sends, as in 0,0,2,2, and after a ; by which it receives, if by another"},
		{"nics", "own", nil, "parameter nics=own: want by which GPU of its node each GPU sends, as in 0,0,2,2, and after a ; by which it receives, if by another"},
		{"order", "0,x", nil, "parameter order=0,x: want rings of all ranks, as in 0,1,2,3;0,2,1,3"},
	} {
		p, err := tpl.Parameter(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.ParseValue(c.text)
		if !reflect.DeepEqual(got, c.want) || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
			t.Errorf("%s=%s: %v, %v; want %v, %s", c.name, c.text, got, err, c.want, c.err)
		}
	}
	if _, err := tpl.Parameter("chanels"); err == nil || !strings.Contains(err.Error(), "(did you mean channels?)") {
		t.Errorf("unknown parameter: %v", err)
	}
}

// TestParamsString: different parameters have different strings, and a value is
// read as it was written.
func TestParamsString(t *testing.T) {
	for _, c := range []struct {
		params Params
		want   string
	}{
		{Params{"b": "y", "a": 1, "hole": nil}, "a=1 b=y"},
		{Params{"a": "x b=y"}, `a="x b=y"`},
		{Params{"a": "", "b": [][]int{{0, 2, 1}, {1, 0}}}, `a="" b=0,2,1;1,0`},
	} {
		if got := c.params.String(); got != c.want {
			t.Errorf("%v: %s, want %s", map[string]any(c.params), got, c.want)
		}
	}
	p := Parameter{Name: "a", Values: []any{"x", "", "two words", `a "b"`}}
	for _, v := range p.Values {
		if got, err := p.ParseValue(FormatValue(v)); err != nil || got != v {
			t.Errorf("%q is read as %v, %v", FormatValue(v), got, err)
		}
	}
}

func TestBetweenTheSame(t *testing.T) {
	for text, want := range map[string]string{"between(4, 4)": "", "between(4, 3)": "between(4, 3): want 1 to 4096 values"} {
		tpl, err := Load("x.star", []byte(`
family(name = "x", collectives = ["allgather"], parameters = {"n": `+text+`})
def program(topo, p):
    pass
`), Options{})
		switch {
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", text, err, want)
		case want == "" && (err != nil || !reflect.DeepEqual(tpl.Parameters[0].All(), []any{4})):
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestParamsThroughJSON writes random parameters as text and as JSON and reads
// them back.
func TestParamsThroughJSON(t *testing.T) {
	tpl := kinds(t)
	seen := map[string]Params{}
	rapid.Check(t, func(t *rapid.T) {
		given := Params{}
		for _, p := range tpl.Parameters {
			switch {
			case p.Hole == "":
				given[p.Name] = rapid.SampledFrom(p.All()).Draw(t, p.Name)
			case rapid.Bool().Draw(t, "fill "+p.Name):
				n := rapid.IntRange(1, 4).Draw(t, "length")
				given[p.Name] = [][]int{filling(t, p.Hole, n), filling(t, p.Hole, n)}
			default:
				given[p.Name] = nil
			}
		}
		doc, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		var raw map[string]any
		if err := json.Unmarshal(doc, &raw); err != nil {
			t.Fatal(err)
		}
		back, err := tpl.Bind(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(back, given) {
			t.Fatalf("%s read back as %v", doc, back)
		}
		for _, p := range tpl.Parameters {
			if given[p.Name] == nil {
				continue
			}
			v, err := p.ParseValue(FormatValue(given[p.Name]))
			if err != nil || !reflect.DeepEqual(v, given[p.Name]) {
				t.Fatalf("%s read back as %v: %v", FormatValue(given[p.Name]), v, err)
			}
		}
		if other, ok := seen[given.String()]; ok && !reflect.DeepEqual(other, given) {
			t.Fatalf("%v and %v are both %s", other, given, given)
		}
		seen[given.String()] = given
	})
}

// filling draws a list of n that fills a hole of a kind.
func filling(t *rapid.T, kind string, n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	order = rapid.Permutation(order).Draw(t, "order")
	switch kind {
	case HoleNICs:
		return rapid.SliceOfN(rapid.IntRange(0, n-1), n, n).Draw(t, "carriers")
	case HoleRings, HoleNodeRings:
		return order
	}
	parents := make([]int, n)
	parents[order[0]] = -1
	for i := 1; i < n; i++ {
		parents[order[i]] = order[rapid.IntRange(0, i-1).Draw(t, "above")]
	}
	return parents
}

// FuzzParseValue: any text after -p NAME= is an error, or a value whose text is read back
// as the same value.
func FuzzParseValue(f *testing.F) {
	tpl := kinds(f)
	for _, seed := range []string{"4", "tree", "false", "0,2,1", "0,1;1,0", "[[0,1],[1,0]]", "-1,0,0,1", "-1,0;1,-1", "[[-1]]", "0,", ";", "99999999999999999999", " 0 , 1 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range tpl.Parameters {
			v, err := p.ParseValue(text)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "parameter "+p.Name+"=") {
					t.Errorf("%s=%q: %v does not name it", p.Name, text, err)
				}
				continue
			}
			again, err := p.ParseValue(FormatValue(v))
			if err != nil || !reflect.DeepEqual(again, v) {
				t.Errorf("%s=%q: %v read back as %v: %v", p.Name, text, v, again, err)
			}
		}
	})
}

func TestBindDefaultsAndRefusals(t *testing.T) {
	tpl := kinds(t)
	p, err := tpl.Bind(map[string]any{"channels": 4, "order": []int{1, 0}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "channels=4 order=1,0 pieces=5 shape=chain wide=true"; p.String() != want {
		t.Errorf("bound %s, want %s", p, want)
	}
	for text, given := range map[string]map[string]any{
		"kinds has no parameter chanels (did you mean channels?): it has channels, shape, wide, pieces, order, local, parents, nics": {"chanels": 1},
		"kinds: parameter channels=5: want 1, 2, 4":                                {"channels": 5},
		"kinds: parameter channels=1.5: want 1, 2, 4":                              {"channels": 1.5},
		"kinds: parameter order=x: want rings of all ranks, as in 0,1,2,3;0,2,1,3": {"order": "x"},
	} {
		if _, err := tpl.Bind(given); err == nil || err.Error() != text {
			t.Errorf("%v: error\n\t%v\nwant\n\t%s", given, err, text)
		}
	}
}

func TestTemplateSeesItsParameters(t *testing.T) {
	tpl := kinds(t)
	_, err := tpl.Trace(Even(1, 2), Request{Collective: "allgather"}, map[string]any{"order": []any{1.0, 0.0}, "shape": "tree"})
	if want := `fail: 2 "tree" True 5 [[1, 0]] None None None`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the program says %v, want %s", err, want)
	}
	for why, given := range map[string]map[string]any{
		"kinds: parameter order has a ring of 3, for 2 GPUs of the machine":   {"order": []int{0, 1, 2}},
		"kinds: parameter local has a ring of 3, for 2 GPUs of every node":    {"local": []int{0, 1, 2}},
		"kinds: parameter nics has a choice of 3, for 2 GPUs of every node":   {"nics": []int{0, 1, 2}},
		"kinds: parameter parents has a tree of 1, for 2 GPUs of the machine": {"parents": []int{-1}},
	} {
		if _, err := tpl.Trace(Even(1, 2), Request{Collective: "allgather"}, given); err == nil || err.Error() != why {
			t.Errorf("%v: %v, want %s", given, err, why)
		}
	}
}
