package topologies

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// example returns the file that the documentation shows.
func example(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../docs/topologies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```toml\n")
	toml, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("docs/topologies.md shows no TOML")
	}
	return toml
}

func TestDocumentedExample(t *testing.T) {
	top, err := Read("square.toml", []byte(example(t)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, ok := top.Path(0, 5)
	if !ok || !p.Net || p.Latency != 2.7 || len(p.Edges) != 4 {
		t.Errorf("path 0 to 5 is %+v, %v", p, ok)
	}
	if e := top.Edges[p.Edges[1]]; e.Message != 1 || e.Bandwidth != 12.5e9 {
		t.Errorf("out of the NIC: %+v", e)
	}
	if p, ok = top.Path(0, 1); !ok || top.Edges[p.Edges[0]].Bandwidth != 50e9 || top.Edges[p.Edges[0]].Count != 2 {
		t.Errorf("path 0 to 1 is %+v, %v", p, ok)
	}
	if top.Linked(0, 2) {
		t.Error("opposite corners are linked: through a NIC of their own node?")
	}
	if got, want := top.Protocols[LL128].Wire, 16.0/15; got != want {
		t.Errorf("LL128 puts %v bytes on the wire, want %v", got, want)
	}
	// Every constant of every protocol is documented, and in the example.
	for _, row := range constants {
		if !strings.Contains(example(t), "\n"+row.key+" ") {
			t.Errorf("%s is not in the example", row.key)
		}
	}
}

// TestDocumentationIsWhole: the documentation names every entry, generator and
// key there is.
func TestDocumentationIsWhole(t *testing.T) {
	text, err := os.ReadFile("../docs/topologies.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	names = append(append(names, Names()...), generatorKinds()...)
	names = append(names, architectures...)
	names = append(names, "serves", "sends", "receives", "at", "bus", "counted", "pairs", "among", "one_way", "memory", "like", "planes", "group",
		"oversubscription", "across", "[fabric.spine]", "[fabric.global]", "[[fabric.direct]]", "[[node.nic.far]]", "host")
	for _, row := range constants {
		names = append(names, row.key)
	}
	for _, name := range names {
		if name == "cdna2" || name == "cdna3" {
			continue // between cdna1 and cdna4
		}
		if !strings.Contains(string(text), "`"+name) && !strings.Contains(string(text), name+"`") {
			t.Errorf("%s is not documented", name)
		}
	}
}

// TestMSCCLFiles: RCCL takes its MSCCL files unless a file says otherwise, also of parts of
// the system and of its encoding.
func TestMSCCLFiles(t *testing.T) {
	text, err := os.ReadFile("catalogue/mi300x.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		library string
		without bool
	}{
		{"", false},
		{"[library]\nmsccl_files = true\nsource = \"ROCm 7.2\"\n", false},
		{"[library]\nmsccl_files = false\nsource = \"ROCm 7.13\"\n", true},
	} {
		top, err := Read("x.toml", append(slices.Clone(text), c.library...), Options{Nodes: 2})
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := Decode(top.Encode())
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []*Topology{top, decoded, top.Clone(), top.Node(0), top.FirstNodes(1)} {
			if at.NoMSCCLFiles != c.without {
				t.Errorf("%q: without MSCCL files: %t", c.library, at.NoMSCCLFiles)
			}
		}
	}
}

// TestErrors edits the documented example and looks for errors at the line that
// was edited.
// TestNoLL128: a file without the table of LL128 is of a system without it. Neither
// calibrating nor encoding gives it one.
func TestNoLL128(t *testing.T) {
	top, err := Resolve("mi300x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := Decode(top.Encode())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []*Topology{top, decoded, top.Calibrated(Calibration{Launch: 1, Speed: 2})} {
		if got := at.HasProtocols(); !slices.Equal(got, []Proto{LL, Simple}) || at.Has(LL128) || at.CheckProtocol(Simple) != nil {
			t.Errorf("protocols are %v", got)
		}
		if err := at.CheckProtocol(LL128); err == nil || !strings.Contains(err.Error(), "no [protocol.LL128] in its file") || !strings.Contains(err.Error(), "want one of LL, Simple") {
			t.Errorf("%v", err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		at             string // text on the line to blame; "" for no line
		want           string
	}{
		{"a path for a name", `name    = "square"`, `name = "../square"`, "../square", `name: "../square" is not a name`},
		{"a hidden name", `name    = "square"`, `name = ".square"`, ".square", `not beginning with .`},
		{"syntax", `nodes   = 2`, `nodes   = = 2`, "nodes   =", "="},
		{"unknown key", `sms    = 80`, "smss   = 80\nsms    = 80", "smss", `node.smss: unknown key (did you mean sms?)`},
		{"unknown top-level key", `nodes   = 2`, "node_count = 3\nnodes = 2", "node_count", "node_count: unknown key"},
		{"unknown table", "[fabric]", "[fabrics]\nx = 1\n[fabric]", "[fabrics]", `fabrics: unknown key (did you mean fabric?)`},
		{"quoted unknown key", `sms    = 80`, "\"s m\" = 1\nsms = 80", `"s m"`, `unknown key`},
		{"bad unit", `latency = "1.3 us"`, `latency = "1.3 uss"`, "uss", `fabric.latency: "1.3 uss" is not a time`},
		{"no unit", `latency = "1.3 us"`, `latency = 1.3`, "latency = 1.3", `fabric.latency: 1.3 has no unit`},
		{"negative", `latency = "1.3 us"`, `latency = "-1.3 us"`, "-1.3", "is not a time"},
		{"infinite", `latency = "1.3 us"`, `latency = "99999999999 s"`, "9999", "out of range"},
		{"zero bandwidth", `bandwidth = "100 Gb/s"`, `bandwidth = "0 Gb/s"`, `"0 Gb/s"`, "want more than 0"},
		{"vast bandwidth", `bandwidth = "100 Gb/s"`, `bandwidth = "9000000 TB/s"`, `9000000`, "node.nic[0].bandwidth: \"9000000 TB/s\" is out of range"},
		{"missing GPU of a link", `pairs     = [[1, 2], [3, 0]]`, `pairs = [[1, 2], [3, 4]]`, "[3, 4]", "node.link[1].pairs: gpu 4 is not there: the node has GPUs 0 to 3"},
		{"missing GPU of a NIC", `serves    = [[0, 1], [2, 3]]`, `serves = [[0, 1], [2, 7]]`, "[2, 7]", "node.nic[0].serves: gpu 7 is not there"},
		{"missing GPU of a switch", "[[node.nic]]", "[[node.switch]]\ngpus = [9]\nkind = \"pcie\"\nbandwidth = \"1 GB/s\"\nlatency = \"1 us\"\nsource = \"x\"\n[[node.nic]]", "gpus = [9]", "node.switch[0].gpus: gpu 9"},
		{"three GPUs in a pair", `[[1, 2], [3, 0]]`, `[[1, 2, 3], [3, 0]]`, "[1, 2, 3]", "want two GPUs"},
		{"link to itself", `[[1, 2], [3, 0]]`, `[[1, 1], [3, 0]]`, "[1, 1]", "gpu 1 is named twice"},
		{"pairs that are words", `[[1, 2], [3, 0]]`, `"ring"`, `"ring"`, "want pairs of GPUs"},
		{"link twice", `[[1, 2], [3, 0]]`, `[[1, 2], [3, 0], [1, 0]]`, "[[node.link]]", "gpu 1 and gpu 0 are joined twice by nvlink"},
		{"pairs and among", `pairs     = [[1, 2], [3, 0]]`, "pairs = [[1, 2]]\namong = \"all\"", "among", "want one of them"},
		{"disconnected", "nodes   = 2\n", "nodes = 1\n", "", ""}, // the square alone is connected: no error
		{"zero nodes", `nodes   = 2`, `nodes = 0`, "nodes = 0", "nodes: 0 is out of range: want a whole number from 1 to 65536"},
		{"no nodes", "nodes   = 2\n", "", "", "nodes: missing"},
		{"negative nodes", `nodes   = 2`, `nodes = -1`, "nodes = -1", "-1 is out of range"},
		{"nodes as words", `nodes   = 2`, `nodes = "two"`, `"two"`, `"two" is a string: want a whole number from 1 to 65536, or kinds of node such as ["big", "small"]`},
		{"nodes of kinds that are numbers", `nodes   = 2`, `nodes = [1, 2]`, "nodes = [1, 2]", "nodes: 1: want a number, or kinds of node"},
		{"a quoted number", `gpus   = 4`, `gpus = "4"`, `"4"`, `node.gpus: "4" is a string: want a whole number from 1 to 65536, without quotes`},
		{"a broken number", `gpus   = 4`, `gpus = 4.5`, `4.5`, `node.gpus: 4.5 is a number: want a whole number from 1 to 65536`},
		{"a table for tables", "[[node.nic]]", "[node.nic]", "[node.nic]", "node.nic: it is one table: want tables [[node.nic]]"},
		{"another key of one letter more", `nodes   = 2`, `nodez = 2`, "nodez", `nodez: unknown key (did you mean nodes?)`},
		{"another table of one letter more", "[node]", "[nodez]", "[nodez]", `nodez: unknown key (did you mean node?)`},
		{"header not closed", "[node]", "[node", "[node", `"[node" is not closed: want [node]`},
		{"header half closed", "[[node.nic]]", "[[node.nic]", "[[node.nic]", `"[[node.nic]" is not closed: want [[node.nic]]`},
		{"string not closed", `name    = "square"`, `name    = "square`, `"square`, `a string that is not closed: want name = "square"`},
		{"no quotes", `latency = "1.3 us"`, `latency = 1.3 us`, "1.3 us", `a value without quotes: want latency = "1.3 us"`},
		{"a word without quotes", `runtime = "nccl"`, `runtime = nccl # ours`, "nccl", `a value without quotes: want runtime = "nccl"`},
		{"no equals sign", `runtime = "nccl"`, `runtime "nccl"`, "runtime ", `no = between a key and its value: want runtime = "nccl"`},
		{"a colon", `runtime = "nccl"`, `runtime: "nccl"`, "runtime: ", `no = between a key and its value: want runtime = "nccl"`},
		{"no value", `runtime = "nccl"`, `runtime =`, "runtime =", `runtime has no value`},
		{"no key", `runtime = "nccl"`, `= "nccl"`, `= "nccl"`, `a value without a key`},
		{"a word alone", `runtime = "nccl"`, "runtime", "runtime", `"runtime" alone: want a key and a value, runtime = …`},
		{"key twice", `sms    = 80`, "gpus = 80", "gpus = 80", `node.gpus is there already, in line 9: want it once`},
		{"list not closed", `serves    = [[0, 1], [2, 3]]`, "serves = [[0, 1], [2, 3]", "serves = [[0", `a list that is not closed: want ] at its end`},
		{"absurd nodes", `nodes   = 2`, `nodes = 65536`, "nodes = 65536", "262144 ranks: want at most 65536"},
		{"absurd GPUs", `gpus   = 4`, `gpus = 70000`, "gpus = 70000", "out of range"},
		{"absurd count", `count     = 2`, `count = 2000`, "count = 2000", "2000 is out of range: want a whole number from 1 to 1024"},
		{"no such kind", "kind      = \"nvlink\"\ncount ", "kind = \"nvlnk\"\ncount ", "nvlnk", `unknown value "nvlnk" (did you mean nvlink?)`},
		{"NCCL's files", `runtime = "nccl"`, "runtime = \"nccl\"\nlibrary = { msccl_files = false, source = \"ours\" }", "library", "NCCL ships none"},
		{"no such runtime", `runtime = "nccl"`, `runtime = "mpi"`, `"mpi"`, "want one of nccl, rccl"},
		{"no source", `source  = "measured"`, ``, "[fabric]", "fabric.source: missing"},
		{"source of a number", `source  = "measured"`, `source = 5`, "source = 5", "fabric.source: want a string"},
		{"sources of some numbers", `others    = "measured"`, ``, "[node.nic.source]", "node.nic[0].source: says nothing of latency, message: want a source of each, or others"},
		{"no source in a table", "bandwidth = \"EDR InfiniBand\"\nothers    = \"measured\"\n", ``, "[node.nic.source]", "node.nic[0].source: says nothing of bandwidth, latency, message"},
		{"source of what is not there", `others    = "measured"`, "others = \"measured\"\nlatncy = \"measured\"", "latncy", `node.nic[0].source.latncy: unknown key (did you mean latency?): want one of bandwidth, latency, message, others, serves`},
		{"sources of all, and others", `source  = "measured"`, `source = {latency = "measured", others = "guessed"}`, "source = {", "fabric.source.others: stands for nothing: every number has a source of its own"},
		{"an empty source", `others    = "measured"`, `others = ""`, `others = ""`, "node.nic[0].source.others: want a string of 1 to 1000 bytes"},
		{"sources of sources", `others    = "measured"`, "others = \"measured\"\n[node.nic.source.source]\nx = \"y\"", "[node.nic.source.source]", "node.nic[0].source.source: unknown key"},
		{"no protocol", "[protocol.LL]", "[protocol.LL1]", "[protocol.LL", "protocol.LL: missing"},
		{"constant of another protocol", "pass        = \"4 KiB\"", "pass = \"4 KiB\"\nmin_copy = \"4 KiB\"", "min_copy", "protocol.LL.min_copy: LL has no such constant"},
		{"missing constant", `send_rate   = "20 GB/s"`, "", "[protocol.Simple]", "protocol.Simple.send_rate: missing"},
		{"tile of no unit known", `["512 KiB", "2 MiB"]`, `["512 KiB", "2 Mio"]`, "tiles       = [\"512 KiB\", \"2 Mio", `protocol.Simple.tiles: "2 Mio" is not a size`},
		{"falling tiles", `["512 KiB", "2 MiB"]`, `["2 MiB", "512 KiB"]`, "[protocol.Simple]", "want them rising"},
		{"tile not among tiles", `["512 KiB", "2 MiB"]`, `["512 KiB"]`, "[protocol.Simple]", "lack the tile"},
		{"wire of zero", `wire        = "16/15"`, `wire = "0/15"`, `"0/15"`, "out of range"},
		{"wire over zero", `wire        = "16/15"`, `wire = "16/0"`, `"16/0"`, "out of range"},
		{"wire below one", `wire        = "16/15"`, `wire = 0.5`, "[protocol.LL128]", "wire is 0.5: want 1 or more"},
		{"no fabric", "[fabric]\nname    = \"infiniband\"\nlatency = \"1.3 us\"\nsource  = \"measured\"\n", "", "", "fabric: missing"},
		{"no NICs", "[[node.nic]]\nserves    = [[0, 1], [2, 3]]\nbandwidth = \"100 Gb/s\"\nlatency   = \"0.7 us\"\nmessage   = \"1 us\"\n\n[node.nic.source]\nbandwidth = \"EDR InfiniBand\"\nothers    = \"measured\"\n", "", "nodes   = 2", "2 nodes and no NIC between them"},
		{"both ways and one", `serves    = [[0, 1], [2, 3]]`, "serves = [[0, 1], [2, 3]]\nsends = [[0]]", "serves = ", "want it, or sends and receives"},
		{"uneven NICs", `serves    = [[0, 1], [2, 3]]`, "sends = [[0], [1]]\nreceives = [[0]]", "receives", "1 groups, but sends has 2"},
		{"deep brackets", `pairs     = [[1, 2], [3, 0]]`, "pairs = " + strings.Repeat("[", 100000), "[[[[", "nested more than 16 deep"},
		{"deep key", `sms    = 80`, strings.Repeat("a.", 100000) + "a = 1", "a.a.a", "more than 8 parts"},
		{"deep inline key", `sms    = 80`, "sms = {x = 1, " + strings.Repeat("a.", 100000) + "a = 1}", "a.a.a", "more than 8 parts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := example(t)
			if !strings.Contains(before, c.old) {
				t.Fatalf("the example has no %q", c.old)
			}
			text := strings.Replace(before, c.old, c.new, 1)
			_, err := Read("bad.toml", []byte(text), Options{})
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var list ErrorList
			if !errors.As(err, &list) {
				t.Fatalf("error %v is no ErrorList", err)
			}
			where := "bad.toml: "
			if c.at != "" {
				for i, line := range strings.Split(text, "\n") {
					if strings.Contains(line, c.at) {
						where = fmt.Sprintf("bad.toml:%d: ", i+1)
						break
					}
				}
			}
			if !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %q and %q", err, where, c.want)
			}
		})
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	text := example(t)
	for old, new := range map[string]string{
		`latency = "1.3 us"`: `latency = "soon"`, `sms    = 80`: `sms = -1`, `slots       = 2`: `slotz = 2`,
		`serves    = [[0, 1], [2, 3]]`: `serves = [[0, 9]]`,
	} {
		text = strings.Replace(text, old, new, 1)
	}
	_, err := Read("bad.toml", []byte(text), Options{})
	var list ErrorList
	if !errors.As(err, &list) || len(list) != 5 {
		t.Fatalf("%v: want 5 errors", err)
	}
	last := 0
	for _, e := range list {
		if e.Line < last {
			t.Errorf("line %d after line %d", e.Line, last)
		}
		last = e.Line
	}
	var one *Error
	if !errors.As(err, &one) || one != list[0] {
		t.Error("errors.As does not find the first")
	}
}

func TestOneWayParts(t *testing.T) {
	text := strings.Replace(example(t), `serves    = [[0, 1], [2, 3]]`, "sends = [[1], [3]]\nreceives = [[0], [2]]", 1)
	text = strings.Replace(text, `pairs     = [[1, 2], [3, 0]]`, "one_way = true\npairs = [[1, 2], [3, 0]]", 1)
	top, err := Read("x.toml", []byte(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b int
		want bool
	}{{1, 4, true}, {1, 6, true}, {0, 4, false}, {1, 5, false}, {1, 2, true}, {2, 1, false}, {0, 1, true}, {1, 0, true}} {
		if got := top.Linked(c.a, c.b); got != c.want {
			t.Errorf("rank %d linked to %d: %v", c.a, c.b, got)
		}
	}
}
