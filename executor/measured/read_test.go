package measured_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/measured/measuredtest"
)

// readBack fails unless rows that are written in the columns of a table are read as they were.
func readBack(t interface{ Fatalf(string, ...any) }, rows []measured.Row) {
	var b bytes.Buffer
	c := csv.NewWriter(&b)
	_ = c.Write(measured.Header()) // to a buffer
	for i := range rows {
		_ = c.Write(rows[i].Fields())
	}
	c.Flush()
	again, _, err := measured.Read(measured.Source{Path: "f"}, b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if !reflect.DeepEqual(again, rows) {
		t.Fatalf("read back as\n%+v\nwant\n%+v", again, rows)
	}
	for _, r := range rows {
		if r.Bytes < 1 || r.Bytes > 1<<50 || r.Ranks < 1 || len(r.Entry()) > 401 {
			t.Fatalf("%+v in a row", r)
		}
	}
}

// OSU calls some collectives by longer names.
func TestOSUTitles(t *testing.T) {
	for title, want := range map[string]string{
		"MPI-CUDA All-to-All Personalized Exchange": "alltoall 1024",
		"MPI All-to-Allv Personalized Exchange":     "alltoallv 128",
		"MPI Reduce_scatter":                        "reducescatter 128",
		"NCCL-CUDA Broadcast":                       "broadcast 128",
	} {
		rows := measuredtest.MustRead(t, "mpi=o.txt,ranks=8", strings.Replace(measuredtest.OSUText, "MPI-CUDA Allgather", title, 1))
		if got := fmt.Sprint(rows[0].Collective, " ", rows[0].Bytes); got != want {
			t.Errorf("%s: %s, want %s", title, got, want)
		}
	}
}

func TestOtherNames(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"gpus and half", "gpus,collective,dtype,bytes,time_us\n8,all_reduce,half,1K,5\n", "allreduce 8 1024 f16 5"},
		{"milliseconds", "ranks,collective,bytes,time_ms\n8,AllReduce,1024,5\n", "allreduce 8 1024  5000"},
		{"seconds and elements", "ranks,collective,dtype,count,time_s\n8,bcast,float32,256,0.5\n", "broadcast 8 1024 f32 500000"},
		{"a mark before, blanks, a comment", "\ufeff# mine\nranks, collective, bytes, time_us\n8, allreduce, 1024, 5\n", "allreduce 8 1024  5"},
	} {
		rows, _, err := measuredtest.Read("x=f.csv", c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r := rows[0]
		if got := fmt.Sprint(r.Collective, " ", r.Ranks, " ", r.Bytes, " ", r.Conditions[measured.DType], " ", r.TimeUS); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRefused(t *testing.T) {
	const head = "collective,ranks,bytes,time_us\n"
	for _, c := range []struct{ name, source, text, want string }{
		{"unknown column", "x=f", "collective,rank,bytes,time_us\n", `f:1: unknown column "rank"`},
		{"a column twice", "x=f", "ranks,gpus,collective,bytes,time_us\n", "f:1: column ranks stands there twice"},
		{"no unit of time", "x=f", "collective,ranks,bytes,time\n", "unknown column \"time\""},
		{"two units of time", "x=f", "collective,ranks,bytes,time_us,time_ms\n", "f:1: 2 of the columns time_us, time_ms, time_s"},
		{"no unit of size", "x=f", "collective,ranks,time_us\n", "f:1: 0 of the columns bytes, count"},
		{"count without dtype", "x=f", "collective,ranks,count,time_us\nallreduce,8,4,1\n", "f:2: count is in elements"},
		{"torn line", "x=f", head + "allreduce,8,1024,5\nallreduce,8,10\n", "f:3: another number of fields"},
		{"no number", "x=f", head + "allreduce,8,1024,fast\n", `f:2: column time_us: "fast"`},
		{"a time of zero", "x=f", head + "allreduce,8,1024,0\n", "f:2: column time_us: time of 0 us"},
		{"not a time", "x=f", head + "allreduce,8,1024,NaN\n", "f:2: column time_us"},
		{"unknown collective", "x=f", head + "allreduse,8,1024,5\n", "f:2: column collective: unknown collective"},
		{"a formula", "x=f", head[:len(head)-1] + ",kernel\nallreduce,8,1024,5,=1+1\n", "f:2: column kernel"},
		{"no ranks", "x=f", "collective,bytes,time_us\nallreduce,1024,5\n", "f:2: ranks is not stated"},
		{"no ranks and no collective", "x=f", "bytes,time_us\n1024,5\n", "f:2: collective, ranks are not stated: want them in the file, or beside its name, as in --library NAME=FILE,collective=VALUE,ranks=VALUE"},
		{"no library", "f", head + "allreduce,8,1024,5\n", "f:2: library is not stated"},
		{"another library", "x=f", head[:len(head)-1] + ",library\nallreduce,8,1024,5,nccl\n", "f:1: has no rows of x: it has nccl"},
		{"stated otherwise", "x=f,ranks=4", head + "allreduce,8,1024,5\n", "f:2: ranks is 8 here, and stated as 4"},
		{"nothing", "x=f", "", "f:1: want a line that names the columns"},
		{"no rows", "x=f", head, "f:1: nothing was measured in it"},
		{"mixed tools", "x=f", measuredtest.NCCLText + measuredtest.OSUText, "f:7: output of OSU micro-benchmarks and of nccl-tests in one file"},
		{"OSU's ranks", "x=f", measuredtest.OSUText, "f:4: ranks is not stated"},
		{"OSU torn", "x=f,ranks=8", measuredtest.OSUText + "512\n", `f:6: "512": want a size and a time`},
		{"OSU's bandwidth", "x=f,ranks=8", "# OSU MPI Bandwidth Test v7.1\n# Size      Bandwidth (MB/s)\n1  3.45\n", "f:1: "},
		{"OSU without columns", "x=f,ranks=8", "# OSU MPI Allgather Latency Test v7.1\n1  3.45\n", "f:2: a row before the line"},
		{"nccl-tests torn", "x=f", strings.Replace(measuredtest.NCCLText, "    10.00    0.10", "    10.0", 1), "f:4: "},
	} {
		_, _, err := measuredtest.Read(c.source, c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
	for _, source := range []string{"", "=f", "x=", "x=f,ranks", "x=f,ranks=", "x=f,ranks=many", "x=f,bytes=4", "x=f,colour=red", "x=f,placement=left"} {
		if _, err := measured.ParseSource(source); err == nil {
			t.Errorf("--library %q is accepted", source)
		}
	}
}

// ncclJSON is nccl-tests' -J.
const ncclJSON = `{"args":["./all_reduce_perf"],"nccl_version":23007,"config":{"nthreads":1,"ngpus":8,"graph":20},"devices":[{"rank":0}],
"results":[{"size":4096,"count":1024,"type":"float","redop":"sum","root":"-1","out_of_place":{"time":80.0,"alg_bw":0.05,"bus_bw":0.08,"nwrong":null},"in_place":null}]}`

// fuzz gives a reader any bytes. What it accepts is a table that is read back; what it refuses
// has file and line; and rows are no more than the bytes allow.
func fuzz(f *testing.F, seeds ...string) {
	for _, seed := range seeds {
		f.Add("x=f,ranks=8", []byte(seed))
		f.Add("f", []byte(seed))
		for _, cut := range []int{1, 3} { // torn
			f.Add("x=f,ranks=8", []byte(seed[:len(seed)*cut/4]))
		}
	}
	f.Fuzz(func(t *testing.T, source string, text []byte) {
		s, err := measured.ParseSource(source)
		if err != nil {
			return
		}
		rows, _, err := measured.Read(s, text)
		if err != nil {
			var at *measured.Error
			if !errors.As(err, &at) || at.Line < 1 || at.Line > bytes.Count(text, []byte("\n"))+1 {
				t.Fatalf("%v: want file and line", err)
			}
			return
		}
		if len(rows) > len(text)/4+1 {
			t.Fatalf("%d rows of %d bytes", len(rows), len(text))
		}
		readBack(t, rows)
	})
}

func FuzzCSV(f *testing.F) {
	fuzz(f, "collective,ranks,bytes,time_us\nallreduce,8,1024,5\n", "\ufeffgpus, collective, dtype, count, time_ms\n# c\n8,\"bcast\",half,1K,1e3\n",
		"collective,ranks,nodes,bytes,library,version,channels,algorithm,protocol,low_us,high_us,runs,evidence,time_us\nallgather,8,1,8K,nccl,2,16,ring,ll,1,3,4,simulated,2\n",
		"collective,ranks,count,dtype,library,time_us\nallreduce,8,2305843009213693953,f64,x,5\nallgather,8,9223372036854775807,f64,x,5\nallgather,8,562949953421312,half,x,0x1p3\n",
		"collective,ranks,bytes,library,time_us,runs\nallreduce,8,8,=x,1_000,16777216\nallreduce,8,8,\"x\",5,16777216\n")
}

func FuzzNCCLTests(f *testing.F) {
	fuzz(f, measuredtest.NCCLText, ncclJSON, "RCCL version : =cmd|calc\n"+measuredtest.NCCLText, "RCCL version : "+strings.Repeat("x", 300)+"\n"+measuredtest.NCCLText, strings.ReplaceAll(measuredtest.NCCLText, "  1024 ", " 9223372036854775807 "), strings.ReplaceAll(ncclJSON, "4096", "-8"), "\ufeff"+ncclJSON)
}

func FuzzOSU(f *testing.F) {
	fuzz(f, measuredtest.OSUText, strings.ReplaceAll(measuredtest.OSUText, "Allgather", "Allreduce"), strings.ReplaceAll(measuredtest.OSUText, "\n128 ", "\n4611686018427387905 "), "\ufeff"+measuredtest.OSUText)
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
			readBack(t, measuredtest.MustRead(t, shape.source, usual))
			rapid.Check(t, func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"f", "a/=b.csv", strings.Repeat("ü", 120), "e\x1b[2J\xff.csv"}).Draw(t, "file")
				source := strings.Replace(shape.source, "f", name, 1) + rapid.SampledFrom([]string{"", "", ",nodes=1,system=h200"}).Draw(t, "stated")
				text := fill(t, shape.text)
				rows, _, err := measuredtest.Read(source, text)
				var at *measured.Error
				if err == nil {
					readBack(t, rows)
				} else if !errors.As(err, &at) || at.Line < 1 || at.Line > strings.Count(text, "\n")+1 {
					t.Fatalf("%v: want file and line\n%s", err, text)
				}
			})
		})
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
		{"f,ranks=8", "a line\nRCCL version : =cmd|calc\n" + measuredtest.NCCLText, `f:2: the library's version: "=cmd|calc": want a word that begins with`},
		{"f,ranks=8", "RCCL version : " + strings.Repeat("x", 300) + "\n" + measuredtest.NCCLText, "f:1: the library's version: \"xxxxxxxxxxxxxxxxxxxx\"… has 300 bytes: want at most 200"},
		{"x=f,ranks=8", strings.Replace(measuredtest.NCCLText, "  1024 ", " 9223372036854775807 ", 1), "f:4: size 9223372036854775807, count 32: want 0 to 1125899906842624, a PiB"},
		{"x=f,ranks=8", strings.Replace(ncclJSON, "4096", "9223372036854775807", 1), "size 9223372036854775807, count 1024: want 0 to"},
	} {
		if _, _, err := measuredtest.Read(c.source, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %s", c.text, err, c.want)
		}
	}
}

// A byte order mark, which programs of Windows put first, changes nothing.
func TestByteOrderMark(t *testing.T) {
	for name, text := range map[string]string{"OSU": measuredtest.OSUText, "nccl-tests": measuredtest.NCCLText, "JSON": ncclJSON, "CSV": "collective,ranks,bytes,time_us\nallreduce,8,1024,5\n",
		"MoE": "framework,version,kernel_source,num_token,num_topk,num_experts,hidden_size,dispatch_avg_t_us,combine_avg_t_us\nsglang,0.5,x,128,8,256,7168,35,67\n"} {
		want := fmt.Sprint(measuredtest.MustRead(t, "x=f,ranks=8", text))
		if got := fmt.Sprint(measuredtest.MustRead(t, "x=f,ranks=8", "\ufeff"+text)); got != want {
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
		s, err := measured.ParseSource(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("no reason")
			}
			return
		}
		if s.Path == "" || strings.TrimSpace(s.Library) != s.Library || len(s.Library) > 200 {
			t.Fatalf("%q: library %q of %q", text, s.Library, s.Path)
		}
		bare, err := measured.ParseSource(measured.WithoutFolder(text))
		if err != nil && !strings.HasSuffix(s.Path, "/") && !strings.HasSuffix(s.Path, `\`) || err == nil && bare.Library != s.Library {
			t.Fatalf("%q without its folder: %v", text, err)
		}
		rows, _, err := measured.Read(s, []byte("collective,bytes,time_us\nallreduce,1024,5\nallgather,8,2\n"))
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
