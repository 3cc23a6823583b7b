package library_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/importer"
	"github.com/colltune/colltune/topologies/topotest/reported"
)

// timesOf are the library's times of calls on a system, of the algorithms that f leaves, by size.
func timesOf(t *testing.T, top *topologies.Topology, name string, sizes []int64, f nccl.Forced) map[int64]library.Time {
	t.Helper()
	b := program.New(program.Target{Call: collective.Call{Collective: name, Op: "sum", DType: "f32"}, Topology: top, InPlace: collective.DefaultInPlace(name)},
		program.Options{Solver: "pb", Simulated: true})
	defer b.Close()
	l := library.New(b, library.Options{Forced: f}, func(string) {})
	times, err := l.Calls(t.Context(), sizes)
	if err != nil {
		t.Fatal(err)
	}
	all := map[int64]library.Time{}
	for _, at := range times {
		if at.US, err = l.US(t.Context(), &at); err != nil {
			t.Fatal(err)
		}
		all[at.Bytes] = at
	}
	return all
}

// slower are systems where the library chooses an algorithm that takes more than 1.3 times as long here as
// another of its own, and how much at most.
var slower = []struct {
	systems       string // with their number of nodes
	chosen, other string
	most          float64
	why           string
}{
	{"dgx-a100/2 ndv4/2 thetagpu/2 perlmutter/2 polaris/2 29-h100-pcie-pair/2 06-v100x4-nv2/2 01-gb200-tray/2", "ring", "double-binary-tree", 1.7,
		"of two nodes it caps a tree's channel, on Ampere at 23.6 GB/s (tuning.cc, perChMaxTreeBws), here they carry what two links of 100 Gb/s do; nccl#946 has trees that are twice as fast there"},
	{"l40s-8/1 a10g-8/1 a10g-8/2 lassen/1 a100-pcie-pairs/1 rtx-pro-6000-8/2 05-rtx4090-bond/1 05-rtx4090-bond/2 31-a100-pcie-pairs-nv12/1 02-b200-gpu2-lost-nvlink/2", "ring", "double-binary-tree", 1.85,
		"it counts half of a ring's bandwidth for a tree, whose hops between processors go one way by turns; on 4 L40S its tree is measured 1.1 times slower than its ring, and simulated 1.6 times too fast"},
	{"dgx-2/1 lassen/2", "ring", "double-binary-tree", 1.6, "it counts as many steps for a tree of one node as for a ring"},
	{"polaris/4 alps/2", "ring", "double-binary-tree", 1.55, "it does not know of the rendezvous of Slingshot's larger messages, of which a ring has more"},
	{"perlmutter/2 perlmutter/4 polaris/2 polaris/4 alps/2 alps/4", "double-binary-tree", "ring", 1.95, "the same, where a tree's messages are the larger"},
	{"dgx-h100/2 dgx-h100/4 dgx-h200/4 aws-p5/4 gcp-a3mega/2 gcp-a3mega/4 dgx-b200/2 dgx-b200/4 dgx-b300/4 03a-no-nic-rows/2 03c-storage-nics-node/2", "nvlstree", "", 1.85,
		"its trees over NVLS have no chunks in its model (tuning.cc), and in the closed form they have"},
	{"mi250/4", "ring", "double-binary-tree", 2.0, "RCCL's tables have 0.65 of the bandwidth for trees of large calls (rccl/tables.go)"},
	{"mi300x/4 mi325x/4", "double-binary-tree", "ring", 2.05, "RCCL's tables have 0.11 to 0.59 of the bandwidth for trees, and 320 us for a ring's step between nodes (rccl/tables.go)"},
}

// TestChosenIsNoneOfTheSlowest: what the library chooses is not much slower than another of its own
// algorithms, or the case is listed. COLLTUNE_LONG looks at the whole catalogue, at parts of
// nodes and more sizes.
func TestChosenIsNoneOfTheSlowest(t *testing.T) {
	systems, sizes := []string{"dgx-1/1", "dgx-a100/2", "dgx-h100/2", "perlmutter/2", "l40s-4/1", "v100x4-two-links/1", "a100-pcie-pairs/1", "a100-pcie-pairs/1/0,1",
		"h100-nics-at-even-gpus/2", "h100-nics-at-even-gpus/4", "h100-nics-in-pairs/4"}, []int64{1 << 20, 1 << 30}
	long := os.Getenv("COLLTUNE_LONG") != ""
	if long {
		sizes = []int64{64 << 10, 1 << 20, 16 << 20, 256 << 20, 1 << 30}
		for _, name := range topologies.Names() {
			systems = append(systems, name+"/1", name+"/2", name+"/4")
		}
		systems = append(systems, "dgx-1/1/0,1,2,3", "dgx-1/1/0,1,2,3,4,5", "dgx-a100/1/0,1", "dgx-h100/1/0,1,2,3", "dgx-b200/1/0,1,2,3", "l40s-8/1/0,1", "l40s-8/1/0,4", "l40s-8/1/0,1,2,3",
			"a100-pcie-pairs/1/0,1,2", "a100-pcie-pairs/1/0,1,4,5", "a10g-one-processor/1", "fullmesh:4@50GB/s/1", "fullmesh:4@25GB/s/1", "fullmesh:6@50GB/s/1", "hub:8@900GB/s/1")
	}
	tops := make([]*topologies.Topology, len(systems))
	for i, system := range systems {
		tops[i] = systemOf(t, system)
	}
	if long {
		for name, top := range reports(t) {
			systems, tops = append(systems, name), append(tops, top)
		}
	}
	listed := make([]bool, len(slower))
	for i, system := range systems {
		top := tops[i]
		if len(top.Ranks) > 64 {
			continue
		}
		chosen, others := timesOf(t, top, "allreduce", sizes, nccl.Forced{}), map[string]map[int64]library.Time{}
		for _, family := range []string{"ring", "double-binary-tree", "nvls", "nvlstree"} {
			others[family] = timesOf(t, top, "allreduce", sizes, nccl.Forced{Family: family})
		}
		for _, bytes := range sizes {
			c, has := chosen[bytes]
			if !has {
				t.Errorf("%s: no time of %d bytes", system, bytes)
			}
			for family, times := range others {
				o, has := times[bytes]
				if !has || c.US <= 1.3*o.US {
					continue
				}
				known := false
				for i, s := range slower {
					at := strings.Join(strings.SplitN(system, "/", 3)[:2], "/")
					if strings.HasPrefix(c.Name, s.chosen) && (s.other == "" || s.other == family) && strings.Contains(" "+s.systems+" ", " "+at+" ") && c.US <= s.most*o.US {
						known, listed[i] = true, true
					}
				}
				if !known {
					t.Errorf("%s, %d bytes: %s takes %.1f us, %s %.1f", system, bytes, c.Name, c.US, o.Name, o.US)
				}
			}
		}
	}
	for i, s := range slower {
		if long && !listed[i] {
			t.Errorf("listed, and not slower: %s on %s", s.chosen, s.systems)
		}
	}
}

// reports are the machines that people described in public, on one node and on two, where the
// project's shared files lie beside its checkout.
func reports(t *testing.T) map[string]*topologies.Topology {
	all := map[string]*topologies.Topology{}
	for file, gpu := range map[string]string{"01-gb200-tray": "gb200", "02-b200-gpu2-lost-nvlink": "b200", "03a-no-nic-rows": "h100", "03c-storage-nics-node": "h100", "04-a10g-vm-all-phb": "a10g",
		"05-rtx4090-bond": "rtx4090", "06-v100x4-nv2": "v100", "20-h100-4nics-pix-even-gpus": "h100", "29-h100-pcie-pair": "h100", "31-a100-pcie-pairs-nv12": "a100-pcie"} {
		text, err := os.ReadFile("../../../shared/data/reports/" + file + ".txt")
		if err != nil {
			t.Log(err)
			continue
		}
		r, err := importer.Import(file, text, importer.Options{GPU: gpu, NIC: importer.NIC{Bandwidth: 50e9}})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, nodes := range []int{1, 2} {
			top, err := topologies.Read(file, r.TOML, topologies.Options{Nodes: nodes})
			if err != nil {
				t.Fatal(err)
			}
			all[fmt.Sprintf("%s/%d", file, nodes)] = top
		}
	}
	return all
}

// systemOf resolves a system, its nodes and, if there are any, GPUs of each: dgx-1/1/0,1.
func systemOf(t *testing.T, name string) *topologies.Topology {
	t.Helper()
	o, parts := topologies.Options{}, strings.Split(name, "/")
	if strings.Contains(name, "GB/s") {
		parts = []string{strings.TrimSuffix(name, "/1"), "1"}
	}
	fmt.Sscan(parts[1], &o.Nodes)
	if len(parts) > 2 {
		for _, g := range strings.Split(parts[2], ",") {
			var gpu int
			fmt.Sscan(g, &gpu)
			o.GPUs = append(o.GPUs, gpu)
		}
	}
	return reported.Resolve(t, parts[0], o)
}

// TestNICsAtEveryOtherGPU: with a box whose NICs are near to one GPU of each pair, the library's algorithms
// are as fast as with one in which they are near to both.
func TestNICsAtEveryOtherGPU(t *testing.T) {
	sizes := []int64{256 << 10, 1 << 20, 4 << 20, 64 << 20, 1 << 30}
	for _, nodes := range []string{"/2", "/4"} {
		even, pairs := systemOf(t, "h100-nics-at-even-gpus"+nodes), systemOf(t, "h100-nics-in-pairs"+nodes)
		for _, family := range []string{"ring", "double-binary-tree", "nvlstree"} {
			one, other := timesOf(t, even, "allreduce", sizes, nccl.Forced{Family: family}), timesOf(t, pairs, "allreduce", sizes, nccl.Forced{Family: family})
			for _, bytes := range sizes {
				if a, b := one[bytes], other[bytes]; a.US == 0 || a.US > 1.1*b.US || b.US > 1.1*a.US {
					t.Errorf("%d bytes%s: %s takes %.1f us with NICs at every other GPU, %s %.1f at pairs", bytes, nodes, a.Name, a.US, b.Name, b.US)
				}
			}
		}
		if us := timesOf(t, even, "allreduce", sizes, nccl.Forced{})[1<<30].US; nodes == "/2" && us > 7000 {
			t.Errorf("1 GiB over two nodes takes %.0f us", us)
		}
	}
}
