package intervals

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/topologies"
)

func TestSystemOf(t *testing.T) {
	constants := map[string]string{}
	for _, tc := range []struct {
		topology string
		nodes    int
		want     System
	}{
		{"dgx-a100", 1, System{"NVLink", "none", "ampere", ""}},
		{"dgx-a100", 2, System{"NVLink", "infiniband", "ampere", ""}},
		{"dgx-1", 1, System{"NVLink", "none", "volta", ""}},
		{"dgx-h100", 1, System{"NVLink", "none", "hopper", ""}},
		{"dgx-h200", 1, System{"NVLink", "none", "hopper", ""}},
		{"polaris", 2, System{"NVLink", "slingshot", "ampere", ""}},
		{"mi300x", 1, System{"xGMI", "none", "cdna3", ""}},
		{"mi355x", 1, System{"xGMI", "none", "cdna4", ""}},
		{"frontier", 4, System{"xGMI", "slingshot", "cdna2", ""}},
		{"l40s-4", 1, System{"PCIe", "none", "ada", ""}},
		{"ring:8", 1, System{}},
		{"mesh:4x4@50GB/s", 1, System{}},
	} {
		top, err := topologies.Resolve(tc.topology, topologies.Options{Nodes: tc.nodes})
		if err != nil {
			t.Fatal(err)
		}
		got := SystemOf(top)
		constants[fmt.Sprintf("%d %s", tc.nodes, tc.topology)] = got.Constants
		if got.Constants = ""; got != tc.want {
			t.Errorf("%d of %s: %v, want %v", tc.nodes, tc.topology, got, tc.want)
		}
	}
	if constants["1 dgx-h100"] != constants["1 dgx-h200"] {
		t.Errorf("%s, and an H200's %s: want the same", constants["1 dgx-h100"], constants["1 dgx-h200"])
	}
	for _, other := range []string{"1 dgx-a100", "2 dgx-a100", "1 mi300x"} {
		if constants[other] == constants["1 dgx-h100"] || constants[other] == constants["1 mi355x"] {
			t.Errorf("%s has another's constants: %s", other, constants[other])
		}
	}
}

func TestZones(t *testing.T) {
	one, several := System{"NVLink", "none", "hopper", ""}, System{"NVLink", "slingshot", "ampere", ""}
	ring := Call{Clock: Instructions, Protocol: "LL"}
	for _, tc := range []struct {
		system     System
		call       Call
		collective string
		bytes      int64
		want       string // zones by ;
	}{
		{one, ring, "allreduce", 65535, "NVLink, one node, hopper, LL, allreduce, below 64K; NVLink, one node, LL, allreduce, below 64K; NVLink, one node, send, receive, reduce, below 64K; one node, below 64K"},
		{one, Call{Clock: Instructions, Protocol: "LL", UpAndDown: true}, "allreduce", 65536, "NVLink, one node, hopper, LL, allreduce up and down, 64K to 1M; NVLink, one node, LL, allreduce up and down, 64K to 1M; NVLink, one node, send, receive, reduce, 64K to 1M; one node, 64K to 1M"},
		{several, ring, "alltoall", 16<<20 - 1, "NVLink, slingshot, ampere, LL, alltoall, 1M to 16M; NVLink, slingshot, LL, alltoall, 1M to 16M; NVLink, slingshot, send, receive, 1M to 16M; several nodes, 1M to 16M"},
		{one, Call{Clock: "nvls", Protocol: "Simple"}, "allreduce", 16 << 20, "the library's nvls, NVLink, one node, hopper, Simple, allreduce, from 16M; the library's nvls, NVLink, one node, Simple, allreduce, from 16M; the library's nvls, NVLink, one node, send, receive, reduce, from 16M; the library's nvls, one node, from 16M"},
		{one, ring, "alltonext", 1024, "NVLink, one node, send, receive, below 64K; one node, below 64K"},
		{System{}, ring, "allreduce", 1024, ""},
	} {
		tc.call.Collective, tc.call.Bytes = tc.collective, tc.bytes
		zones := tc.system.Zones(tc.call)
		var names []string
		for _, z := range zones {
			names = append(names, z.String())
		}
		if got := strings.Join(names, "; "); got != tc.want {
			t.Errorf("%s of %d on %v:\n%s, want\n%s", tc.collective, tc.bytes, tc.system, got, tc.want)
		}
	}
}

// What the shipped rows support: programs and the library's rings and NVLS, on one node and rings on
// several, but neither NVLS over nodes nor PAT, nor machines that are like none.
func TestModel(t *testing.T) {
	for _, tc := range []struct {
		topology string
		nodes    int
		library  string // empty: a program with Simple
		lacks    string
	}{
		{"dgx-a100", 1, "", ""},
		{"dgx-a100", 1, "ring ×24 Simple", ""},
		{"dgx-a100", 4, "", ""},
		{"dgx-h100", 1, "nvls Simple", ""},
		{"dgx-h100", 4, "nvlstree Simple", "the library's nvlstree, NVLink, infiniband, hopper, Simple, allreduce, from 16M"},
		{"dgx-h100", 4, "pat Simple", "the library's pat, NVLink, infiniband, hopper, Simple, allreduce, from 16M"},
		{"dgx-h100", 1, "AllReduce_RSxLDMC_AGxSTMC Simple", "the library's AllReduce_RSxLDMC_AGxSTMC, NVLink, one node, hopper, Simple, allreduce, from 16M"},
		{"ring:8", 1, "", "systems such as machine"},
	} {
		top, err := topologies.Resolve(tc.topology, topologies.Options{Nodes: tc.nodes})
		if err != nil {
			t.Fatal(err)
		}
		m := &Model{Name: "machine", System: SystemOf(top), Table: Shipped()}
		i, lacks := m.Program(Call{Protocol: "Simple", Collective: "allreduce", Bytes: 64 << 20})
		if tc.library != "" {
			i, lacks = m.Library(tc.library, "allreduce", 64<<20)
		}
		if lacks != tc.lacks || lacks == "" && !i.Holds(1) {
			t.Errorf("%s on %d of %s: %v, lacks %q, want %q", tc.library, tc.nodes, tc.topology, i, lacks, tc.lacks)
		}
	}
}

// A system whose constants no row was measured with has wider intervals, and none where they would
// say too little; so has a zone that does not hold its rows.
func TestUnmeasured(t *testing.T) {
	s := System{"NVLink", "none", "hopper", "known"}
	call := Call{Clock: Instructions, Protocol: "LL", Collective: "allreduce", Bytes: 1 << 20}
	table := &Table{Constants: []string{"known"}}
	set := func(e Entry) {
		e.Zone = s.Zones(call)[0]
		table.Entries = []Entry{e}
	}
	look := func(s System) (Interval, string) { return (&Model{"machine", s, table, nil}).Program(call) }
	other := s
	other.Constants = "other"
	set(Entry{Interval: Interval{0.8, 1, 1.25}, Rows: 30, Held: 0.8})
	if i, lacks := look(s); lacks != "" || i != (Interval{0.8, 1, 1.25}) {
		t.Errorf("%v, lacks %q", i, lacks)
	}
	if i, lacks := look(other); lacks != "" || math.Abs(i.High-math.Pow(1.25, Unmeasured)) > 1e-12 {
		t.Errorf("unmeasured: %v, lacks %q", i, lacks)
	}
	set(Entry{Interval: Interval{0.7, 1, 1.35}, Rows: 30, Held: 0.8})
	if _, lacks := look(other); lacks != "systems such as machine, whose constants no measurement tells" {
		t.Errorf("lacks %q", lacks)
	}
	set(Entry{Interval: Interval{0.8, 1, 1.25}, Rows: 30, Held: 0.7})
	if _, lacks := look(s); lacks != "NVLink, one node, hopper, LL, allreduce, 1M to 16M: of 30 rows, the machine of each left out, 70 % lie inside" {
		t.Errorf("lacks %q", lacks)
	}
	set(Entry{Interval: Interval{0.5, 1, 1.25}, Rows: 30, Held: 0.8})
	if _, lacks := look(s); lacks != "NVLink, one node, hopper, LL, allreduce, 1M to 16M: measured times are 0.50 to 1.25 of simulated ones" {
		t.Errorf("lacks %q", lacks)
	}
}

// Over nodes and below 1 MiB times within a factor of two either way say something, not more: not
// where a zone's own interval is wider, nor where a system's constants make it so.
func TestTooWide(t *testing.T) {
	for _, tc := range []struct {
		network string
		bytes   int64
		most    float64
	}{{oneNode, 1 << 10, 4}, {oneNode, 1 << 20, 2}, {"infiniband", 1 << 10, 4}, {"infiniband", 64 << 20, 4}} {
		s := System{"NVLink", tc.network, "hopper", "known"}
		call := Call{Clock: Instructions, Protocol: "Simple", Collective: "allreduce", Bytes: tc.bytes}
		for _, times := range []float64{0.99, 1.01} {
			side := math.Sqrt(tc.most * times)
			table := &Table{Entries: []Entry{{Zone: s.Zones(call)[0], Interval: Interval{1 / side, 1, side}}}, Constants: []string{"known"}}
			if _, lacks := (&Model{"machine", s, table, nil}).Program(call); (lacks == "") != (times < 1) {
				t.Errorf("%s at %d, high / low %.2f of %g: lacks %q", tc.network, tc.bytes, tc.most*times, tc.most, lacks)
			}
			if _, lacks := (&Model{"machine", System{"NVLink", tc.network, "hopper", "other"}, table, nil}).Program(call); lacks == "" {
				t.Errorf("%s at %d: unmeasured constants keep %.2f", tc.network, tc.bytes, tc.most*times)
			}
		}
	}
	for _, e := range Shipped().Entries {
		if e.Supported() && e.High > 4*e.Low {
			t.Errorf("%s: %.2f to %.2f is supported", e.Zone, e.Low, e.High)
		}
	}
}

// Over PCIe trees of 1 MiB and more have an interval where trees of that generation were measured,
// by a program's hash or the library's name alike; rings, small trees and other links have one.
func TestTreesOverPCIe(t *testing.T) {
	for _, tc := range []struct {
		topology, protocol string
		up                 bool
		bytes              int64
		lacks              string
	}{
		{"l40s-4", "Simple", true, 4 << 20, ""},
		{"l40s-4", "Simple", true, 64 << 20, "PCIe, one node, ada, Simple, allreduce up and down, from 16M"},
		{"l40s-4", "LL128", true, 1 << 20, "PCIe, one node, ada, LL128, allreduce up and down, 1M to 16M"},
		{"rtx-pro-6000-8", "Simple", true, 256 << 20, "PCIe, one node, blackwell, Simple, allreduce up and down, from 16M"},
		{"rtx-pro-6000-8", "LL128", true, 1 << 20, "PCIe, one node, blackwell, LL128, allreduce up and down, 1M to 16M"},
		{"rtx-pro-6000-8", "LL", true, 1 << 10, ""},
		{"rtx-pro-6000-8", "Simple", false, 256 << 20, ""},
		{"dgx-h100", "Simple", true, 256 << 20, ""},
	} {
		top, err := topologies.Resolve(tc.topology, topologies.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := &Model{Name: tc.topology, System: SystemOf(top), Table: Shipped()}
		if _, lacks := m.Program(Call{Protocol: tc.protocol, Collective: "allreduce", UpAndDown: tc.up, Bytes: tc.bytes}); lacks != tc.lacks {
			t.Errorf("%s, %s at %d, up and down %t: lacks %q, want %q", tc.topology, tc.protocol, tc.bytes, tc.up, lacks, tc.lacks)
		}
		if tc.up {
			if _, lacks := m.Library("double-binary-tree trees=2 ×2 "+tc.protocol, "allreduce", tc.bytes); lacks != tc.lacks {
				t.Errorf("the library's tree on %s, %s at %d: lacks %q, want %q", tc.topology, tc.protocol, tc.bytes, lacks, tc.lacks)
			}
		}
	}
}

// GPUs that NVLink bridges join in pairs, and PCIe in all, are like those on PCIe.
func TestBridgedPairs(t *testing.T) {
	const name = "pairs.toml"
	text := `name = "pairs"
nodes = 1
runtime = "nccl"
arch = "ampere"
[node]
gpus = 4
sms = 108
source = "a test"
[[node.switch]]
name = "cpu"
source = "a test"
[[node.link]]
pairs = [[0, "cpu"], [1, "cpu"], [2, "cpu"], [3, "cpu"]]
kind = "pcie"
bandwidth = "24 GB/s"
latency = "0.5 us"
source = "a test"
[[node.link]]
pairs = [[0, 1], [2, 3]%s]
kind = "nvlink"
count = 12
bandwidth = "25 GB/s"
latency = "0.4 us"
source = "a test"
[protocol]
like = "l40s-4"
source = "a test"
`
	for more, want := range map[string]string{"": "PCIe", ", [1, 2]": "NVLink"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, fmt.Appendf(nil, text, more), 0o644); err != nil {
			t.Fatal(err)
		}
		top, err := topologies.Resolve(file, topologies.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if s := SystemOf(top); s.Link != want || !strings.Contains(s.Constants, want) {
			t.Errorf("bridges%s: %+v, want %s", more, s, want)
		}
	}
}

// Trees have sums and results go different ways, rings do not.
func TestUpAndDown(t *testing.T) {
	up := func(steps ...ir.Op) ir.GPU {
		var g ir.GPU
		for _, op := range steps {
			g.Threadblocks = append(g.Threadblocks, ir.Threadblock{Steps: []ir.Step{{Op: op}}})
		}
		return g
	}
	tree := &ir.Program{Collective: collective.Spec{Name: "allreduce", Ranks: 3, Chunks: 1},
		GPUs: []ir.GPU{up(ir.Send, ir.Recv), up(ir.RecvReduceSend, ir.RecvCopySend), up(ir.RecvReduceCopySend)}}
	if !UpAndDown(tree) {
		t.Error("a chain's sums and results are not told apart")
	}
	if UpAndDown(irtest.Ring(4, 1, 0, true)) {
		t.Error("a ring is up and down")
	}
	tree.Collective.Name = "reduce"
	if UpAndDown(tree) {
		t.Error("a reduction has results on their way")
	}
}

// A speedup's interval holds the ratio of medians, is that of the library alone over an
// exact time, and is turned round where the two are exchanged.
func TestSpeedupProperties(t *testing.T) {
	interval := rapid.Custom(func(t *rapid.T) Interval {
		median := rapid.Float64Range(0.2, 5).Draw(t, "median")
		return Interval{median / rapid.Float64Range(1, 4).Draw(t, "down"), median, median * rapid.Float64Range(1, 4).Draw(t, "up")}
	})
	rapid.Check(t, func(t *rapid.T) {
		library, program := interval.Draw(t, "library"), interval.Draw(t, "program")
		s := rapid.Float64Range(0.1, 10).Draw(t, "speedup")
		near := func(a, b float64) bool { return math.Abs(a/b-1) < 1e-9 }
		band, back := Speedup(s, library, program), Speedup(1/s, program, library)
		if at := s * library.Median / program.Median; band[0] > at*(1+1e-9) || band[1] < at*(1-1e-9) {
			t.Fatalf("%v does not hold %g", band, at)
		}
		if !near(band[0]*back[1], 1) || !near(band[1]*back[0], 1) {
			t.Fatalf("%v, and exchanged %v", band, back)
		}
		if alone := Speedup(s, library, Exact); !near(alone[0], s*library.Low) || !near(alone[1], s*library.High) {
			t.Fatalf("%v over an exact time, of %v", alone, library)
		}
	})
}

func TestTableForm(t *testing.T) {
	var out bytes.Buffer
	if err := Shipped().Write(&out); err != nil {
		t.Fatal(err)
	}
	if out.String() != shipped {
		t.Errorf("zones.csv is not as Write writes it:\n%s", &out)
	}
	if len(Shipped().Entries) == 0 || len(Shipped().Constants) == 0 {
		t.Error("no zone or nothing measured is shipped")
	}
	line := "instructions,NVLink,none,hopper,LL,allreduce,below 64K,3,9,0.9,0.5,1,2\n"
	for _, tc := range []struct{ text, want string }{
		{"", "want a line of names"},
		{strings.Join(head, ",") + "\n" + strings.Replace(line, "0.5", "5", 1), "low ≤ median ≤ high"},
		{strings.Join(head, ",") + "\n" + strings.Replace(line, "64K", "65K", 1), "a band of sizes"},
		{strings.Join(head, ",") + "\n" + strings.Replace(line, "0.5", "-1", 1), `low "-1"`},
		{strings.Join(head, ",") + "\n" + strings.Replace(line, "64K", "64K", 1) + strings.Replace(line, "NVLink", "AVLink", 1), "not in order"},
	} {
		if _, err := Read(strings.NewReader(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %q", tc.text, err, tc.want)
		}
	}
}

// What Read accepts it reads again as Write writes it.
func FuzzRead(f *testing.F) {
	f.Add(constantsHead + "hopper, NVLink of 25 GB/s, 0123abcd\n" + strings.Join(head, ",") + "\ninstructions,NVLink,none,hopper,LL,allreduce,below 64K,3,9,0.9,0.5,1,2\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Read(strings.NewReader(text))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := table.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := Read(&out)
		if err != nil || len(again.Entries) != len(table.Entries) || len(again.Constants) != len(table.Constants) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
