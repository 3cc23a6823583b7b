package workload

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/search/libraries"
)

// kernel is an event of a profiler's trace.
func kernel(name string, stream int, ts, dur float64, args string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": %d, "ts": %g, "dur": %g, "args": {"stream": %d, "device": 0%s}}`, name, stream, ts, dur, stream, args)
}

func collectiveArgs(name, dtype string, in, out, ranks int) string {
	return fmt.Sprintf(`, "Collective name": %q, "dtype": %q, "In msg nelems": %d, "Out msg nelems": %d, "Group size": %d, "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]"`, name, dtype, in, out, ranks)
}

func profile(events ...string) string {
	return "{\"schemaVersion\": 1,\n\"traceEvents\": [\n" + `{"ph": "M", "name": "process_name", "pid": 0, "tid": "x", "args": {"name": "python"}},` + "\n" + strings.Join(events, ",\n") + "\n],\n\"traceName\": \"t.json\"}\n"
}

func read(t *testing.T, o Options, texts ...string) (*Step, []measured.Row, error) {
	t.Helper()
	var files []File
	for i, text := range texts {
		files = append(files, File{fmt.Sprintf("rank%d", i), []byte(text)})
	}
	return Read(files, o)
}

// A profile becomes calls and computes, which wait as they were seen to, and take as long.
func TestProfile(t *testing.T) {
	text := profile(
		kernel("gemm", 7, 100, 50, ""),
		kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 20, 155, 30, collectiveArgs("allreduce", "BFloat16", 1024, 1024, 4)),
		kernel("ncclDevKernel_AllGather_RING_LL", 20, 190, 20, collectiveArgs("_allgather_base", "Half", 256, 1024, 4)),
		kernel("gelu", 7, 150, 100, ""),
		kernel("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", 20, 260, 25, collectiveArgs("_reduce_scatter_base", "Float", 1024, 256, 4)),
		kernel("ncclDevKernel_SendRecv", 21, 300, 10, collectiveArgs("all_to_allv", "Byte", 400, 400, 4)+`, "In split size": "[100, 200, 50, 50]"`),
	)
	s, rows, err := read(t, Options{NodeGPUs: 2}, text)
	if err != nil {
		t.Fatal(err)
	}
	want := []Kind{
		{"allreduce", 2048, 4, 2, "bf16", "", "", 1}, {"allgather", 2048, 4, 2, "f16", "", "", 1},
		{"reducescatter", 4096, 4, 2, "f32", "", "", 1}, {"alltoallv", 1600, 4, 2, "u8", "skew:2", "", 1},
	}
	if fmt.Sprint(s.Kinds) != fmt.Sprint(want) || s.Ranks != 4 || len(rows) != 4 {
		t.Errorf("%v over %d ranks, %d rows: want %v", s.Kinds, s.Ranks, len(rows), want)
	}
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	r, err := Compare(s, FromTable(table, ""), Libraries{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Fine.TotalUS != 210 || r.Best.Name != "recorded" {
		t.Errorf("%g us by %s: want the recorded 210", r.Fine.TotalUS, r.Best.Name)
	}
	var got []string
	for _, x := range r.Fine.Schedule() {
		got = append(got, fmt.Sprintf("%s %s %v %g", x.Name, x.Stream, x.Waits, x.BeginUS))
	}
	if want := "gemm stream 7 [] 0|gelu stream 7 [] 50|allreduce 2K of 4 stream 20/recorded [gemm] 55|allgather 2K of 4 stream 20/recorded [] 90|reducescatter 4K of 4 stream 20/recorded [gelu] 160|alltoallv 1600 of 4 stream 21/recorded [reducescatter 4K of 4] 200"; strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

// With the recorded times of its calls, a profile takes as long as it did, whatever its
// streams do.
func TestProfilesTakeTheirTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var events []string
		free := map[int]float64{}
		first, last := math.Inf(1), 0.0
		for i := range rapid.IntRange(1, 30).Draw(rt, "events") {
			stream := rapid.IntRange(1, 4).Draw(rt, "stream")
			ts := free[stream] + float64(rapid.IntRange(0, 20).Draw(rt, "gap"))
			dur := float64(rapid.IntRange(1, 30).Draw(rt, "dur"))
			free[stream] = ts + dur
			first, last = min(first, ts), max(last, ts+dur)
			args := ""
			if i == 0 || rapid.Bool().Draw(rt, "call") {
				args = collectiveArgs("allreduce", "Half", 1+i, 1+i, 4) // a size each, so that none is a median
			}
			events = append(events, kernel("k", stream, ts, dur, args))
		}
		s, rows, err := Read([]File{{"p", []byte(profile(events...))}}, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		table, _ := libraries.Build(rows, libraries.DefaultEqual)
		r, err := Compare(s, FromTable(table, ""), Libraries{})
		if err != nil {
			rt.Fatal(err)
		}
		if math.Abs(r.Fine.TotalUS-(last-first)) > 1e-6 {
			rt.Fatalf("%g us: want %g", r.Fine.TotalUS, last-first)
		}
	})
}

const chakraHead = "{\n  \"version\": \"0.0.4\"\n}"

func chakraText(id int, kind, deps string, us int, attrs string) string {
	return fmt.Sprintf("{\n  \"id\": \"%d\",\n  \"name\": \"n%d\",\n  \"type\": %q,\n  \"dataDeps\": [%s],\n  \"durationMicros\": \"%d\",\n  \"attr\": [{\"name\": \"is_cpu_op\", \"boolVal\": false}%s]\n}", id, id, kind, deps, us, attrs)
}

func comm(kind, bytes int) string {
	return fmt.Sprintf(`, {"name": "comm_type", "int64Val": "%d"}, {"name": "comm_size", "int64Val": "%d"}`, kind, bytes)
}

func TestChakra(t *testing.T) {
	text := chakraHead +
		chakraText(3, "COMM_COLL_NODE", `"1"`, 7, comm(2, 1024)) + // it stands before what it waits for
		chakraText(1, "COMP_NODE", "", 10, "") +
		chakraText(2, "METADATA_NODE", "", 0, "") +
		chakraText(4, "COMP_NODE", `"3", "2"`, 20, "") +
		chakraText(5, "COMM_COLL_NODE", `"4"`, 5, comm(6, 4096))
	s, rows, err := read(t, Options{Ranks: 8}, text)
	if err != nil {
		t.Fatal(err)
	}
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	r, err := Compare(s, FromTable(table, ""), Libraries{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Kinds[0].String() != "allgather of 8K over 8 ranks" || s.Kinds[1].String() != "alltoall of 4K over 8 ranks" || r.Fine.TotalUS != 42 {
		t.Errorf("%v: %g us", s.Kinds, r.Fine.TotalUS)
	}
}

// ncclRank is a rank's log of calls, each a name and a communicator.
func ncclRank(rank int, calls ...[2]string) string {
	var b strings.Builder
	for i, comm := range []string{"a", "b"} {
		fmt.Fprintf(&b, "host:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x%d%s rank %d nranks 2 cudaDev %d nvmlDev %d busId 1000 commId 0xc%d - Init COMPLETE\n", 10+rank, 10+rank, rank, rank, comm, rank, rank, rank, i)
	}
	for i, c := range calls {
		fmt.Fprintf(&b, "host:%d:%d [%d] NCCL INFO %s: opCount %x sendbuff 0x7f recvbuff 0x7e count 1024 datatype 7 op 0 root 1 comm 0x%d%s [nranks=2] stream 0x55\n", 10+rank, 10+rank, rank, c[0], i, rank, c[1])
	}
	return b.String()
}

// The calls of a log's ranks meet by communicator; where two ranks make those of two
// communicators in another order, all would wait for ever.
func TestNCCLLog(t *testing.T) {
	reduce, gather := [2]string{"AllReduce", "a"}, [2]string{"AllGather", "b"}
	s, rows, err := read(t, Options{}, "some line\n"+ncclRank(0, reduce, gather)+ncclRank(1, reduce, gather))
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(s.Kinds) != "[allreduce of 4K over 2 ranks allgather of 8K over 2 ranks]" || len(s.Calls) != 2 || len(s.Programs) != 2 || len(rows) > 0 {
		t.Errorf("%v, %d calls, %d programs, %d rows", s.Kinds, len(s.Calls), len(s.Programs), len(rows))
	}
	if _, err := Compare(s, two, Libraries{}); err != nil {
		t.Error(err)
	}
	s, _, err = read(t, Options{}, ncclRank(0, reduce, gather)+ncclRank(1, gather, reduce))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compare(s, two, Libraries{}); err == nil || err.Error() != "rank0:8: deadlock: allreduce 4K of 2 waits for allgather 8K of 2 (line 7), which waits for allreduce 4K of 2 (line 8)" {
		t.Error(err)
	}
	if _, _, err = read(t, Options{}, ncclRank(0, reduce)+ncclRank(1, [2]string{"Broadcast", "a"})); err == nil || err.Error() != "rank0:6: broadcast of 4K over 2 ranks, where another rank makes allreduce of 4K over 2 ranks of the same communicator at rank0:3" {
		t.Error(err)
	}
	// Sends and receives of one number are one call.
	p2p := strings.NewReplacer("opCount 1", "opCount 0", "opCount 2", "opCount 0", "opCount 3", "opCount 0").Replace(ncclRank(0, [2]string{"Send", "a"}, [2]string{"Recv", "a"}, [2]string{"Send", "a"}, [2]string{"Recv", "a"}))
	if s, _, err = read(t, Options{}, p2p); err != nil || fmt.Sprint(s.Kinds) != "[alltoall of 8K over 2 ranks]" {
		t.Errorf("%v, %v", s, err)
	}
}

func TestTraceErrors(t *testing.T) {
	call := ncclRank(0, [2]string{"AllReduce", "a"})
	for _, c := range []struct{ text, want string }{
		{`{"traceEvents": [`, "rank0:1: the trace is torn"},
		{"{\"traceEvents\":\n 3}", "rank0:2: traceEvents: want a list"},
		{"{\"traceEvents\": []}", "has no kernels of a GPU"},
		{profile(kernel("gemm", 7, 1, 1, "")), "rank0:1: has no call of a collective"},
		{profile(kernel("ncclKernel_AllReduce", 7, 1, 1, "")), `rank0:4: "ncclKernel_AllReduce" does not say its collective`},
		{profile(kernel("nccl", 7, 1, 1, collectiveArgs("allreduces", "Half", 1, 1, 2))), `rank0:4: unknown collective "allreduces"`},
		{profile(kernel("nccl", 7, 1, 1, collectiveArgs("allreduce", "Quarter", 1, 1, 2))), `rank0:4: unknown dtype "quarter"`},
		{profile(kernel("nccl", 7, 1, 1, collectiveArgs("allreduce", "Half", -1, 1, 2))), "rank0:4: \"allreduce\" of -1 elements in"},
		{profile(kernel("nccl", 7, 1, -1, "")), "rank0:5: \"nccl\": ts 1 and dur -1"},
		{profile(kernel("k", 7, 1, 1, ""), "x"), "rank0:5: invalid character 'x'"},
		{"{}", "neither a trace of PyTorch's profiler nor of Chakra"},
		{chakraText(1, "COMM_COLL_NODE", "", 1, comm(0, 8)) + "{\n\"id\": ", "rank0:9: the trace is torn"},
		{chakraText(1, "COMM_COLL_NODE", "", 1, comm(10, 8)), "rank0:8: node 1: unknown comm_type 10"},
		{chakraText(1, "COMM_COLL_NODE", "", 1, ""), "node 1: comm_size is missing"},
		{chakraText(1, "COMM", "", 1, ""), `node 1: unknown type "COMM"`},
		{chakraText(1, "COMP_NODE", `"4"`, 1, ""), "rank0:8: node 1 waits for 4, which is not there"},
		{chakraText(1, "COMP_NODE", "", 1, "") + chakraText(1, "COMP_NODE", "", 1, ""), "rank0:15: a second node of id 1"},
		{chakraText(1, "COMP_NODE", "", -4, ""), "durationMicros -4: want 0 or more"},
		{chakraText(1, "COMP_NODE", `"2"`, 1, "") + chakraText(2, "COMP_NODE", `"1"`, 1, ""), "rank0:8: deadlock: n1 (node 1) waits for n2 (node 2) (line 15), which waits for n1 (node 1) (line 8)"},
		{strings.Replace(call, "AllReduce", "AllRedcue", 1), `rank0:3: unknown call "allredcue"`},
		{strings.Replace(call, "datatype 7", "datatype 77", 1), "rank0:3: count 1024, datatype 77"},
		{strings.Replace(call, "count 1024", "count", 1), "rank0:3: a call that is torn"},
		{"NCCL INFO nothing\n", "rank0:1: has no call of a collective"},
	} {
		_, _, err := read(t, Options{Ranks: 2}, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n%v: want %q", c.text, err, c.want)
		}
		var at *measured.Error
		var d *Deadlock
		if !errors.As(err, &at) && !errors.As(err, &d) {
			t.Errorf("%v: want an error with file and line", err)
		}
	}
	if _, _, err := read(t, Options{}, chakraText(1, "COMP_NODE", "", 1, "")); err == nil || !strings.Contains(err.Error(), "want --ranks") {
		t.Error(err)
	}
	if _, _, err := read(t, Options{}, head, head); err == nil || !strings.Contains(err.Error(), "is no trace") {
		t.Error(err)
	}
}

// A profile of 100,000 calls is read and compared in seconds.
func TestLargeProfile(t *testing.T) {
	var events []string
	ts := 0.0
	for i := range 100_000 {
		events = append(events, kernel("gemm", 7, ts, 10, ""), kernel("nccl", 20+i%3, ts+10, 5, collectiveArgs("allreduce", "Half", 1<<(i%12), 1<<(i%12), 4)))
		ts += 12
	}
	text := profile(events...)
	began := time.Now()
	s, rows, err := read(t, Options{}, text)
	if err != nil {
		t.Fatal(err)
	}
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	if _, err := Compare(s, FromTable(table, ""), Libraries{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); len(s.Calls) != 100_000 || took > time.Minute {
		t.Errorf("%d calls in %s", len(s.Calls), took)
	} else {
		t.Logf("%d calls, %d MB, in %s", len(s.Calls), len(text)>>20, took)
	}
}

// A stream waits for those that ended last, not for all: 100 streams whose kernels take
// turns make one wait a kernel.
func TestWaitsAreFew(t *testing.T) {
	var events []string
	for i := range 5_000 {
		args := ""
		if i == 0 {
			args = collectiveArgs("allreduce", "Half", 1024, 1024, 4)
		}
		events = append(events, kernel("k", i%100, float64(10*i), 5, args))
	}
	s, _, err := read(t, Options{}, profile(events...))
	if err != nil {
		t.Fatal(err)
	}
	waits := 0
	for _, op := range s.Programs[0].Ops {
		waits += len(op.After)
	}
	if n := len(events); waits >= n {
		t.Errorf("%d waits of %d kernels", waits, n)
	}
}

// Limits hold for all files of a step together.
func TestLimitsOfTheStep(t *testing.T) {
	tr := &tracer{}
	if err := tr.count(File{Name: "a"}, 3, maxEvents); err != nil {
		t.Fatal(err)
	}
	if err := tr.count(File{Name: "b"}, 4, 1); err == nil || err.Error() != "b:4: more than 4000000 ops in all traces" {
		t.Error(err)
	}
}

func FuzzTrace(f *testing.F) {
	profiled := profile(kernel("gemm", 7, 100, 50, ""), kernel("nccl", 20, 155, 30, collectiveArgs("all_to_allv", "Byte", 400, 400, 4)+`, "In split size": "[100, 200, 50, 50]"`), kernel("nccl", 21, 160, 30, collectiveArgs("allreduce", "Half", 1, 1, MaxRanks)))
	f.Add(profiled, 4, 2)
	f.Add(profiled, MaxRanks, 1)
	f.Add(strings.Replace(profiled, "[0, 1, 2", "[0, 9223372036854775807, 2", 1), 1, MaxRanks)
	f.Add(chakraHead+chakraText(3, "COMM_COLL_NODE", `"1"`, 7, comm(2, 1024))+chakraText(1, "COMP_NODE", "", 10, ""), 1000, 8)
	f.Add(ncclRank(0, [2]string{"AllReduce", "a"}, [2]string{"Send", "b"})+ncclRank(1, [2]string{"AllReduce", "a"}), 4, 0)
	f.Add(logLine("AllToAll", "70368744177664", 7, 262144), 4, 2)
	f.Add(logLine("Send", "9223372036854775807", 0, 2)+logLine("Send", "9223372036854775807", 0, 2), 4, 2)
	f.Add("\ufeff"+profile(kernel("nccl", 7, 1, 1, collectiveArgs("all_to_allv", "Half", 1<<46, 1, 1<<18)+`, "In split size": "[3, 1, 0, 0]"`)), 4, 2)
	f.Add(chakraText(1, "COMM_COLL_NODE", "", 1, comm(2, 1<<50)), 4, 2)
	f.Fuzz(func(t *testing.T, text string, ranks, gpus int) {
		o := Options{Ranks: int(uint(ranks) % (MaxRanks + 1)), NodeGPUs: int(uint(gpus) % (MaxRanks + 1))}
		s, _, err := Read([]File{{"f", []byte(text)}}, o)
		if err != nil {
			return
		}
		boundStep(t, s, len(text), o.NodeGPUs)
		if _, err := Compare(s, two, Libraries{Fallback: "nccl"}); err != nil {
			var d *Deadlock
			if !errors.As(err, &d) {
				t.Fatal(err)
			}
		}
	})
}

// boundStep holds the size of a step that a trace of some bytes makes to bounds: an op takes
// some text, it waits for one op a stream, or for those that Chakra lists, and calls have sizes
// and nodes that their ranks allow.
func boundStep(t *testing.T, s *Step, bytes, nodeGPUs int) {
	t.Helper()
	ops, waits, streams := 0, 0, map[string]bool{}
	for _, p := range s.Programs {
		ops += len(p.Ops)
		for i := range p.Ops {
			waits += len(p.Ops[i].After)
			streams[p.Ops[i].Stream] = true
		}
	}
	if waits > ops*len(streams)+bytes/3 {
		t.Fatalf("%d waits of %d ops on %d streams", waits, ops, len(streams))
	}
	if ops > bytes/16 {
		t.Fatalf("%d ops of %d bytes", ops, bytes)
	}
	for _, k := range s.Kinds {
		if least := (k.Ranks + max(nodeGPUs, 1) - 1) / max(nodeGPUs, 1); k.Bytes < 1 || k.Bytes > 1<<50 || k.Ranks > MaxRanks || k.Nodes > k.Ranks || (nodeGPUs == 0) != (k.Nodes == 0) || nodeGPUs > 0 && k.Nodes < least {
			t.Fatalf("%s on nodes of %d", k, nodeGPUs)
		}
	}
}
