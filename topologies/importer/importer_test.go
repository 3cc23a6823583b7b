package importer

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// shared returns the folder of files that others made; the test is skipped where it
// is absent.
func shared(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		found := filepath.Join(dir, "shared", "data", "nccl_topo")
		if _, err := os.Stat(found); err == nil {
			return found
		}
		if dir == filepath.Dir(dir) {
			t.Skip("shared/data/nccl_topo is not there")
		}
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func nic(t testing.TB, s string) NIC {
	t.Helper()
	n, err := ParseNIC(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// summary returns a system's GPUs, links and NICs as lines, each with how often it
// is there: what two descriptions of one machine must share.
func summary(top *topologies.Topology) []string {
	count := map[string]int{}
	end := func(v int) string {
		switch x := top.Vertices[v]; {
		case x.Kind == topologies.GPU:
			return fmt.Sprintf("gpu %d", top.Ranks[v].Local)
		case x.Kind == topologies.NIC:
			return x.Name
		default:
			return x.Kind.String()
		}
	}
	for _, r := range top.Ranks {
		count[fmt.Sprintf("gpu of %d SMs, memory %v", r.SMs, r.Memory)]++
	}
	for _, e := range top.Edges {
		count[fmt.Sprintf("%s > %s: %v %dx %v", end(e.From), end(e.To), e.Kind, e.Count, e.Bandwidth)]++
	}
	var lines []string
	for _, k := range slices.Sorted(maps.Keys(count)) {
		lines = append(lines, fmt.Sprintf("%d: %s", count[k], k))
	}
	return lines
}

// differences returns the lines that only one of two systems has, - and +.
func differences(a, b *topologies.Topology) (lines []string) {
	x, y := summary(a), summary(b)
	for _, l := range x {
		if !slices.Contains(y, l) {
			lines = append(lines, "- "+l)
		}
	}
	for _, l := range y {
		if !slices.Contains(x, l) {
			lines = append(lines, "+ "+l)
		}
	}
	return lines
}

// Each third-party file is imported, or refused with its reason.
func TestEveryDump(t *testing.T) {
	dir := shared(t)
	for _, c := range []struct {
		file string
		o    Options
		want string // ranks, links between GPUs, NICs; or a part of the reason
	}{
		{"aws-ofi-nccl__g5.48xl-topo.xml", Options{}, "run with NCCL_TOPO_DUMP_FILE set"},
		{"aws-ofi-nccl__p4d-24xl-topo.xml", Options{}, "8 GPUs, 0 links, 16 to switches, 4 NICs of 12.5 GB/s"},
		{"azhpc-images__ncv4-graph.xml", Options{}, "this is a graph file"},
		{"azhpc-images__ncv4-topo.xml", Options{}, "4 GPUs, 0 links, 20 to switches, 1 NICs of 12.5 GB/s"},
		{"azhpc-images__ndv4-topo.xml", Options{}, "want --gpu with one of v100"},
		{"azhpc-images__ndv4-topo.xml", Options{GPU: "a100"}, "want --nic with a bandwidth"},
		{"azhpc-images__ndv4-topo.xml", Options{GPU: "a100", NIC: NIC{None: true}}, "8 GPUs, 0 links, 16 to switches, no NICs"},
		{"azhpc-images__ndv4-topo.xml", Options{GPU: "a100", NIC: nic(t, "25GB/s")}, "8 GPUs, 0 links, 16 to switches, 8 NICs of 25 GB/s"},
		{"azhpc-images__ndv4-topo.xml", Options{GPU: "v100", NIC: nic(t, "25GB/s")}, "how its 8 v100 are joined"},
		{"azhpc-images__ndv5-topo.xml", Options{GPU: "h100", NIC: nic(t, "400Gb/s")}, "8 GPUs, 0 links, 16 to switches, 8 NICs of 50 GB/s"},
		{"rccl-topo_expl__topo_4p3l.xml", Options{}, "4 GPUs, 12 links, 0 to switches, 1 NICs of 1.25 GB/s"},
		{"rccl-topo_expl__topo_8p6l.xml", Options{}, "8 GPUs, 48 links, 0 to switches, 1 NICs of 25 GB/s"},
		{"rccl-topo_expl__topo_8p_90a.xml", Options{}, "8 GPUs, 24 links, 0 to switches, no NICs"},
		{"rccl-topo_expl__topo_8p_90a.xml", Options{Nodes: 2}, "2 nodes and no NIC between them"},
		{"rccl-topo_expl__topo_8p_940.xml", Options{}, "8 GPUs, 56 links, 0 to switches, 8 NICs of 50 GB/s"},
		{"rccl-topo_expl__topo_8p_940.xml", Options{GPU: "a100"}, "its GPUs are mi300x, not a100"},
		{"sugarlxn-nccl_test__nccl_topo.xml", Options{}, "4 GPUs, 0 links, 20 to switches, no NICs"},
		{"sugarlxn-nccl_test__nccl_topo.xml", Options{NIC: nic(t, "2x10GB/s"), Nodes: 3}, "12 GPUs, 0 links, 60 to switches, 2 NICs of 10 GB/s"},
	} {
		r, err := Import(c.file, read(t, filepath.Join(dir, c.file)), c.o)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %+v: %v; want %q", c.file, c.o, err, c.want)
			}
			continue
		}
		if got := sizes(t, r); got != c.want {
			t.Errorf("%s %+v: %s; want %s\n%s", c.file, c.o, got, c.want, r.TOML)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 11 {
		t.Fatalf("%d files, %v", len(files), err)
	}
}

// sizes sums a result up, its NICs as two nodes have them.
func sizes(t *testing.T, r *Result) string {
	top := r.Topology
	links, inner := 0, 0
	for _, e := range top.Edges {
		switch {
		case e.Kind == topologies.Net:
		case max(e.From, e.To) < len(top.Ranks):
			links++
		default:
			inner++
		}
	}
	s := fmt.Sprintf("%d GPUs, %d links, %d to switches, ", len(top.Ranks), links, inner)
	two, err := topologies.Read("two.toml", r.TOML, topologies.Options{Nodes: 2})
	if err != nil {
		return s + "no NICs"
	}
	count, speed := 0, ""
	for _, e := range two.Edges {
		if two.Vertices[e.To].Kind == topologies.Fabric && two.Vertices[e.From].Node == 0 {
			count++
			speed = e.Bandwidth.String()
		}
	}
	return s + fmt.Sprintf("%d NICs of %s", count, speed)
}

// TestLikeTheCatalogue compares what was imported with the catalogue's entry
// for the same machine, two nodes of each, and lists what differs.
func TestLikeTheCatalogue(t *testing.T) {
	dir := shared(t)
	for _, c := range []struct {
		file, entry string
		o           Options
		want        []string
	}{
		{"azhpc-images__ndv4-topo.xml", "ndv4", Options{GPU: "a100", NIC: nic(t, "25GB/s")}, nil},
		{"azhpc-images__ndv5-topo.xml", "dgx-h100", Options{GPU: "h100", NIC: nic(t, "50GB/s")}, nil},
		{"rccl-topo_expl__topo_8p_940.xml", "mi300x", Options{}, nil},
		// RCCL of that time wrote one link for each two GCDs that are joined,
		// and the machine has no network of note: as told, NICs are the same.
		{"rccl-topo_expl__topo_8p_90a.xml", "mi250x", Options{GPU: "mi250x", NIC: nic(t, "4x25GB/s")}, []string{
			"- 16: gpu of 110 SMs, memory 1638 GB/s", "+ 16: gpu of 104 SMs, memory 1638 GB/s",
			"2: gpu 0 > gpu 1: xgmi 4x 200 GB/s", "2: gpu 0 > gpu 6: xgmi 2x 100 GB/s", "2: gpu 2 > gpu 4: xgmi 2x 100 GB/s",
		}},
	} {
		r, err := Import(c.file, read(t, filepath.Join(dir, c.file)), c.o)
		if err != nil {
			t.Error(err)
			continue
		}
		mine, err := topologies.Read("imported.toml", r.TOML, topologies.Options{Nodes: 2})
		if err != nil {
			t.Fatal(err)
		}
		entry := topotest.Resolve(t, c.entry, 2)
		got := differences(entry, mine)
		if c.want == nil && len(got) > 0 {
			t.Errorf("%s is not as %s:\n%s", c.file, c.entry, strings.Join(got, "\n"))
		}
		for _, w := range c.want {
			if !slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, w) }) {
				t.Errorf("%s and %s do not differ in %q:\n%s", c.file, c.entry, w, strings.Join(got, "\n"))
			}
		}
		for _, l := range got {
			if !strings.Contains(l, "SMs") && !strings.Contains(l, "xgmi") {
				t.Errorf("%s and %s differ in more than links' counts: %s", c.file, c.entry, l)
			}
		}
		if mine.Runtime != entry.Runtime || mine.Arch != entry.Arch || mine.CPU != entry.CPU {
			t.Errorf("%s: %s, %s, %s; want %s, %s, %s", c.file, mine.Runtime, mine.Arch, mine.CPU, entry.Runtime, entry.Arch, entry.CPU)
		}
	}
}

// TestTexts imports texts in the shapes of the vendors' tools, and compares
// them with the catalogue's machines.
func TestTexts(t *testing.T) {
	for _, c := range []struct {
		file, entry string
		o           Options
	}{
		{"h100-8.txt", "dgx-h100", Options{GPU: "h100", CPU: "intel", NIC: nic(t, "400Gb/s")}},
		{"v100-8.txt", "dgx-1", Options{GPU: "v100", CPU: "intel", NIC: nic(t, "100Gb/s")}},
		{"a100-4.txt", "perlmutter", Options{GPU: "a100", CPU: "amd", NIC: nic(t, "4x21GB/s")}},
		{"l40s-4.txt", "", Options{GPU: "l40s", CPU: "amd", NIC: nic(t, "25GB/s")}},
		{"t4-8.txt", "", Options{GPU: "t4", NIC: nic(t, "12.5GB/s")}},
		{"a100-pcie-8.txt", "", Options{GPU: "a100-pcie", Nodes: 4, IBStat: read(t, "testdata/a100-pcie-8.ibstat")}},
		{"mi300x-8.txt", "mi300x", Options{GPU: "MI300X", CPU: "intel", NIC: nic(t, "400Gb/s")}},
		{"mi250x-8.txt", "", Options{GPU: "mi250x", NIC: nic(t, "4x25GB/s")}},
		{"mi210-pcie.txt", "", Options{GPU: "mi210", NIC: NIC{None: true}}},
		{"power9.xml", "lassen", Options{}},
		{"switch.xml", "", Options{}},
		{"nested.xml", "", Options{GPU: "l40s"}},
	} {
		r, err := Import(c.file, read(t, "testdata/"+c.file), c.o)
		if err != nil {
			t.Error(err)
			continue
		}
		golden := "testdata/" + c.file + ".toml"
		if os.Getenv("COLLTUNE_GOLDEN") != "" {
			if err := os.WriteFile(golden, r.TOML, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(string(read(t, golden)), string(r.TOML)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.file, diff)
		}
		again, err := Import(c.file, read(t, "testdata/"+c.file), c.o)
		if err != nil || !bytes.Equal(again.TOML, r.TOML) {
			t.Errorf("%s: not the same twice: %v", c.file, err)
		}
		if c.entry == "" {
			continue
		}
		mine, err := topologies.Read("x.toml", r.TOML, topologies.Options{Nodes: 2})
		if err != nil {
			t.Error(err)
			continue
		}
		entry := topotest.Resolve(t, c.entry, 2)
		if got := differences(entry, mine); len(got) > 0 {
			t.Errorf("%s is not as %s:\n%s", c.file, c.entry, strings.Join(got, "\n"))
		}
	}
}

// TestRefuses gives what cannot be imported, and wants to be told why.
func TestRefuses(t *testing.T) {
	xml := func(inside string) string { return `<system version="1"><cpu numaid="0">` + inside + `</cpu></system>` }
	gpu := func(bus, more string) string {
		return `<pci busid="` + bus + `" class="0x030200"><gpu dev="0" sm="80" rank="0"` + more + `/></pci>`
	}
	table := "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n"
	rocm := string(read(t, "testdata/mi300x-8.txt"))
	for _, c := range []struct {
		name, text string
		o          Options
		want       string
	}{
		{"nothing", "", Options{}, "unknown format: want the text of NCCL topology XML, rocm-smi --showtopo, nvidia-smi topo -m"},
		{"words", "hello there", Options{}, "unknown format"},
		{"not closed", "<system version=\"1\">\n<cpu>", Options{}, "line 2: not XML"},
		{"two roots", "<system version=\"1\"/><system/>", Options{}, "<system> after the end of <system>"},
		{"another version", `<system version="7"/>`, Options{}, `line 1: <system>: version "7": want 1 (NCCL) or 2 (RCCL)`},
		{"no version", `<system/>`, Options{}, `version ""`},
		{"another root", `<html/>`, Options{}, "<html>: want <system>"},
		{"an algorithm", `<algo name="x"/>`, Options{}, "colltune verify"},
		{"no GPUs", xml(""), Options{}, "no GPUs in it"},
		{"unranked", xml(`<pci busid="1"><gpu dev="0" sm="80"/></pci>`), Options{}, "its 1 GPUs have no rank"},
		{"entity", "<system version=\"1\">&bomb;</system>", Options{}, "not XML"},
		{"deep", strings.Repeat("<pci>", 100), Options{}, "nested more than 64 deep"},
		{"long", strings.Repeat("<a/>", 1<<20) + "<", Options{}, "want at most 4194304"},
		{"many elements", "<system>" + strings.Repeat("<a/>", maxElements) + "</system>", Options{}, "more than 100000 elements"},
		{"same bus", xml(gpu("a", "") + gpu("a", "")), Options{}, `busid "a": want one of its own`},
		{"bad rank", xml(`<pci busid="1"><gpu rank="x" sm="80"/></pci>`), Options{}, `rank="x": want a whole number`},
		{"bad width", xml(`<pci busid="1" class="0x030000" link_width="-4"/>`), Options{}, `link_width="-4": want a whole number from 0 to 64`},
		{"bad count", xml(`<pci busid="1"><gpu rank="0" sm="80"><nvlink target="1" count="0"/></gpu></pci>`), Options{}, `count="0": want a whole number from 1 to 1024`},
		{"two kinds", xml(gpu("a", "") + `<pci busid="b"><gpu rank="1" sm="90"/></pci>`), Options{}, "not like the first"},
		{"two hosts", `<system version="1"><cpu host_hash="1"/><cpu host_hash="2"/></system>`, Options{}, "it describes 2 machines"},
		{"unknown GPU", xml(gpu("a", "")), Options{GPU: "a101"}, `unknown GPU "a101" (did you mean a100?): want --gpu with one of`},
		{"many GPUs", xml(strings.Repeat(`<pci class="0x030000"/>`, maxDevices+1)), Options{}, "257 GPUs and 0 NICs: want at most 256"},
		{"a wide table", "GPU0 " + strings.Repeat("GPU1 ", 1000) + "\n", Options{GPU: "t4"}, "a header of 1001 names: want at most 512 devices"},
		{"no model", table, Options{}, "want --gpu"},
		{"strange cell", strings.Replace(table, "SYS", "FAR", 1), Options{GPU: "t4"}, `GPU0 to GPU1 is "FAR": want X, NV and a number`},
		{"no diagonal", strings.Replace(table, " X ", "SYS", 1), Options{GPU: "t4"}, `GPU0 to itself is "SYS"`},
		{"short row", "GPU0 GPU1\nGPU0 X\nGPU1 SYS X\n", Options{GPU: "t4"}, "row GPU0 of 1 cells: want 2"},
		{"no header", "GPU0 X SYS\nGPU1 SYS X\n", Options{GPU: "t4"}, "the header of the table is missing"},
		{"rocm without weights", rocm[strings.Index(rocm, "= Link"):], Options{GPU: "mi300x"}, `no table "Weight between two GPUs"`},
		{"rocm with words for weights", strings.Replace(rocm, "15", "many", 1), Options{GPU: "mi300x"}, `is "many": want a whole number`},
		{"rocm with another link", strings.Replace(rocm, "XGMI", "RADIO", 1), Options{GPU: "mi300x"}, `is "RADIO": want XGMI or PCIE`},
		{"nodes without NICs", table, Options{GPU: "t4", Nodes: 2}, "2 nodes and no NIC between them: want --nic"},
	} {
		_, err := Import("some.txt", []byte(c.text), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "some.txt: ") {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	for _, s := range []string{"25", "0x25GB/s", "manyx25GB/s", "-1x25GB/s", ""} {
		if n, err := ParseNIC(s); err == nil {
			t.Errorf("%q is %+v", s, n)
		}
	}
}

// TestModels: every GPU's protocols are those of an entry there is, and its
// numbers can be written.
func TestModels(t *testing.T) {
	for _, m := range models {
		if !slices.Contains(topologies.Names(), m.like) {
			t.Errorf("%s is like %s, which is not in the catalogue", m.name, m.like)
		}
		text := "\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n"
		r, err := Import("two.txt", []byte(text), Options{GPU: m.name, NIC: NIC{Bandwidth: 1e9}, Nodes: 2})
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		} else if r.Topology.Ranks[0].SMs != m.sms {
			t.Errorf("%s has %d SMs", m.name, r.Topology.Ranks[0].SMs)
		}
	}
	for _, s := range shapes {
		m := modelNamed(s.model)
		if m == nil || s.hub > m.links || s.mesh*(s.gpus-1) > m.links {
			t.Errorf("%+v: not with that GPU's links", s)
		}
	}
}

func FuzzImport(f *testing.F) {
	for _, pattern := range []string{"testdata/*.txt", "testdata/*.xml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			f.Add(read(f, file), "", false)
			f.Add(read(f, file), "mi250x", true)
		}
	}
	f.Add([]byte(`<system version="2"><cpu numaid="0"><pci busid="a" class="0x038000"><gpu rank="0" sm="110" gcn="910"/></pci></cpu></system>`), "", false)
	f.Add([]byte("GPU0 GPU1 NIC0 CPU\nGPU0 X NV4 PIX 0\nGPU1 NV4 X SYS 0\nNIC0 PIX SYS X\n"), "a100", true)
	f.Fuzz(func(t *testing.T, text []byte, gpu string, nics bool) {
		o := Options{GPU: gpu}
		if nics {
			o.NIC, o.Nodes = NIC{Count: 2, Bandwidth: 25e9}, 2
		}
		r, err := Import("fuzz", text, o)
		if err == nil && r.Topology.Nodes != max(o.Nodes, 1) {
			t.Errorf("%d nodes", r.Topology.Nodes)
		}
		if err != nil && strings.Contains(err.Error(), "what it describes is no system") && !strings.Contains(err.Error(), "disconnected") {
			t.Errorf("wrote what does not read back: %v", err)
		}
	})
}
