package msccl

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
)

func TestReadErrors(t *testing.T) {
	whole := text(t)
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "line 1: no element: want <algo …>"},
		{"comment only", "<!-- x -->\n", "line 2: no element"},
		{"comment without end", "<!-- x", "line 1: unterminated comment"},
		{"no element", "hello", `line 1: found 'h': want an element`},
		{"another element", "<graph></graph>", "line 1: element graph: want <algo …>"},
		{"declaration", "<!DOCTYPE x>", "declaration"},
		{"two", whole + whole, "element algo after </algo>"},
		{"cut", whole[:len(whole)/2], "line 12: "},
		{"no coll", strings.Replace(whole, ` coll="allreduce"`, "", 1), "line 1: attribute coll of algo missing"},
		{"unknown coll", strings.Replace(whole, `allreduce`, "allmend", 1), `unknown collective "allmend"`},
		{"proto", strings.Replace(whole, `"Simple"`, `"simple"`, 1), `line 1: attribute proto of algo is "simple": want LL, LL128 or Simple`},
		{"no chunks", strings.Replace(whole, ` nchunksperloop="2"`, ``, 1), "line 1: attribute nchunksperloop of algo missing"},
		{"chunks", strings.Replace(whole, ` nchunksperloop="2"`, ` nchunksperloop="0"`, 1), "line 1: attribute nchunksperloop of algo is 0: want 1 to"},
		{"chunks of ranks", strings.Replace(strings.Replace(whole, "allreduce", "allgather", 1), ` nchunksperloop="2"`, ` nchunksperloop="3"`, 1), "nchunksperloop 3 of allgather: want a multiple of the 2 ranks"},
		{"number", strings.Replace(whole, `cnt="2"`, `cnt="two"`, 1), `line 4: attribute cnt of step is "two": want an integer`},
		{"octal", strings.Replace(whole, `cnt="2"`, `cnt="08"`, 1), `line 4: attribute cnt of step is "08": want an integer`},
		{"large", strings.Replace(whole, `cnt="2"`, `cnt="99999999999999999999"`, 1), "want an integer"},
		{"hasdep", strings.Replace(whole, `hasdep="1"`, `hasdep="2"`, 1), "line 4: attribute hasdep of step is 2: want 0 to 1"},
		{"no hasdep", strings.Replace(whole, ` hasdep="1"`, ``, 1), "line 4: attribute hasdep of step missing"},
		{"twice", strings.Replace(whole, ` hasdep="1"`, ` hasdep="1" hasdep="1"`, 1), "line 4: attribute hasdep of step given twice"},
		{"type", strings.Replace(whole, `type="s"`, `type="ra"`, 1), `line 4: step of type "ra": want nop, s, r,`},
		{"buffer", strings.Replace(whole, `srcbuf="i"`, `srcbuf="x"`, 1), `line 4: attribute srcbuf of step is "x": want i, o or s`},
		{"no quotes", strings.Replace(whole, `cnt="2"`, `cnt=2`, 1), "line 4: attribute cnt of step: want a value in double quotes"},
		{"gpu twice", strings.Replace(whole, `gpu id="1"`, `gpu id="0"`, 1), "gpu 0 given twice"},
		{"gpu missing", strings.Replace(whole, `gpu id="1"`, `gpu id="2"`, 1), "gpus up to id 2: ngpus says 2"},
		{"gpu gap", strings.Replace(strings.Replace(whole, `gpu id="1"`, `gpu id="2"`, 1), `ngpus="2"`, `ngpus="3"`, 1), "gpu 1 missing"},
		{"tb gap", strings.Replace(whole, `tb id="2"`, `tb id="3"`, 1), "line 14: threadblock ids of a gpu: want each of 0 to 2 once, found 3"},
		{"closing", strings.Replace(whole, `</tb>`, `</gpu>`, 1), "closing tag of gpu: want that of tb"},
		{"deep", strings.Replace(whole, "</algo>", strings.Repeat("<x>", 200), 1), "nested more than 100 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v: want %q", err, c.want)
			}
		})
	}
	defer func(most int) { maxBytes = most }(maxBytes)
	maxBytes = 100
	if _, err := Read(strings.NewReader(whole)); err == nil || err.Error() != "file of more than 100 bytes" {
		t.Errorf("error %v", err)
	}
}

// Files that the runtimes' reader would refuse or read in part are read as the same
// program.
func TestReadLeniently(t *testing.T) {
	whole := text(t)
	plain := read(t, whole)
	for _, c := range []struct{ name, text string }{
		{"prolog", `<?xml version="1.0"?>` + whole},
		{"comments", strings.ReplaceAll(whole, "<tb", "<!-- a > b --><tb")},
		{"single quotes", strings.ReplaceAll(whole, `"`, `'`)},
		{"spread over lines", strings.ReplaceAll(whole, ` cnt`, "\n\t cnt")},
		{"unknown", strings.ReplaceAll(whole, "  <gpu", "<x><y z=\"1\"/></x>  <gpu")},
		{"unknown attribute", strings.Replace(whole, " coll", ` redop="sum" coll`, 1)},
		{"hexadecimal and octal", strings.ReplaceAll(whole, `cnt="2"`, `cnt="0x2"`)},
		{"steps with an end", strings.ReplaceAll(whole, `hasdep="1"/>`, `hasdep="1"></step>`)},
		{"carriage returns", strings.ReplaceAll(whole, "\n", "\r\n")},
	} {
		f := read(t, c.text)
		f.Notes = nil
		if !reflect.DeepEqual(f, plain) {
			t.Errorf("%s: reads as\n%+v\nwant\n%+v", c.name, f, plain)
		}
	}
	// Threadblocks and GPUs come in any order.
	a, b := strings.Index(whole, `  <gpu id="0"`), strings.Index(whole, `  <gpu id="1"`)
	end := strings.Index(whole, "</algo>")
	if f := read(t, whole[:a]+whole[b:end]+whole[a:b]+whole[end:]); !reflect.DeepEqual(f, plain) {
		t.Error("GPUs in another order read as another file")
	}
}

// drawProgram returns a program of any sense, in the IR's own terms.
func drawProgram(t *rapid.T) *ir.Program {
	names := []string{"allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce"}
	spec := collective.Spec{Name: rapid.SampledFrom(names).Draw(t, "collective"), Ranks: rapid.IntRange(2, 4).Draw(t, "ranks"), Chunks: rapid.IntRange(1, 3).Draw(t, "chunks")}
	if spec.Name == "broadcast" || spec.Name == "reduce" {
		spec.Root = rapid.IntRange(0, spec.Ranks-1).Draw(t, "root")
	}
	spec.InPlace = spec.Name != "alltoall" && rapid.Bool().Draw(t, "in place")
	col, err := collective.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	p := &ir.Program{Name: "drawn", Collective: spec}
	small := func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(t, label) }
	for g := range spec.Ranks {
		gpu := ir.GPU{Scratch: small("scratch", 3), Threadblocks: []ir.Threadblock{}}
		tbs := 1 + small("threadblocks", 3)
		steps := make([]int, tbs)
		for i := range steps {
			steps[i] = small("steps", 5)
		}
		for b := range tbs {
			tb := ir.Threadblock{Send: (g + 1 + small("send", spec.Ranks-1)) % spec.Ranks, Recv: -1, Channel: small("channel", 3), Steps: []ir.Step{}}
			for range steps[b] {
				s := ir.Step{Op: ir.Op(1 + small("op", len(ir.Ops())-1)), Count: 1, HasDep: rapid.Bool().Draw(t, "flag")}
				place := func() ir.Loc {
					buf, at := col.Place(g, collective.Buffer(small("buffer", 3)), small("offset", 4))
					return ir.Loc{Buf: buf, Off: int32(at)}
				}
				if s.Op.ReadsSrc() {
					s.Src = place()
				}
				if s.Op.WritesDst() {
					s.Dst = place()
				}
				for range small("dependencies", 4) {
					on := small("on", tbs)
					if steps[on] > 0 {
						s.Deps = append(s.Deps, ir.Dep{TB: int32(on), Step: int32(small("of", steps[on]))})
					}
				}
				tb.Steps = append(tb.Steps, s)
			}
			gpu.Threadblocks = append(gpu.Threadblocks, tb)
		}
		p.GPUs = append(p.GPUs, gpu)
	}
	return p
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawProgram(rt)
		o := WriteOptions{Runtime: rapid.SampledFrom(Runtimes()).Draw(rt, "runtime"), Protocol: rapid.SampledFrom(ir.Protocols).Draw(rt, "protocol"), MaxBytes: 1 << 20}
		var a, b bytes.Buffer
		if err := Write(&a, p, o); err != nil {
			rt.Fatal(err)
		}
		if err := Write(&b, p, o); err != nil || a.String() != b.String() {
			rt.Fatalf("another file the second time, %v", err)
		}
		f, err := Read(&a)
		if err != nil {
			rt.Fatal(err)
		}
		if len(f.Notes) > 0 {
			rt.Errorf("the runtimes' reader does not take what was written: %v", f.Notes)
		}
		again, known, err := f.Program(p.Collective.InPlace)
		if err != nil || !known {
			rt.Fatalf("known %v, %v", known, err)
		}
		if !reflect.DeepEqual(p, again) {
			rt.Fatalf("wrote\n%+v\nread\n%+v", p, again)
		}
	})
}

// The waits of a nop move to the step after it; a nop that another step waits for has no
// form in these files.
func TestNops(t *testing.T) {
	p := exchange()
	tb := &p.GPUs[0].Threadblocks[2]
	first := tb.Steps[0]
	tb.Steps = append([]ir.Step{{Op: ir.Nop, Deps: first.Deps}, {Op: first.Op, Count: first.Count, Src: first.Src, Dst: first.Dst}}, tb.Steps[1:]...)
	tb.Steps = append(tb.Steps, ir.Step{Op: ir.Nop, Deps: first.Deps})
	got := reread(t, p, WriteOptions{Runtime: "rccl", Protocol: "LL"})
	if !reflect.DeepEqual(got, exchange()) {
		t.Errorf("reads as %+v", got)
	}
	tb.Steps[0].HasDep = true
	if err := Write(&bytes.Buffer{}, p, WriteOptions{Runtime: "rccl", Protocol: "LL"}); err == nil ||
		err.Error() != "gpu 0 threadblock 2 step 0: a nop that others wait for can't be written" {
		t.Errorf("error %v", err)
	}
}

// Two reductions that the readers would merge are kept separate.
func TestReductionsKeptApart(t *testing.T) {
	p := exchange()
	p.GPUs[0].Scratch = 3
	steps := p.GPUs[0].Threadblocks[2].Steps
	steps[1].Dst, steps[1].Count = steps[0].Dst, 2
	f, err := Lower(p, WriteOptions{Runtime: "rccl", Protocol: "LL"})
	if err != nil {
		t.Fatal(err)
	}
	if tb := f.GPUs[0].Threadblocks[2]; !tb.Steps[1].HasDep || tb.Steps[2].HasDep {
		t.Errorf("steps %+v: want a flag on the first reduction", tb.Steps)
	}
	rt, _ := Lookup("rccl")
	if ok, why := f.Accepts(rt); !ok {
		t.Errorf("refused: %v", why)
	}
}

func TestWriteErrors(t *testing.T) {
	gather := &ir.Program{Collective: collective.Spec{Name: "gather", Ranks: 1, Chunks: 1}, GPUs: make([]ir.GPU, 1)}
	out := &ir.Program{Collective: collective.Spec{Name: "allreduce", Ranks: 1, Chunks: 1}, GPUs: make([]ir.GPU, 1)}
	for _, c := range []struct {
		p    *ir.Program
		o    WriteOptions
		want string
	}{
		{exchange(), WriteOptions{Runtime: "x", Protocol: "LL"}, "unknown runtime"},
		{exchange(), WriteOptions{Runtime: "rccl", Protocol: "x"}, "unknown protocol"},
		{exchange(), WriteOptions{Runtime: "msccl", Protocol: "LL"}, "msccl sets scratch aside for the largest size: want one"},
		{exchange(), WriteOptions{Runtime: "rccl", Protocol: "LL", MinBytes: 9, MaxBytes: 8}, "sizes from 9 to 8 bytes"},
		{exchange(), WriteOptions{Runtime: "rccl", Protocol: "LL", OutOfPlace: true}, "compiled in place can't be written for out-of-place calls"},
		{out, WriteOptions{Runtime: "msccl", Protocol: "LL", InPlace: true, OutOfPlace: true}, "serves one placement, not both"},
		{gather, WriteOptions{Runtime: "msccl", Protocol: "LL"}, "msccl has no collective gather"},
	} {
		if err := Write(&bytes.Buffer{}, c.p, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v: want %q", c.o, err, c.want)
		}
	}
}

// The sizes given to the writer are the sizes that the runtime serves.
func TestRangesComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rt := rapid.SampledFrom(runtimes).Draw(t, "runtime")
		s := span{rapid.Int64Range(0, 1<<40).Draw(t, "min"), rapid.OneOf(rapid.Int64Range(1<<40, 1<<41), rapid.Just(int64(math.MaxInt64))).Draw(t, "max")}
		name := rapid.SampledFrom([]string{"allreduce", "gather"}).Draw(t, "collective")
		if name == "gather" && s.max != unlimited {
			s.min, s.max = s.min/4*4, s.max/4*4 // sizes that four ranks divide
		}
		lo, hi := rt.attributes(s, name, 4)
		f := &File{Coll: name, NGPUs: 4, MinBytes: &lo, MaxBytes: &hi}
		if got := rt.serves(f); got.max != s.max || got.min/4 != (s.min+3)/4 && got.min != s.min {
			t.Errorf("%s: %+v comes back as %+v", rt.Name, s, got)
		}
	})
}

func TestGranularity(t *testing.T) {
	for _, c := range []struct {
		spec        collective.Spec
		granularity int64 // in f32
	}{
		{collective.Spec{Name: "allreduce", Ranks: 8, Chunks: 192, InPlace: true}, 768},
		{collective.Spec{Name: "allgather", Ranks: 8, Chunks: 4}, 128},
		{collective.Spec{Name: "gather", Ranks: 8, Chunks: 4}, 1024},
		{collective.Spec{Name: "alltonext", Ranks: 8, Chunks: 4}, 16},
	} {
		p := &ir.Program{Collective: c.spec}
		if got := Granularity(p, 4); got != c.granularity {
			t.Errorf("%+v: granularity %d, want %d", c.spec, got, c.granularity)
		}
	}
}

func TestHowToLoad(t *testing.T) {
	files := []string{"x/a.xml", "x/b.xml", "x/c.xml", "x/d.xml", "x/e.xml"}
	for _, c := range []struct{ runtime, want string }{
		{"msccl", "export MSCCL_XML_FILES=x/a.xml:x/b.xml:x/c.xml:x/d.xml NCCL_ALGO=MSCCL,RING,TREE\nmsccl keeps 4 files: the last 1 of these 5 are left out"},
		{"executor-nccl", "export MSCCL_ALGO_DIR=x NCCL_MSCCL_ENABLE=1\n"},
		{"rccl", "export MSCCL_ALGO_DIR=x RCCL_MSCCL_ENABLE=1 RCCL_MSCCL_FORCE_ENABLE=1\n"},
	} {
		rt, err := Lookup(c.runtime)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(HowToLoad(rt, files), "\n"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s", c.runtime, got)
		}
		if got := HowToLoad(rt, []string{"my files/a.xml"})[0]; !strings.Contains(got, "='my files") {
			t.Errorf("%s: %s, want the path in quotes", c.runtime, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(text(f)))
	f.Add([]byte(`<!-- x --><algo coll="allgather" nchunksperloop="2"><gpu id="0" i_chunks="1" o_chunks="2" s_chunks="0"/><gpu id="1" i_chunks="0x1" o_chunks="2" s_chunks="0"></gpu></algo>`))
	f.Add([]byte(`<?xml version='1.0'?><algo coll='custom' nchunksperloop='1048576' ngpus='1'><x><y/></x><gpu id='0' i_chunks='0' o_chunks='0' s_chunks='1048576'/></algo>`))
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		Verify(first, verify.Options{MaxFindings: 5})
		LintFolder([]string{"a", "b"}, []*File{first, first}, []string{"c"})
		// Written, it is what it was, but for what a reader adds.
		second := rewrite(t, first)
		if third := rewrite(t, second); !reflect.DeepEqual(second, third) {
			t.Errorf("rewritten, %+v becomes %+v", second, third)
		}
		if !reflect.DeepEqual(first.GPUs, second.GPUs) {
			t.Errorf("GPUs %+v become %+v", first.GPUs, second.GPUs)
		}
	})
}

func rewrite(t *testing.T, f *File) *File {
	t.Helper()
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	again, err := Read(&b)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(again.Notes) > 0 {
		t.Errorf("the runtimes' reader does not take what was written: %v", again.Notes)
	}
	return again
}
