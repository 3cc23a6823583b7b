package intervals

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/topologies"
)

func TestSystemOf(t *testing.T) {
	for _, tc := range []struct {
		topology string
		nodes    int
		want     System
	}{
		{"dgx-a100", 1, System{"NVLink", "none"}},
		{"dgx-a100", 2, System{"NVLink", "infiniband"}},
		{"dgx-1", 1, System{"NVLink", "none"}},
		{"polaris", 2, System{"NVLink", "slingshot"}},
		{"mi300x", 1, System{"xGMI", "none"}},
		{"frontier", 4, System{"xGMI", "slingshot"}},
		{"l40s-4", 1, System{"PCIe", "none"}},
		{"ring:8", 1, System{}},
		{"mesh:4x4@50GB/s", 1, System{}},
	} {
		top, err := topologies.Resolve(tc.topology, topologies.Options{Nodes: tc.nodes})
		if err != nil {
			t.Fatal(err)
		}
		if got := SystemOf(top); got != tc.want {
			t.Errorf("%d of %s: %v, want %v", tc.nodes, tc.topology, got, tc.want)
		}
	}
}

func TestZones(t *testing.T) {
	one, several := System{"NVLink", "none"}, System{"NVLink", "slingshot"}
	for _, tc := range []struct {
		system     System
		collective string
		bytes      int64
		want       string // zones by ;
	}{
		{one, "allreduce", 65535, "library, NVLink, one node, allreduce, below 64K; library, any system, one node, any collective, below 64K"},
		{one, "reducescatter", 65536, "library, NVLink, one node, allgather, reducescatter, 64K to 1M; library, any system, one node, any collective, 64K to 1M"},
		{several, "alltoall", 16<<20 - 1, "library, NVLink, slingshot, alltoall, 1M to 16M; library, any system, several nodes, any collective, 1M to 16M"},
		{one, "broadcast", 16 << 20, "library, NVLink, one node, broadcast, reduce, from 16M; library, any system, one node, any collective, from 16M"},
		{one, "alltonext", 1024, ""},
		{System{}, "allreduce", 1024, ""},
	} {
		var names []string
		for _, z := range tc.system.Zones(Library, tc.collective, tc.bytes) {
			names = append(names, z.String())
		}
		if got := strings.Join(names, "; "); got != tc.want {
			t.Errorf("%s of %d on %v: %s, want %s", tc.collective, tc.bytes, tc.system, got, tc.want)
		}
	}
}

// What the shipped rows support: NVLS and rings, but neither NVLS over nodes nor PAT; and
// RCCL's all-pairs files as programs are.
func TestModel(t *testing.T) {
	one, several := System{"NVLink", "none"}, System{"NVLink", "infiniband"}
	for _, tc := range []struct {
		system           System
		ran, kind, lacks string
	}{
		{one, Library, "nvls", ""},
		{one, Library, "ring", ""},
		{one, Library, "all-pairs", ""},
		{one, Library, "hierarchical", "the library's hierarchical"},
		{several, Library, "ring", ""},
		{several, Library, "nvls", "the library's nvls over nodes"},
		{several, Library, "pat", "the library's pat over nodes"},
		{one, Program, "all-pairs", ""},
		{one, Program, "nvls", "programs of nvls"},
		{several, Program, "ring", "program, NVLink, infiniband, allreduce, from 16M"},
		{System{}, Library, "ring", "systems such as machine"},
	} {
		m := &Model{Name: "machine", System: tc.system, Table: Shipped()}
		at := m.Program
		if tc.ran == Library {
			at = m.Library
		}
		if i, lacks := at(tc.kind, "allreduce", 64<<20); lacks != tc.lacks || lacks == "" && !i.Holds(1) {
			t.Errorf("%s of %s on %v: %v, lacks %q, want %q", tc.kind, tc.ran, tc.system, i, lacks, tc.lacks)
		}
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
	if len(Shipped().Entries) == 0 || len(Shipped().Kinds) == 0 {
		t.Error("no zone or nothing measured is shipped")
	}
	line := "library,NVLink,none,allreduce,below 64K,3,9,0.5,1,2\n"
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
	f.Add(kindsHead + "library, one node: chain ring\n" + strings.Join(head, ",") + "\nlibrary,NVLink,none,allreduce,below 64K,3,9,0.5,1,2\n")
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
		if err != nil || len(again.Entries) != len(table.Entries) || len(again.Kinds) != len(table.Kinds) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
