package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// Campaigns of a map differ in their nodes and sizes alone.
func TestSortMap(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*results.Plan)
		want   string // in the error; empty: there is none
	}{
		{"nodes", func(*results.Plan) {}, ""},
		{"sizes", func(p *results.Plan) { p.Sizes = p.Sizes[2:] }, ""},
		{"graph", func(p *results.Plan) { p.Topology.Hash = strings.Repeat("8", 64) }, ""},
		{"the same nodes", func(p *results.Plan) { p.Topology.Nodes = 1 }, "nodes: 1 in both"},
		{"element type", func(p *results.Plan) { p.DType = "bf16" }, "dtype: f32 in the first, bf16 in the other"},
		{"executor", func(p *results.Plan) { p.Executor = "sim" }, "executor: fake in the first, sim in the other"},
		{"flags", func(p *results.Plan) { p.Flags = nil }, "--family: ring,allpairs in the first, none in the other"},
		{"a file of a number of ranks", func(p *results.Plan) { p.Files = []results.File{{Kind: "library", Name: "a.csv", Text: "other rows"}} }, ""},
		{"a template", func(p *results.Plan) { p.Files = []results.File{{Kind: "template", Name: "a.star", Text: "other"}} }, "template a.star: line 1"},
	} {
		first, other := onNodes(1), onNodes(4)
		if kind := map[string]string{"a file of a number of ranks": "library", "a template": "template"}[tc.name]; kind != "" {
			first.Files = []results.File{{Kind: kind, Name: map[string]string{"library": "a.csv", "template": "a.star"}[kind], Text: "rows"}}
		}
		tc.change(&other)
		a, b := resultstest.Create(t, first), resultstest.Create(t, other)
		all := []*results.Campaign{b, a}
		err := results.SortMap(all)
		switch {
		case tc.want == "" && (err != nil || all[0] != a):
			t.Errorf("%s: %v; want them sorted", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || !errors.As(err, new(*results.NotOneMapError))):
			t.Errorf("%s: %v; want %q", tc.name, err, tc.want)
		case tc.want != "" && strings.Count(err.Error(), "\n") != 1:
			t.Errorf("%s: %v; want one difference", tc.name, err)
		}
	}
}

// Remove takes a campaign without trials away, also one that was there before, and no other.
func TestRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "map", "nodes-1")
	c, err := results.Create(dir, onNodes(1))
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if c, err = results.Open(dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	kept := resultstest.Library(t)
	if err := kept.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := results.OpenReadOnly(kept.Dir()); err != nil {
		t.Errorf("a campaign with trials: %v", err)
	}
}

// The command of a map names all numbers of nodes, and all sizes.
func TestMapCommand(t *testing.T) {
	one, four := onNodes(1), onNodes(4)
	four.Sizes = four.Sizes[1:]
	got := results.MapCommand([]results.Plan{one, four})
	if want := "colltune search -t ring:4 -c allreduce --nodes 1,4 -b 1K -e 8K --op sum"; !strings.HasPrefix(got, want) {
		t.Errorf("%s; want %s…", got, want)
	}
}
