package accuracy

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/colltune/colltune/results/intervals"
)

func TestManifestRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no TOML", "[[set]\n", "m.toml: line 1"},
		{"an unknown key", "[[set]]\nname = \"a\"\ntopolgy = \"mi300x\"\n", "key set.topolgy is unknown"},
		{"no topology", "\n[[set]]\nname = \"a\"\n", "m.toml: line 2: set a names no topology"},
		{"a name twice", "[[set]]\nname = \"a\"\ntopology = \"mi300x\"\n[[set]]\nname = \"a\"\n", "line 4: a set's name \"a\""},
		{"an element type", "[[set]]\nname = \"a\"\ntopology = \"mi300x\"\ndtype = \"f33\"\n", "unknown dtype \"f33\""},
		{"a protocol", "[[set]]\nname = \"a\"\ntopology = \"mi300x\"\nprotocols = { any = [\"LL64\"] }\n", "set a: unknown protocol \"LL64\""},
		{"no reason", "[[set]]\nname = \"a\"\ntopology = \"mi300x\"\n[[set.without]]\nalgo = \"*\"\n", "says not why"},
		{"a pattern", "[[set]]\nname = \"a\"\ntopology = \"mi300x\"\n[[set.without]]\nalgo = \"[\"\nwhy = \"\\\"\"\n", "pattern \"[\""},
		{"a size", "[[set]]\nname = \"a\"\ntopology = \"mi300x\"\n[[set.without]]\nbelow = \"1X\"\nwhy = \"x\"\n", "1X"},
		{"a program of nothing", "[[program]]\nlabel = \"x\"\n", "program 1: want a label"},
	} {
		if _, err := ParseManifest("m.toml", tc.text); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestRules(t *testing.T) {
	m, err := ParseManifest("m.toml", `
[[set]]
name = "a"
topology = "dgx-a100"
host_us = { any = 2, alltoall = 6 }
[[set.without]]
algo = "msccl:*LL128*"
why = "label"
[[set.without]]
collective = ["alltoall"]
gpus = [5]
from = "1K"
below = "2K"
why = "window"
[[set.without]]
nodes = [8, 64]
why = "slow"
`)
	if err != nil {
		t.Fatal(err)
	}
	s := m.Set("a")
	for _, tc := range []struct {
		row  Row
		want string
	}{
		{Row{Algo: "msccl:ag_LL128_1", Bytes: 8}, "label"},
		{Row{Algo: "msccl:ag_LL_1", Bytes: 8}, ""},
		{Row{Collective: "alltoall", GPUs: 5, Bytes: 1024}, "window"},
		{Row{Collective: "alltoall", GPUs: 5, Bytes: 1023}, ""},
		{Row{Collective: "alltoall", GPUs: 5, Bytes: 2048}, ""},
		{Row{Collective: "alltoall", GPUs: 4, Bytes: 1024}, ""},
		{Row{Collective: "allgather", GPUs: 5, Bytes: 1024}, ""},
		{Row{Nodes: 64, Bytes: 8}, "slow"},
		{Row{Nodes: 4, Bytes: 8}, ""},
	} {
		if got := s.whyNot(&tc.row); got != tc.want {
			t.Errorf("%+v: %q, want %q", tc.row, got, tc.want)
		}
	}
	if s.host(&Row{Collective: "alltoall", GPUs: 4}) != 24 || s.host(&Row{Collective: "broadcast", GPUs: 4}) != 8 {
		t.Error("4 GPUs: want 24 us for an all-to-all, and 8 for others")
	}
}

func TestLabels(t *testing.T) {
	m, _ := repository(t)
	for _, tc := range []struct{ label, want, protocol string }{
		{"msccl:ag_ring_ll_8_2", "ring channels=8 ×2", "ll"},
		{"msccl:ag_allpair_simple_x_4", "all-pairs ×4", "simple"},
		{"msccl:ar_allpair_LL128_x_1", "msccl-all-pairs ×1", "LL128"},
		{"msccl:something", "", ""},
	} {
		got, protocol := m.variants(tc.label)
		if name := ""; len(got) > 0 {
			name = got[0].String()
			if name != tc.want || protocol != tc.protocol {
				t.Errorf("%s: %s %s, want %s %s", tc.label, name, protocol, tc.want, tc.protocol)
			}
		} else if tc.want != "" {
			t.Errorf("%s: nothing, want %s", tc.label, tc.want)
		}
	}
}

// Both forms of data set are read: nccl-tests' columns, and the libraries' tables.
func TestReadRows(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       Row
	}{
		{"runs", "collective,nodes,gpus_per_node,bytes,algo,proto,time_us,algbw_gbps,busbw_gbps,inplace\nall_gather,2,8,1024,nccl-auto,auto,12.5,0,0,1\n",
			Row{"s", "allgather", 2, 8, true, "f64", Auto, Auto, 1024, 12.5, ""}},
		{"libraries", "gpus,collective,dtype,bytes,library,version,kernel,mode,time_us\n4,allreduce,half,512,vllm,1,x,x,3\n4,allreduce,half,512,nccl,2.27.3,NCCL,NCCL,8.98\n",
			Row{"s", "allreduce", 1, 4, false, "f16", Auto, Auto, 512, 8.98, "2.27.3"}},
	} {
		rows, err := ReadRows("f.csv", strings.NewReader(tc.text), &Set{Name: "s", DType: "f64", Library: "nccl"})
		if err != nil || len(rows) != 1 || rows[0] != tc.want {
			t.Errorf("%s: %+v %v, want %+v", tc.name, rows, err, tc.want)
		}
	}
	for text, want := range map[string]string{
		"":                                   "f.csv: EOF",
		"collective,bytes,time_us\n":         "no column gpus or gpus_per_node",
		"collective,bytes,time_us,gpus\nx,1": "wrong number of fields",
		"collective,bytes,time_us,gpus\nallreduce,1,-1,2\n":         "line 2: want at least one node",
		"collective,bytes,time_us,gpus\nallreduce,1,1,0\n":          "line 2: want at least one node",
		"collective,bytes,time_us,gpus\nallreduce,k,1,2\n":          "line 2: strconv.ParseInt",
		"collective,bytes,time_us,gpus\nallreduce,1,nan,2\n":        "line 2: want at least one node",
		"collective,bytes,time_us,gpus,dtype\nallreduce,1,1,2,f3\n": "line 2: unknown dtype",
	} {
		if _, err := ReadRows("f.csv", strings.NewReader(text), &Set{Name: "s", DType: "f32"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// What is written is read back.
func TestWriteRows(t *testing.T) {
	var kept []Compared
	for size := int64(8); size <= 8<<9; size *= 2 {
		kept = append(kept, Compared{Row: Row{"a", "allreduce", 1, 8, true, "f32", Auto, Auto, size, 2.5, "2.29.2"}})
	}
	var out bytes.Buffer
	if err := WriteRows(&out, kept); err != nil {
		t.Fatal(err)
	}
	again, err := ReadRows("f.csv", &out, &Set{})
	if err != nil || len(again) != len(kept) || again[2] != kept[2].Row {
		t.Errorf("%+v %v: want %+v", again, err, kept)
	}
}

// A host that launches on one GPU after another hides what is faster than that.
func TestHostFloor(t *testing.T) {
	m, err := ParseManifest("m.toml", "[[set]]\nname = \"a\"\ntopology = \"l40s-4\"\nhost_us = { any = 50 }\n")
	if err != nil {
		t.Fatal(err)
	}
	rows := []Row{{"a", "allreduce", 1, 4, true, "f32", Auto, Auto, 1024, 220, ""}}
	compared, unused, err := Compare(t.Context(), m, rows, 1)
	if err != nil || len(unused) > 0 || compared[0].SimulatedUS != 200 {
		t.Fatalf("%+v %v %v: want four times 50 us", compared, unused, err)
	}
	if c := compared[0]; c.Call.Clock != intervals.Instructions || c.Call.Protocol == "" || c.Machine != "a" {
		t.Errorf("%+v: want a program's call, on the machine that the set is named for", c)
	}
}

// How a set was measured changes what is simulated: threads that launch late, protocols
// that its library had, and calls that follow back to back.
func TestConditions(t *testing.T) {
	times := func(condition, collective string) Compared {
		t.Helper()
		m, err := ParseManifest("m.toml", "[[set]]\nname = \"a\"\ntopology = \"dgx-a100\"\n"+condition)
		if err != nil {
			t.Fatal(err)
		}
		compared, unused, err := Compare(t.Context(), m, []Row{{"a", collective, 1, 8, true, "f32", Auto, Auto, 16 << 20, 100, ""}}, 1)
		if err != nil || len(unused) > 0 {
			t.Fatalf("%s: %v %v", condition, unused, err)
		}
		return compared[0]
	}
	alone := times("", "allreduce")
	if late := times("late_us = { allreduce = 29 }\n", "allreduce"); math.Abs(late.SimulatedUS-alone.SimulatedUS-29) > 1e-9 {
		t.Errorf("%.2f us with threads that launch 29 us late, %.2f without", late.SimulatedUS, alone.SimulatedUS)
	}
	if few := times("protocols = { any = [\"LL\"], allreduce = [\"LL\", \"Simple\"] }\n", "allreduce"); few.Name != "ring ×24 Simple" || alone.Name != "ring ×24 LL128" {
		t.Errorf("%s without LL128, %s with it", few.Name, alone.Name)
	}
	// 8 GPUs that each pass on 16 MiB take 16 MiB ÷ 230 GB/s in any case.
	whole, interval := times("", "broadcast"), times("back_to_back = [\"broadcast\"]\n", "broadcast")
	if interval.SimulatedUS > 0.6*whole.SimulatedUS || interval.SimulatedUS < 73 {
		t.Errorf("a broadcast of %.1f us, %.1f us from call to call", whole.SimulatedUS, interval.SimulatedUS)
	}
	if pair := times("back_to_back = [\"broadcast\"]\n", "allreduce"); pair.SimulatedUS != alone.SimulatedUS {
		t.Errorf("an all-reduce of %.1f us, %.1f us where broadcasts follow back to back", alone.SimulatedUS, pair.SimulatedUS)
	}
}

func FuzzReadRows(f *testing.F) {
	f.Add("collective,nodes,gpus_per_node,bytes,algo,proto,time_us,inplace\nall_gather,2,8,1024,auto,auto,12.5,1\n")
	f.Add("gpus,collective,dtype,bytes,library,time_us\n4,allreduce,half,512,nccl,8.98\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadRows("f.csv", strings.NewReader(text), &Set{Name: "s", DType: "f32"})
		for _, r := range rows {
			if err == nil && (r.Nodes < 1 || r.GPUs < 1 || r.Bytes < 1 || !(r.TimeUS > 0)) {
				t.Errorf("%q: accepted %+v", text, r)
			}
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	f.Add("[[set]]\nname = \"a\"\ntopology = \"mi300x\"\n[[set.without]]\nalgo = \"x*\"\nbelow = \"1M\"\nwhy = \"y\"\n[[program]]\nlabel = \"p_{instances}\"\nany = [{ family = \"ring\" }]\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseManifest("m.toml", text)
		if err != nil {
			return
		}
		for i := range m.Sets {
			m.Sets[i].whyNot(&Row{Algo: "msccl:p_1", Bytes: 1})
		}
		m.variants("p_1")
	})
}
