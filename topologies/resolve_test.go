package topologies

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// must resolves what a test takes for granted.
func must(t testing.TB, arg string, o Options) *Topology {
	t.Helper()
	top, err := Resolve(arg, o)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func TestResolve(t *testing.T) {
	for _, c := range []struct {
		arg                    string
		o                      Options
		name                   string
		ranks, vertices, edges int
		linked                 int // ordered pairs of ranks that are linked
	}{
		{"dgx-a100", Options{}, "dgx-a100", 8, 9, 16, 56},
		{"dgx-a100", Options{Nodes: 2}, "dgx-a100", 16, 16 + 2*9 + 1, 2 * (16 + 32), 240},
		{"dgx-a100", Options{GPUs: []int{0, 3, 5}}, "dgx-a100", 3, 4, 6, 6},
		{"dgx-1", Options{}, "dgx-1", 8, 8, 32, 32},
		{"dgx-1", Options{Nodes: 2}, "dgx-1", 16, 16 + 8 + 1, 2 * (32 + 16 + 8), 2*32 + 2*64},
		{"dgx-1", Options{GPUs: []int{0, 1, 2, 3}}, "dgx-1", 4, 4, 12, 12},
		{"mi300x", Options{}, "mi300x", 8, 8, 56, 56},
		{"ring:8@50GB/s", Options{}, "ring:8", 8, 8, 16, 16},
		{"ring:2", Options{}, "ring:2", 2, 2, 2, 2},
		{"ring:8@25GB/s,0.7us", Options{}, "ring:8@25GB/s,0.7us", 8, 8, 16, 16},
		{"mesh:8x8", Options{}, "mesh:8x8", 64, 64, 224, 224},
		{"mesh:5x1", Options{}, "mesh:5x1", 5, 5, 8, 8},
		{"torus:4x4x4", Options{}, "torus:4x4x4", 64, 64, 384, 384},
		{"torus:2x3", Options{}, "torus:2x3", 6, 6, 18, 18},
		{"hypercube:6", Options{}, "hypercube:6", 64, 64, 384, 384},
		{"fullmesh:16", Options{}, "fullmesh:16", 16, 16, 240, 240},
		{"hub:8", Options{}, "hub:8", 8, 9, 16, 56},
		{"hub:8", Options{GPUs: []int{1, 2}}, "hub:8", 2, 3, 4, 2},
	} {
		top, err := Resolve(c.arg, c.o)
		if err != nil {
			t.Errorf("%s %+v: %v", c.arg, c.o, err)
			continue
		}
		linked := 0
		for a := range top.Ranks {
			for b := range top.Ranks {
				if top.Linked(a, b) {
					linked++
				}
			}
		}
		if top.Name != c.name || len(top.Ranks) != c.ranks || len(top.Vertices) != c.vertices || len(top.Edges) != c.edges || linked != c.linked {
			t.Errorf("%s %+v: %s of %d ranks, %d vertices, %d edges, %d linked pairs; want %s, %d, %d, %d, %d", c.arg, c.o,
				top.Name, len(top.Ranks), len(top.Vertices), len(top.Edges), linked, c.name, c.ranks, c.vertices, c.edges, c.linked)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	alone := filepath.Join(t.TempDir(), "alone.toml")
	text := strings.Replace(string(sourceOf(t, "dgx-1")), "[fabric]", "[[node.switch]]\ngpus=\"all\"\nkind=\"pcie\"\nbandwidth=\"12 GB/s\"\nlatency=\"1 us\"\nsource=\"x\"\n[fabric]", 1)
	if err := os.WriteFile(alone, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if top := must(t, alone, Options{GPUs: []int{0, 5}}); !top.Linked(0, 1) {
		t.Error("GPUs 0 and 5 are not linked through the file's switch")
	}
	for _, c := range []struct {
		arg  string
		o    Options
		want string
	}{
		{"dgx-a10", Options{}, `unknown topology "dgx-a10" (did you mean dgx-a100?)`},
		{"generator-protocols", Options{}, "unknown topology"},
		{"no-such.toml", Options{}, "no-such.toml"},
		{t.TempDir(), Options{}, "is a folder: want a file"},
		{"rnig:8", Options{}, `unknown generator "rnig" (did you mean ring?): want one of ring, mesh`},
		{"ring:", Options{}, "want its GPUs in a cycle, 2 to 65536"},
		{"ring:1", Options{}, "want its GPUs in a cycle, 2 to 65536"},
		{"hypercube:17", Options{}, `"17" is not a size of hypercube: want its dimensions, 1 to 16`},
		{"ring", Options{}, `topology "ring" is a generator: want its size too, KIND:DIMS`},
		{"RING:8", Options{}, `unknown generator "RING" (did you mean ring?)`},
		{"nowhere.toml", Options{}, "topology file nowhere.toml: no such file"},
		{"ring:8x8", Options{}, "ring takes one number"},
		{"ring:-8", Options{}, "not a size"},
		{"mesh:1x1", Options{}, "want 2 to 65536 GPUs"},
		{"mesh:65536x65536", Options{}, "want 2 to 65536 GPUs"},
		{"mesh:2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2", Options{}, "want at most 16"},
		{"fullmesh:1001", Options{}, "want at most 1000000"},
		{"ring:8@50", Options{}, `want a number and a unit such as "300 GB/s"`},
		{"ring:8@50GB/s,3", Options{}, "is not a time"},
		{"ring:8@9000000TB/s", Options{}, "out of range"},
		{"ring:8", Options{Nodes: 2}, "no fabric"},
		{"ring:8", Options{GPUs: []int{0, 4}}, "disconnected"},
		{"ring:8", Options{GPUs: []int{0, 8}}, "gpu 8 is not there: a node of ring:8 has GPUs 0 to 7"},
		{"ring:8", Options{GPUs: []int{0, 0}}, "named twice"},
		{"ring:8", Options{GPUs: []int{}}, "at least one"},
		{"frontier", Options{GPUs: []int{0, 1, 3, 2}}, "GPUs [0 1 3 2] of it: want them rising"},
		{"dgx-1", Options{GPUs: []int{0, 5}}, "gpu 5 cannot be reached from gpu 0"},
		{"dgx-a100", Options{Nodes: -1}, "want 1 to 65536"},
		{"dgx-a100", Options{Nodes: 8193}, "want at most 65536"},
	} {
		top, err := Resolve(c.arg, c.o)
		if err == nil {
			t.Errorf("%s %+v: made %s", c.arg, c.o, top.Name)
		} else if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %+v: %v: want %q", c.arg, c.o, err, c.want)
		}
	}
	for _, missing := range []string{"dgx-a10", "no-such.toml"} {
		if _, err := Resolve(missing, Options{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v is not fs.ErrNotExist", err)
		}
	}
}

func sourceOf(t testing.TB, name string) []byte {
	t.Helper()
	text, ok := Source(name)
	if !ok {
		t.Fatalf("%s is not in the catalogue", name)
	}
	return text
}

func TestCatalogue(t *testing.T) {
	want := []string{
		"a10g-8", "alps", "aws-p5", "dgx-1", "dgx-2", "dgx-2-teccl", "dgx-a100", "dgx-b200", "dgx-b300", "dgx-h100",
		"dgx-h200", "frontier", "gb200-nvl72", "gb300-nvl72", "gcp-a3mega", "l40s-4", "l40s-8", "lassen", "mi250",
		"mi250x", "mi300x", "mi325x", "mi355x", "ndv2", "ndv2-teccl", "ndv4", "perlmutter", "polaris", "rtx-pro-6000-8",
		"t4-8", "thetagpu",
	}
	if diff := cmp.Diff(want, Names()); diff != "" {
		t.Error(diff)
	}
	for _, name := range Names() {
		text := sourceOf(t, name)
		file := filepath.Join(t.TempDir(), "copy.toml")
		if err := os.WriteFile(file, append([]byte("# a copy\n"), text...), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, nodes := range []int{1, 3} {
			o := Options{Nodes: nodes}
			if a, b := must(t, name, o), must(t, file, o); !bytes.Equal(a.Encode(), b.Encode()) {
				t.Errorf("%s on %d nodes is not what its own source says", name, nodes)
			}
		}
		if top := must(t, name, Options{}); top.Name != name {
			t.Errorf("%s is named %s", name, top.Name)
		}
	}
}

func TestNodeRanks(t *testing.T) {
	top := must(t, "dgx-a100", Options{Nodes: 3, GPUs: []int{1, 4, 6}})
	if diff := cmp.Diff([]int{3, 4, 5}, top.NodeRanks(1)); diff != "" {
		t.Error(diff)
	}
	if got := top.NodeRanks(3); got != nil {
		t.Errorf("node 3 of 3 has ranks %v", got)
	}
	if got := top.MinSMs(); got != 108 {
		t.Errorf("%d SMs, want 108", got)
	}
}

func TestParseProto(t *testing.T) {
	for s, want := range map[string]Proto{"LL": LL, "ll128": LL128, "SIMPLE": Simple} {
		if p, err := ParseProto(s); err != nil || p != want {
			t.Errorf("%s is %v, %v", s, p, err)
		}
	}
	if _, err := ParseProto("fast"); err == nil || !strings.Contains(err.Error(), "LL, LL128, Simple") {
		t.Errorf("fast: %v", err)
	}
}
