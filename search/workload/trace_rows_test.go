package workload

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/search/libraries"
)

// logLine is a call in NCCL's log.
func logLine(name, count string, dtype, ranks int) string {
	return fmt.Sprintf("host:10:10 [0] NCCL INFO %s: opCount 0 sendbuff 0x7f recvbuff 0x7e count %s datatype %d op 0 root 0 comm 0x1 [nranks=%d] stream 0x55\n", name, count, dtype, ranks)
}

// Sizes are products of what traces count; beyond a PiB they are refused at their line.
func TestTraceSizes(t *testing.T) {
	split := `, "In split size": "[3, 1, 0, 0]"`
	for _, c := range []struct{ text, want string }{
		{logLine("AllToAll", "70368744177664", 7, 262144), "rank0:1: count: 70368744177664 × 262144 × 4: want factors from 0, and a product of at most 1125899906842624, a PiB"},
		{logLine("AllToAll", "35184372088833", 7, 524288), "rank0:1: count: 35184372088833 × 524288 × 4: want"},
		{logLine("AllReduce", "9223372036854775807", 8, 2), "rank0:1: count: 9223372036854775807 × 8: want"},
		{logLine("Send", "1125899906842624", 0, 2) + logLine("Send", "1125899906842624", 0, 2), "rank0:2: more than a PiB in one group"},
		{logLine("Send", "9223372036854775807", 0, 2) + logLine("Send", "9223372036854775807", 0, 2), "rank0:1: more than a PiB in one group"},
		{logLine("Send", "562949953421312", 0, 4) + logLine("Send", "1", 0, 4), "rank0:1: count: 562949953421313 × 4: want"},
		{profile(kernel("nccl", 7, 1, 1, collectiveArgs("all_to_allv", "Half", 70368744177664, 1, 262144)+split)), `rank0:4: "all_to_allv": 70368744177664 × 262144 × 2: want`},
		{profile(kernel("nccl", 7, 1, 1, collectiveArgs("allreduce", "Double", 9223372036854775807, 1, 2))), `rank0:4: "allreduce": 9223372036854775807 × 8: want`},
		{profile(kernel("nccl", 7, 1, 1e13, collectiveArgs("allreduce", "Half", 1, 1, 2))), "rank0:4: time_us: time of 1e+13 us: want 1e-06 to 1e+12"},
		{chakraText(1, "COMM_COLL_NODE", "", 1, comm(2, 1<<50)), "rank0:8: node 1: comm_size: 1125899906842624 × 8: want"},
		{chakraText(1, "COMM_COLL_NODE", "", 1, comm(0, 1<<50+1)), "rank0:8: node 1: comm_size: 1125899906842625: want"},
		{strings.Replace(chakraText(1, "COMM_COLL_NODE", "", 1, comm(0, 8)), `"durationMicros": "1"`, `"durationMicros": "0x1p3"`, 1), "rank0:8: node 1: durationMicros 0x1p3: want 0 or more"},
		{"", "rank0:1: is empty: want a step in TOML, or a trace"},
		{"\ufeff\r\n", "rank0:1: is empty: want a step in TOML, or a trace"},
		{"# nothing\n", "rank0:1: name is missing"},
	} {
		if _, _, err := read(t, Options{Ranks: 8}, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s\n%v: want %q", c.text, err, c.want)
		}
	}
}

// A byte order mark, which programs of Windows put first, changes nothing.
func TestByteOrderMark(t *testing.T) {
	for _, text := range []string{
		profile(kernel("nccl", 7, 1, 1, collectiveArgs("allreduce", "Half", 1, 1, 4))),
		chakraText(1, "COMM_COLL_NODE", "", 1, comm(0, 8)),
		logLine("AllReduce", "8", 7, 4),
		"name = \"s\"\nranks = 4\n[[block]]\n[[block.op]]\nname = \"x\"\ncall = \"allreduce\"\nbytes = 8\n",
	} {
		want, _, err := read(t, Options{Ranks: 4}, text)
		if err != nil {
			t.Fatal(err)
		}
		got, _, err := read(t, Options{Ranks: 4}, "\ufeff"+text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("with a mark %+v, %v: want %+v", got, err, want)
		}
	}
}

// What calls of traces took is rows, of which a table is read as it was written.
func TestRecordedRowsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"allreduce", "_allgather_base", "all_to_allv", "send"}).Draw(t, "collective")
		count := rapid.SampledFrom([]int{0, 1, 3, 1 << 20, 1 << 46, 1 << 50}).Draw(t, "count")
		dur := rapid.SampledFrom([]float64{0, 1e-7, 1e-3, 5, 1e12, 1e13}).Draw(t, "dur")
		ranks := rapid.SampledFrom([]int{1, 2, 4, 1 << 20}).Draw(t, "ranks")
		file := rapid.SampledFrom([]string{"a/b.json", "=b\x1b[2J.json", strings.Repeat("ü", 150), "\xff"}).Draw(t, "file")
		text := profile(kernel("nccl", 20, 155, dur, collectiveArgs(name, "Half", count, count, ranks)+`, "In split size": "[100, 200, 50, 50]"`))
		_, rows, err := Read([]File{{file, []byte(text)}}, Options{NodeGPUs: 2})
		if err != nil || len(rows) == 0 {
			return
		}
		table, _ := libraries.Build(rows, libraries.DefaultEqual)
		var b bytes.Buffer
		if err := table.Write(&b, "v"); err != nil {
			t.Fatal(err)
		}
		again, err := libraries.ReadTable("f", b.Bytes())
		if err != nil || !reflect.DeepEqual(again, table) {
			t.Fatalf("%v\n%s", err, &b)
		}
	})
}
