package libraries_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/search/libraries"
)

// readBack fails unless a table of the rows is read as it was written.
func readBack(t interface{ Fatalf(string, ...any) }, rows []libraries.Row) {
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	var b bytes.Buffer
	if err := table.Write(&b, "v"); err != nil {
		t.Fatalf("%v", err)
	}
	again, err := libraries.ReadTable("f", b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if !reflect.DeepEqual(again, table) {
		t.Fatalf("read back as\n%+v\nwant\n%+v", again.Rows, table.Rows)
	}
	for _, r := range table.Rows {
		if r.Bytes < 1 || r.Bytes > 1<<50 || r.Ranks < 1 || len(r.Entry()) > 401 {
			t.Fatalf("%+v in a table", r)
		}
	}
}

// The shapes of the files that are read, with %c, %w, %t and %d where counts, words, times and
// types stand.
var shapes = []struct{ name, source, text string }{
	{"CSV", "f", "collective,ranks,bytes,library,version,system,nodes,sms,kernel,traffic,low_us,high_us,time_us,runs,source\nallreduce,8,%c,%w,%w,%w,%c,%c,%w,%w,1e-6,1e12,%t,%c,%w\nallgather,8,8,x,,,,,,,,,%t,16777216,\nallgather,8,8,x,,,,,,,,,%t,16777216,\n"},
	{"CSV of elements", "f", "collective,ranks,count,dtype,library,mode,protocol,time_ms\nallreduce,%c,%c,%d,%w,%w,ll,%t\nalltoallv,8,%c,%d,x,graph,,%t\n"},
	{"nccl-tests", "x=f,ranks=8", "RCCL version : %w\n# nThread 1 nGpus 8 graph: 0\n# Collective test starting: all_gather_perf\n#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong\n %c %c %d none -1 %t 0.10 0.09 0 %t 0.09 0.08 0\n 1024 32 float none -1 10.00 0.10 0.09 0 %t 0.09 0.08 0\n"},
	{"nccl-tests' JSON", "x=f", `{"args":["./all_reduce_perf"],"nccl_version":23007,"config":{"nthreads":%c,"ngpus":%c,"graph":1},"devices":[{"rank":0}],"results":[{"size":%c,"count":1024,"type":"%d","redop":"sum","root":"-1","out_of_place":{"time":%t,"alg_bw":0.05,"bus_bw":0.08,"nwrong":null},"in_place":null}]}`},
	{"OSU", "x=f,ranks=8", "# OSU MPI-CUDA Allgather Latency Test v7.3\n# Datatype: %d.\n# Size       Avg Latency(us)\n%c  %t\n%c %t\n"},
	{"DeepEP low latency", "f,ranks=8", "framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,num_experts,combine_avg_t_us,dispatch_avg_t_us\n%w,%w,H200,ll,%w,%c,%c,%c,%c,%c,%t,%t\n"},
	{"DeepEP", "f,ranks=8", "framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,num_experts,dispatch_sms,dispatch_transmit_us,dispatch_notify_us,combine_sms,combine_transmit_us,combine_notify_us\n%w,%w,H200,normal,deepep,%c,7168,%c,8,256,%c,40.5,%t,%c,83,0.5\n"},
	{"TensorRT-LLM", "f", "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,topk,num_experts,moe_ep_size,distribution,latency\n%w,%w,GB200,alltoall_dispatch,%w,nvfp4,%c,%c,8,256,%c,%w,%t\nTRTLLM,1.2.0,GB200,alltoall_combine,NVLinkTwoSided,fp8,16,7168,8,256,8,balanced,%t\n"},
	{"table", "f", "# colltune.table/v1\n# must be equal: nodes\ncollective,ranks,bytes,library,kernel,time_us,source\nallreduce,%c,%c,%w,%w,%t,%w\n"},
}

// fields are what may stand at each mark: first what is usual, then what is not.
var fields = map[string][2][]string{
	"%c": {{"1", "8", "64", "1024", "7168"}, {"0", "-5", "+8", "08", "8.0", "1.5", "1e3", "1K", "0x10", "1_000", "16777216", "16777217", "70368744177664", "1125899906842624", "1125899906842625", "2305843009213693953", "4611686018427387905", "9223372036854775807", "9223372036854775808", "NaN", ""}},
	"%w": {{"nccl", "2.29.2", "graph", "balanced"}, {"=cmd|calc", "+x", "-x", "@a", "#x", "'x", "\"=x\"", "\" a, b \"", "\"a\nb\"", "esc\x1b[2J", "\u202edrawkcab", "\xff\xfe", strings.Repeat("x", 300), strings.Repeat("ü", 99) + "xx", strings.Repeat("ü", 101), " ", "\u00a0x", ""}},
	"%t": {{"5", "12.5", "1.2e+03"}, {"0", "-1", "+5", "0x1p3", "1_000", "1e-6", "1e-7", "1e12", "1e13", "1e308", "NaN", "Inf", ""}},
	"%d": {{"float", "half", "bfloat16"}, {"double", "int8", "f8e4m3", "uint9", "=x", ""}},
}

// fill draws what stands at the marks of a shape: of twelve of them, about one is unusual.
func fill(t *rapid.T, shape string) string {
	var b strings.Builder
	for at := strings.IndexByte(shape, '%'); at >= 0; at = strings.IndexByte(shape, '%') {
		of := fields[shape[at:at+2]]
		b.WriteString(shape[:at])
		b.WriteString(rapid.SampledFrom(slices.Concat(slices.Repeat(of[0], 3*len(of[1])), of[1])).Draw(t, shape[at:at+2]))
		shape = shape[at+2:]
	}
	return b.String() + shape
}

// Whatever a reader accepts is written into a table that is read as it was, with sizes from a
// byte to a PiB; what it refuses is told with file and line.
func TestTablesAreReadBack(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			usual := strings.NewReplacer("%c", "8", "%w", "x", "%t", "5", "%d", "half").Replace(shape.text)
			readBack(t, mustRead(t, shape.source, usual))
			rapid.Check(t, func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"f", "a/=b.csv", strings.Repeat("ü", 120), "e\x1b[2J\xff.csv"}).Draw(t, "file")
				source := strings.Replace(shape.source, "f", name, 1) + rapid.SampledFrom([]string{"", "", ",nodes=1,system=h200"}).Draw(t, "stated")
				text := fill(t, shape.text)
				rows, _, err := read(source, text)
				var at *libraries.Error
				if err == nil {
					readBack(t, rows)
				} else if !errors.As(err, &at) || at.Line < 1 || at.Line > strings.Count(text, "\n")+1 {
					t.Fatalf("%v: want file and line\n%s", err, text)
				}
			})
		})
	}
}

// A campaign's winners are rows whatever its template and its folder are called; a system's
// name that no table can hold is refused.
func TestCampaignsAreReadBack(t *testing.T) {
	for _, c := range []struct{ system, algorithm, want string }{
		{"ring:4", "ring", ""},
		{"ring:4", "=cmd\x1b" + strings.Repeat("ü", 150), ""},
		{"=ring", "ring", `system: "=ring": want a word that begins with a letter or a digit`},
		{strings.Repeat("x", 300), "ring", "system: \"xxxxxxxxxxxxxxxxxxxx\"… has 300 bytes: want at most 200"},
	} {
		plan := resultstest.Plan()
		plan.Topology.Name = c.system
		campaign := resultstest.Create(t, plan)
		resultstest.Append(t, campaign, resultstest.NativeTrial(c.algorithm, "LL", nil, 1, 1024, 5))
		source, err := libraries.ParseSource("ours=somewhere/=" + strings.Repeat("y", 250))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := libraries.ReadCampaign(source, campaign)
		switch {
		case c.want == "" && err == nil && len(rows) == 1:
			readBack(t, rows)
		case c.want == "" || err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%.20q, %.20q: %d rows, %v: want %q", c.system, c.algorithm, len(rows), err, c.want)
		}
	}
}

// Fields that no reader may let by, each in the form of a file that once did.
func TestRowsRefused(t *testing.T) {
	const moe = "framework,version,kernel_source,num_token,num_topk,num_experts,hidden_size,node_num,dispatch_avg_t_us,combine_avg_t_us\n"
	for _, c := range []struct{ source, text, want string }{
		{"f", "collective,ranks,count,dtype,library,time_us\nallreduce,8,2305843009213693953,f64,x,5\n", "f:2: column count: 2305843009213693953: want 1 to 1125899906842624, a PiB"},
		{"f", "collective,ranks,count,dtype,library,time_us\nallreduce,8,1125899906842624,f64,x,5\n", "f:2: column count: 1125899906842624 × 8: want factors from 0, and a product of at most 1125899906842624, a PiB"},
		{"f", "collective,ranks,bytes,library,time_us\nallreduce,8,9223372036854775807,x,5\n", "f:2: column bytes: 9223372036854775807: want 1 to"},
		{"f", "collective,ranks,bytes,library,time_us\nallreduce,+8,8,x,5\n", `f:2: column ranks: "+8": want a whole number from 1 to 16777216`},
		{"f", "collective,ranks,bytes,library,time_us\nallreduce,8,8,x,0x1p3\n", `f:2: column time_us: "0x1p3": want a number in decimal digits`},
		{"f", "collective,ranks,bytes,library,time_us\nallreduce,8,8,x,1_000\n", `f:2: column time_us: "1_000": want a number in decimal digits`},
		{"f", "collective,ranks,bytes,library,time_us\nallreduce,8,8,b\xe4r,5\n", `f:2: column library: "b\xe4r": want text in UTF-8`},
		{"mpi=f,ranks=8", "# OSU MPI Allgather Latency Test v7\n# Size       Avg Latency(us)\n4611686018427387905  5.0\n", "f:3: bytes: 4611686018427387905: want 1 to"},
		{"mpi=f,ranks=8", "# OSU MPI Allgather Latency Test v7\n# Size       Avg Latency(us)\n562949953421312  5.0\n", "f:3: bytes: 562949953421312 × 8: want factors"},
		{"f,ranks=8", moe + "sglang,0.5,deepep,128,8,256,7168,-5,35,67\n", `f:2: column node_num: "-5": want a whole number from 1`},
		{"f,ranks=8", moe + "sglang,0.5,=deepep,128,8,256,7168,1,35,67\n", `f:2: library: "=deepep": want a word that begins with a letter or a digit`},
		{"f,ranks=8", moe + "sglang,0.5\x1b[2J,deepep,128,8,256,7168,1,35,67\n", `f:2: version: "sglang-0.5\x1b[2J": want text that can be printed`},
		{"f,ranks=8", moe + "sglang,0.5,deepep,1.5,8,256,7168,1,35,67\n", `f:2: column num_token: "1.5": want a whole number from 1`},
		{"f,ranks=8", moe + "sglang,0.5,deepep,1099511627776,1048576,256,7168,1,35,67\n", "f:2: ranks, tokens, top-k and hidden size: 8 × 1099511627776 × 1048576 × 7168: want"},
		{"f,ranks=8", "a line\nRCCL version : =cmd|calc\n" + ncclText, `f:2: the library's version: "=cmd|calc": want a word that begins with`},
		{"f,ranks=8", "RCCL version : " + strings.Repeat("x", 300) + "\n" + ncclText, "f:1: the library's version: \"xxxxxxxxxxxxxxxxxxxx\"… has 300 bytes: want at most 200"},
		{"x=f,ranks=8", strings.Replace(ncclText, "  1024 ", " 9223372036854775807 ", 1), "f:4: size 9223372036854775807, count 32: want 0 to 1125899906842624, a PiB"},
		{"x=f,ranks=8", strings.Replace(ncclJSON, "4096", "9223372036854775807", 1), "size 9223372036854775807, count 1024: want 0 to"},
	} {
		if _, _, err := read(c.source, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %s", c.text, err, c.want)
		}
	}
}

// A byte order mark, which programs of Windows put first, changes nothing.
func TestByteOrderMark(t *testing.T) {
	for name, text := range map[string]string{"OSU": osuText, "nccl-tests": ncclText, "JSON": ncclJSON, "CSV": "collective,ranks,bytes,time_us\nallreduce,8,1024,5\n",
		"MoE": "framework,version,kernel_source,num_token,num_topk,num_experts,hidden_size,dispatch_avg_t_us,combine_avg_t_us\nsglang,0.5,x,128,8,256,7168,35,67\n"} {
		want := fmt.Sprint(mustRead(t, "x=f,ranks=8", text))
		if got := fmt.Sprint(mustRead(t, "x=f,ranks=8", "\ufeff"+text)); got != want {
			t.Errorf("%s with a mark:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// What --library takes is read with its conditions, each as a column would have it, and the
// same without the folder.
func FuzzParseSource(f *testing.F) {
	for _, seed := range []string{"f", "x=f", "mpi=osu.txt,ranks=16,nodes=2", "x=a/b\\c.txt,system=h200", "=f", "x=", "x=f,ranks=-5", "x=f,ranks=0x10", "x=f,system==cmd", "x=f,library=y", "x=f,bytes=8", "@a=f", "x=f,,", strings.Repeat("x", 300) + "=f", "x=f,nodes=2,nodes=3", "x=f,dtype=half,dtype=f16"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := libraries.ParseSource(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("no reason")
			}
			return
		}
		if s.Path == "" || strings.TrimSpace(s.Library) != s.Library || len(s.Library) > 200 {
			t.Fatalf("%q: library %q of %q", text, s.Library, s.Path)
		}
		bare, err := libraries.ParseSource(libraries.WithoutFolder(text))
		if err != nil && !strings.HasSuffix(s.Path, "/") && !strings.HasSuffix(s.Path, `\`) || err == nil && bare.Library != s.Library {
			t.Fatalf("%q without its folder: %v", text, err)
		}
		rows, _, err := libraries.Read(s, []byte("collective,bytes,time_us\nallreduce,1024,5\nallgather,8,2\n"))
		if err == nil {
			readBack(t, rows)
		}
	})
}

// Rows of mixtures of experts.
func FuzzMoE(f *testing.F) {
	var seeds []string
	for _, s := range shapes {
		if strings.Contains(s.text, "num_experts") {
			seeds = append(seeds, strings.NewReplacer("%c", "8", "%w", "x", "%t", "5").Replace(s.text), strings.NewReplacer("%c", "-5", "%w", "x", "%t", "5").Replace(s.text),
				strings.NewReplacer("%c", "8", "%w", "=x", "%t", "5").Replace(s.text), strings.NewReplacer("%c", "9007199254740993", "%w", "x", "%t", "0x1p3").Replace(s.text))
		}
	}
	fuzz(f, seeds...)
}
