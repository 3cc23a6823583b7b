package nccl_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

var updateSelected = flag.String("update-selected", "", "ask the programs of this folder, VERSION/oracle, and write "+selectedFile)

const (
	selectedFile = "testdata/selected.gz"
	perRelease   = 20_000 // questions
	perSum       = 100    // questions whose times have one checksum
)

// asked are the releases whose own tuning code was asked.
func asked() (all []*nccl.Release) {
	for _, number := range []int{22606, 22707, 22809, 22902, 22907, 23007, 23102} {
		all = append(all, nccl.RowFor(number))
	}
	return all
}

// TestSelected has the model choose as NCCL's own code does: testdata has what its tuning.cc and enqueue.cc
// (from 2.31 on src/tuning) of github.com/NVIDIA/nccl v2.26.6-1, v2.27.7-1, v2.28.9-1, v2.29.2-1, v2.29.7-1 and v2.30.7-1, and of
// meta-pytorch/torchcomms 59426ba4 (2.31.2), built with g++ -O1 on x86-64 without CUDA, answered to the same
// questions. Times are compared to the last bit, by their checksums.
func TestSelected(t *testing.T) {
	if *updateSelected != "" {
		writeSelected(t, *updateSelected)
	}
	want := readSelected(t)
	for i, r := range asked() {
		var wrong, late int
		times := crc32.NewIEEE()
		for n := range perRelease {
			q := question(i*perRelease + n)
			got := answer(r, q)
			if w := want.at(i*perRelease + n); got.choice != w {
				if wrong++; wrong <= 5 {
					t.Errorf("%s: %v of %+v on %+v, want %v", r.Version, got.choice, q.call, q.on, w)
				}
			}
			binary.Write(times, binary.LittleEndian, got.us)
			if n%perSum == perSum-1 {
				if times.Sum32() != want.sums[(i*perRelease+n)/perSum] {
					late++
				}
				times.Reset()
			}
		}
		if wrong > 0 || late > 0 {
			t.Errorf("%s: %d of %d choices differ, and times in %d of %d parts", r.Version, wrong, perRelease, late, perRelease/perSum)
		}
	}
}

// choice is an answer: an algorithm, by NCCL's number, a protocol, channels and warps.
type choice struct{ algorithm, protocol, channels, warps byte }

type answered struct {
	choice
	us float32
}

// ncclAlgos are NCCL's numbers of the algorithms; 2 and 3 are CollNet's.
var ncclAlgos = map[nccl.Algo]byte{nccl.Tree: 0, nccl.Ring: 1, nccl.NVLS: 4, nccl.NVLSTree: 5, nccl.PAT: 6}

func answer(r *nccl.Release, q asking) answered {
	tuning := r.Tune(&q.on)
	all := tuning.Ranked(q.call, tuning.Takes)
	if len(all) == 0 {
		return answered{choice: choice{algorithm: 255}}
	}
	s := all[0]
	return answered{choice{ncclAlgos[s.Algo], byte(s.Protocol), byte(s.Channels), byte(s.Warps)}, float32(s.US)}
}

// selected are answers, field by field, and checksums of times.
type selected struct {
	fields [4][]byte
	sums   []uint32
}

func (s *selected) at(i int) choice {
	return choice{s.fields[0][i], s.fields[1][i], s.fields[2][i], s.fields[3][i]}
}

func readSelected(t *testing.T) (s selected) {
	t.Helper()
	file, err := os.ReadFile(selectedFile)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	n := len(asked()) * perRelease
	for i := range s.fields {
		s.fields[i] = make([]byte, n)
		if _, err := io.ReadFull(z, s.fields[i]); err != nil {
			t.Fatal(err)
		}
	}
	s.sums = make([]uint32, n/perSum)
	if err := binary.Read(z, binary.LittleEndian, s.sums); err != nil {
		t.Fatal(err)
	}
	return s
}

func writeSelected(t *testing.T, dir string) {
	t.Helper()
	var s selected
	for i, r := range asked() {
		var lines, out bytes.Buffer
		for n := range perRelease {
			fmt.Fprintln(&lines, question(i*perRelease+n))
		}
		run := exec.Command(filepath.Join(dir, r.Version, "oracle"))
		run.Stdin, run.Stdout, run.Stderr = &lines, &out, os.Stderr
		if err := run.Run(); err != nil {
			t.Fatal(err)
		}
		times := crc32.NewIEEE()
		scan := bufio.NewScanner(&out)
		for n := range perRelease {
			if !scan.Scan() {
				t.Fatalf("%s: %d answers", r.Version, n)
			}
			var c choice
			var us uint32
			if _, err := fmt.Sscanf(scan.Text(), "%d %d %d %d %x", &c.algorithm, &c.protocol, &c.channels, &c.warps, &us); err != nil {
				c = choice{algorithm: 255}
			}
			for f, v := range []byte{c.algorithm, c.protocol, c.channels, c.warps} {
				s.fields[f] = append(s.fields[f], v)
			}
			binary.Write(times, binary.LittleEndian, us)
			if n%perSum == perSum-1 {
				s.sums = append(s.sums, times.Sum32())
				times.Reset()
			}
		}
	}
	var file bytes.Buffer
	z, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.fields {
		z.Write(f)
	}
	binary.Write(z, binary.LittleEndian, s.sums)
	z.Close()
	if err := os.WriteFile(selectedFile, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// asking is a question: a call on a communicator.
type asking struct {
	on   nccl.Communicator
	call nccl.Call
}

// String is the question as the programs read it.
func (q asking) String() string {
	c := &q.on
	cpus := map[string][2]int{"intel": {1, 1}, "amd": {1, 2}, "mixed": {1, 4}, "arm": {3, -1}, "power": {2, -1}, "": {1, 3}}
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	pattern := func(p nccl.Pattern) string {
		return fmt.Sprintf("%d %v %v %d %d %d %v", p.Channels, p.Intra, p.Inter, p.PathIntra, p.PathInter, flag(p.Same), p.LatencyUS)
	}
	functions := []string{"broadcast", "reduce", "allgather", "reducescatter", "allreduce"}
	dtype := slices.Index(collective.MeasuredDTypes(), q.call.DType)
	elem, parts := collective.MeasuredBytes(q.call.DType), int64(1)
	op := map[string]int{"sum": 0, "prod": 1, "min": 2, "max": 2, "avg": 3}[q.call.Op]
	if q.call.Op == "avg" && dtype < 6 {
		op = 4 // integers are divided in the end
	}
	switch q.call.Collective {
	case "allgather", "broadcast": // of bytes there
		dtype, elem = 0, 1
	}
	switch q.call.Collective {
	case "allgather", "reducescatter":
		parts = int64(c.Ranks)
	}
	return fmt.Sprint(0, c.OldestGPU, c.NewestGPU, cpus[c.CPU][0], cpus[c.CPU][1], c.Nodes, c.Ranks, c.LeastLocal, c.MostLocal, c.NetGBps, flag(c.Switched), c.Channels,
		" ", pattern(c.Ring), " ", pattern(c.Tree), " ", pattern(c.NVLS), " ", flag(c.PlainTree),
		slices.Index(functions, q.call.Collective), op, dtype, q.call.Bytes/parts/elem)
}

// draw is a source of numbers: splitmix64.
type draw uint64

func (d *draw) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *draw) below(n int) int { return int(d.next() % uint64(n)) }

func (d *draw) one(in int) bool { return d.below(in) == 0 }

func pick[T any](d *draw, from []T) T { return from[d.below(len(from))] }

// tied is a question whose ring and tree take as long: both 16.8 us, and 19.5 GB/s by what LL has between two nodes.
var tied = asking{
	on: nccl.Communicator{Ranks: 2, Nodes: 2, LeastLocal: 1, MostLocal: 1, OldestGPU: 80, NewestGPU: 80, CPU: "intel", NetGBps: 50, Channels: 64,
		Ring: nccl.Pattern{Channels: 1, Intra: 39, Inter: 39, PathIntra: nccl.PathPHB, PathInter: nccl.PathPHB, LatencyUS: 0.1},
		Tree: nccl.Pattern{Channels: 32, Intra: 39, Inter: 39, PathIntra: nccl.PathPHB, PathInter: nccl.PathPHB},
	},
	call: nccl.Call{Collective: "allreduce", Op: "sum", DType: "f32", Bytes: 512},
}

// question is the i-th: half are on graphs of systems in the catalogue and others that NCCL's logs show, half
// on ones drawn from what its search may find.
func question(i int) (q asking) {
	if i%perRelease == 0 {
		return tied
	}
	d := draw(i)
	c := &q.on
	if d.one(2) {
		q.on = known(&d)
	} else {
		q.on = drawn(&d)
	}
	if c.Nodes > 1 && c.MostLocal > 1 && d.one(8) {
		c.LeastLocal = 1 + d.below(c.MostLocal)
		c.Ranks -= c.MostLocal - c.LeastLocal
	}
	q.call.Collective = pick(&d, []string{"broadcast", "reduce", "allgather", "reducescatter", "allreduce", "allreduce", "allreduce"})
	q.call.Op = pick(&d, []string{"sum", "sum", "sum", "sum", "prod", "min", "max", "avg"})
	q.call.DType = pick(&d, append(collective.MeasuredDTypes(), "f32", "bf16"))
	size := int64(1) << d.below(34)
	if d.one(2) {
		size += int64(d.next() % uint64(size))
	}
	element := collective.MeasuredBytes(q.call.DType)
	if q.call.Collective == "allgather" || q.call.Collective == "reducescatter" {
		element *= int64(c.Ranks)
	}
	q.call.Bytes = max(size/element, 1) * element
	return q
}

var (
	speeds = []float32{96, 90.2, 90, 86, 80, 70, 60, 50, 48, 45.1, 45, 42, 40, 30, 28, 24, 22.5, 22, 20, 18, 17.5, 15, 12, 12, 11, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2}
	nics   = []float32{0, 6, 12, 12.5, 24, 25, 48, 50, 96, 100}
	cpus   = []string{"intel", "amd", "arm", "intel", "amd", "arm", "power", "mixed", ""}
	paths  = []nccl.Path{nccl.PathPIX, nccl.PathPXB, nccl.PathPXB, nccl.PathP2C, nccl.PathPXN, nccl.PathPHB, nccl.PathSYS}
)

// drawn is a communicator of plausible numbers.
func drawn(d *draw) nccl.Communicator {
	c := nccl.Communicator{
		Nodes:     pick(d, []int{1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 32, 64}),
		OldestGPU: pick(d, []int{70, 80, 90, 100, 80, 90, 100, 60, 75, 86, 89, 103, 120}),
		CPU:       pick(d, cpus), NetGBps: pick(d, nics),
	}
	c.MostLocal = 1 + d.below(72)
	if d.one(2) {
		c.MostLocal = pick(d, []int{1, 2, 4, 4, 8, 8, 8, 16})
	}
	if c.Nodes == 1 {
		c.MostLocal = max(c.MostLocal, 2)
	}
	c.LeastLocal, c.Ranks = c.MostLocal, c.Nodes*c.MostLocal
	if c.NewestGPU = c.OldestGPU; d.one(12) {
		c.NewestGPU += 10
	}
	inside := pick(d, []nccl.Path{nccl.PathNVL, nccl.PathNVL, nccl.PathNVL, nccl.PathNVL, nccl.PathNVB, nccl.PathPIX, nccl.PathPHB, nccl.PathSYS})
	pattern := func(channels int) nccl.Pattern {
		p := nccl.Pattern{Channels: channels, Intra: pick(d, speeds), PathIntra: inside, PathInter: pick(d, paths), Same: d.one(2)}
		if p.Inter = p.Intra; d.one(2) {
			p.Inter = pick(d, speeds)
		}
		if c.Nodes == 1 {
			p.PathInter = nccl.PathLOC
		}
		if d.one(8) {
			p.LatencyUS = pick(d, []float32{1.5, 35, 75})
		}
		return p
	}
	channels := 1 + d.below(32)
	c.Ring, c.Tree = pattern(channels), pattern(channels)
	c.NVLS = pattern(d.below(33))
	c.Switched = c.OldestGPU >= 90 && !d.one(3)
	c.PlainTree = c.Nodes == 1 || d.one(3)
	if c.Channels = min(64, 2*channels); d.one(3) {
		c.Channels = 1 + d.below(64)
	}
	return c
}

// graphs are what the search finds of systems, on one node, on two, and on more: channels of rings and trees,
// their GB/s, that of trees inside a node on two, and the heads of NVLS with their GB/s.
var graphs = []struct {
	gpus, gpu int
	cpu       string
	nic       float32
	inside    nccl.Path
	nearest   nccl.Path
	channels  [2]int // on one node, on more
	rate      [2]float32
	tree      float32
	heads     [2]int
	head      [2]float32
}{
	{8, 80, "amd", 12.5, nccl.PathPHB, nccl.PathPIX, [2]int{1, 1}, [2]float32{15, 12}, 24, [2]int{0, 0}, [2]float32{0, 0}},
	{4, 90, "arm", 25, nccl.PathNVL, nccl.PathP2C, [2]int{12, 4}, [2]float32{30, 24}, 48, [2]int{4, 4}, [2]float32{60, 24}},
	{8, 90, "amd", 50, nccl.PathNVL, nccl.PathPIX, [2]int{12, 8}, [2]float32{30, 45}, 45, [2]int{8, 8}, [2]float32{50, 48}},
	{8, 70, "intel", 12.5, nccl.PathNVL, nccl.PathPIX, [2]int{6, 4}, [2]float32{20, 12}, 20, [2]int{0, 0}, [2]float32{0, 0}},
	{16, 70, "intel", 12.5, nccl.PathNVL, nccl.PathPIX, [2]int{6, 8}, [2]float32{20, 12}, 15, [2]int{0, 0}, [2]float32{0, 0}},
	{8, 80, "amd", 25, nccl.PathNVL, nccl.PathPXB, [2]int{12, 8}, [2]float32{20, 24}, 30, [2]int{0, 0}, [2]float32{0, 0}},
	{8, 100, "intel", 50, nccl.PathNVL, nccl.PathPXB, [2]int{16, 8}, [2]float32{45, 48}, 86, [2]int{8, 8}, [2]float32{90, 48}},
	{8, 103, "intel", 100, nccl.PathNVL, nccl.PathPXB, [2]int{16, 16}, [2]float32{45, 45.1}, 45.1, [2]int{8, 8}, [2]float32{90, 96}},
	{8, 90, "intel", 50, nccl.PathNVL, nccl.PathPHB, [2]int{12, 8}, [2]float32{30, 45}, 45, [2]int{8, 8}, [2]float32{50, 48}},
	{8, 90, "intel", 25, nccl.PathNVL, nccl.PathPXB, [2]int{12, 8}, [2]float32{30, 24}, 45, [2]int{8, 8}, [2]float32{50, 24}},
	{4, 90, "intel", 50, nccl.PathNVL, nccl.PathPXN, [2]int{16, 8}, [2]float32{20, 45}, 45, [2]int{4, 4}, [2]float32{60, 48}},
	{72, 100, "arm", 50, nccl.PathNVL, nccl.PathPXB, [2]int{16, 16}, [2]float32{45, 45.1}, 45.1, [2]int{32, 32}, [2]float32{20, 22}},
	{36, 100, "arm", 96, nccl.PathNVL, nccl.PathPXN, [2]int{16, 16}, [2]float32{45, 45.1}, 45.1, [2]int{32, 32}, [2]float32{20, 24}},
	{4, 100, "arm", 96, nccl.PathNVL, nccl.PathP2C, [2]int{16, 8}, [2]float32{45, 48}, 90, [2]int{4, 4}, [2]float32{90, 96}},
	{4, 80, "amd", 25, nccl.PathPHB, nccl.PathPIX, [2]int{1, 1}, [2]float32{15, 15}, 24, [2]int{0, 0}, [2]float32{0, 0}},
	{4, 70, "power", 12.5, nccl.PathNVL, nccl.PathPIX, [2]int{2, 2}, [2]float32{15, 12}, 24, [2]int{0, 0}, [2]float32{0, 0}},
	{6, 70, "power", 12.5, nccl.PathSYS, nccl.PathPHB, [2]int{1, 2}, [2]float32{30, 12}, 24, [2]int{0, 0}, [2]float32{0, 0}},
	{4, 80, "amd", 21, nccl.PathNVL, nccl.PathPHB, [2]int{12, 4}, [2]float32{20, 20}, 30, [2]int{0, 0}, [2]float32{0, 0}},
	{8, 120, "amd", 50, nccl.PathPHB, nccl.PathPIX, [2]int{1, 1}, [2]float32{16, 15}, 30, [2]int{0, 0}, [2]float32{0, 0}},
	{8, 75, "intel", 12.5, nccl.PathPHB, nccl.PathPIX, [2]int{1, 1}, [2]float32{10, 10}, 12, [2]int{0, 0}, [2]float32{0, 0}},
	{1, 80, "amd", 12, nccl.PathLOC, nccl.PathPHB, [2]int{1, 1}, [2]float32{12, 12}, 12, [2]int{0, 0}, [2]float32{0, 0}},
	{1, 90, "intel", 48, nccl.PathLOC, nccl.PathPIX, [2]int{1, 2}, [2]float32{24, 24}, 24, [2]int{0, 1}, [2]float32{0, 48}},
	{2, 90, "intel", 48, nccl.PathNVL, nccl.PathPIX, [2]int{16, 2}, [2]float32{20, 48}, 60, [2]int{2, 2}, [2]float32{60, 48}},
}

// known is a communicator on a system of graphs.
func known(d *draw) nccl.Communicator {
	g := pick(d, graphs)
	c := nccl.Communicator{
		Nodes: pick(d, []int{1, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 32, 64}), OldestGPU: g.gpu, NewestGPU: g.gpu, CPU: g.cpu,
		LeastLocal: g.gpus, MostLocal: g.gpus, NetGBps: g.nic, Switched: g.heads[0] > 0,
	}
	if g.gpus == 1 {
		c.Nodes++
	}
	c.Ranks = c.Nodes * g.gpus
	at := min(c.Nodes-1, 1)
	c.Ring = nccl.Pattern{Channels: g.channels[at], Intra: g.rate[at], Inter: g.rate[at], PathIntra: g.inside, Same: at == 0}
	if at == 1 {
		c.Ring.PathInter = g.nearest
	}
	c.Tree, c.NVLS = c.Ring, c.Ring
	if c.Nodes == 2 {
		c.Tree.Intra = g.tree
	}
	c.NVLS.Channels, c.NVLS.Intra, c.NVLS.Inter = g.heads[at], g.head[at], g.head[at]
	c.PlainTree = c.Nodes == 1
	c.Channels = min(2*c.Ring.Channels, 64)
	if c.OldestGPU >= 90 && c.Nodes > 1 && c.Ring.Intra > 45 && c.Channels < 16 {
		c.Channels *= 2
	}
	return c
}

// TestRowOf2323: what the notes of 2.32.3, whose source was not at hand, change: ceilings of LL on one node and of
// trees with LL128 over two, in GB/s, and up to where NVLSTree is corrected on ARM.
func TestRowOf2323(t *testing.T) {
	one := nccl.Communicator{Ranks: 8, Nodes: 1, LeastLocal: 8, MostLocal: 8, OldestGPU: 100, NewestGPU: 100, CPU: "arm", NetGBps: 100, Switched: true, PlainTree: true, Channels: 32,
		Ring: nccl.Pattern{Channels: 16, Intra: 45, Inter: 45, PathIntra: nccl.PathNVL, Same: true}}
	one.Tree = one.Ring
	two := one
	two.Ranks, two.Nodes, two.LeastLocal, two.MostLocal, two.PlainTree = 8, 2, 4, 4, false
	two.Tree.Channels, two.NVLS = 2, nccl.Pattern{Channels: 4, Intra: 96, Inter: 96, PathIntra: nccl.PathNVL, PathInter: nccl.PathPXB}
	two.Tree.Inter = 60
	two.Tree.Intra = 60
	for _, c := range []struct {
		what  string
		on    nccl.Communicator
		algo  nccl.Algo
		proto topologies.Proto
		bytes int64
		us    [2]float64 // of 2.31.2 and 2.32.3
	}{
		{"ring LL", one, nccl.Ring, topologies.LL, 1 << 20, [2]float64{6.6 + 14*.6 + (1<<20)/(282e3*8/14), 6.6 + 14*.6 + (1<<20)/(282.4e3*8/14)}},
		// Two channels of 31.67 or 36.7; half, and nothing off at 2^24 times 64.
		{"tree LL128", two, nccl.Tree, topologies.LL128, 1 << 30, [2]float64{14 + 2*(3*1.25+8.5) + (1<<30)/(31.67e3), 14 + 2*(3*1.25+8.5) + (1<<30)/(36.7e3)}},
		// Four heads of 0.74 of 2·96·3/4, at 2^20 times 64: 0.8 of it up to 2.31.2.
		{"NVLSTree", two, nccl.NVLSTree, topologies.Simple, 1 << 26, [2]float64{25 + 2*20.9 + (1<<26)/(.8*4*96e3*8/14), 25 + 2*20.9 + (1<<26)/(4*96e3*8/14)}},
		{"NVLSTree", two, nccl.NVLSTree, topologies.Simple, 1 << 25, [2]float64{25 + 2*20.9 + (1<<25)/(.7*4*96e3*8/14), 25 + 2*20.9 + (1<<25)/(.7*4*96e3*8/14)}},
	} {
		for i, number := range []int{23102, 23203} {
			got := float64(nccl.RowFor(number).Tune(&c.on).US(c.algo, c.proto, nccl.Call{Collective: "allreduce", Bytes: c.bytes}))
			if math.Abs(got-c.us[i]) > 1e-6*c.us[i] {
				t.Errorf("%d: %s of %d bytes: %v us, want %v", number, c.what, c.bytes, got, c.us[i])
			}
		}
	}
}

// TestTies: of equal times releases before 2.31 take the first pair, and later ones the last.
func TestTies(t *testing.T) {
	for number, want := range map[int]nccl.Algo{22707: nccl.Tree, 23007: nccl.Tree, 23102: nccl.Ring, 23203: nccl.Ring} {
		tuning := nccl.RowFor(number).Tune(&tied.on)
		tree, ring := tuning.US(nccl.Tree, topologies.LL, tied.call), tuning.US(nccl.Ring, topologies.LL, tied.call)
		if s := tuning.Ranked(tied.call, tuning.Takes)[0]; s.Algo != want || tree != ring {
			t.Errorf("%d: %+v, want %v; %v and %v us", number, s, want, tree, ring)
		}
	}
}

// TestChannels: rings and trees have twice the channels of the search, and Hopper's over nodes twice that where
// these are few and fast.
func TestChannels(t *testing.T) {
	for _, c := range []struct {
		topology    string
		gpus, nodes int
		want        int
	}{{"dgx-a100", 8, 1, 24}, {"dgx-a100", 6, 2, 12}, {"dgx-h100", 8, 2, 16}, {"dgx-h100", 6, 2, 24}, {"dgx-b200", 8, 1, 32}} {
		var gpus []int
		for g := range c.gpus {
			gpus = append(gpus, g)
		}
		top, err := topologies.Resolve(c.topology, topologies.Options{Nodes: c.nodes, GPUs: gpus})
		if err != nil {
			t.Fatal(err)
		}
		if got := nccl.NewSystem(top, nil, nil).Communicator(); got.Channels != c.want || got.Ranks != c.gpus*c.nodes {
			t.Errorf("%d GPUs of %d %s: %d channels, want %d", c.gpus, c.nodes, c.topology, got.Channels, c.want)
		}
	}
}

// TestNICsBehindChips: NCCL before 2.27 takes NICs at a Grace for those of any processor, too far for LL128.
func TestNICsBehindChips(t *testing.T) {
	top, err := topologies.Resolve("alps", topologies.Options{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	for number, want := range map[int]bool{22304: false, 22707: true, 23203: true} {
		on := nccl.NewSystem(top, nccl.RowFor(number), nil).Communicator()
		if got := nccl.RowFor(number).Tune(on).Takes(nccl.Ring, topologies.LL128); got != want {
			t.Errorf("%d: LL128 is taken: %v", number, got)
		}
	}
}

// TestRowFor: the newest row that is not newer.
func TestRowFor(t *testing.T) {
	for number, want := range map[int]string{20808: "2.26.6", 22705: "2.26.6", 22707: "2.27.7", 22805: "2.27.7", 22809: "2.28.9", 22902: "2.29.2", 22907: "2.29.7", 23004: "2.29.7", 23007: "2.30.7", 23205: "2.32.3"} {
		if got := nccl.RowFor(number); got.Version != want {
			t.Errorf("%d: %s, want %s", number, got.Version, want)
		}
	}
	var last int
	for _, r := range nccl.Releases() {
		if nccl.RowFor(r.Number) != r || r.Number <= last {
			t.Errorf("%+v after %d", r, last)
		}
		last = r.Number
	}
}

// TestRegisteredNVLS: the switches take registered buffers with fewer channels (ncclNvlsRegResourcesQuery).
func TestRegisteredNVLS(t *testing.T) {
	one := nccl.Communicator{Ranks: 8, Nodes: 1, LeastLocal: 8, MostLocal: 8, Switched: true, Channels: 24,
		Ring: nccl.Pattern{Channels: 12, Intra: 30, Inter: 30, PathIntra: nccl.PathNVL, Same: true},
		NVLS: nccl.Pattern{Channels: 8, Intra: 50, Inter: 60, PathIntra: nccl.PathNVL, PathInter: nccl.PathPXB}}
	two := one
	two.Ranks, two.Nodes = 16, 2
	for _, c := range []struct {
		number, gpu int
		on          nccl.Communicator
		net         float32
		none, user  int
	}{
		{22707, 90, one, 50, 16, 4}, {23203, 90, one, 50, 16, 4}, {23203, 100, one, 50, 24, 8},
		{23203, 90, two, 50, 16, 6}, {22907, 100, two, 100, 32, 7}, {23007, 100, two, 100, 32, 10}, {23007, 100, two, 50, 32, 7},
	} {
		c.on.OldestGPU, c.on.NewestGPU, c.on.NetGBps = c.gpu, c.gpu, c.net
		tuning := nccl.RowFor(c.number).Tune(&c.on)
		for state, want := range map[nccl.Registered]int{nccl.None: c.none, nccl.User: c.user} {
			s := tuning.Ranked(nccl.Call{Collective: "allreduce", Bytes: 1 << 30, Registered: state}, tuning.Takes)[0]
			if s.Algo != nccl.NVLS && s.Algo != nccl.NVLSTree || s.Channels != want {
				t.Errorf("%d, sm%d, %d nodes, %v: %+v, want NVLS on %d channels", c.number, c.gpu, c.on.Nodes, state, s, want)
			}
		}
	}
}
