package msccl

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
)

// text returns a file of exchange that every runtime takes.
func text(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, exchange(), WriteOptions{Runtime: "rccl", Protocol: "Simple", MinBytes: 8, MaxBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func read(t testing.TB, text string) *File {
	t.Helper()
	f, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return f
}

// TestRules breaks one rule at a time. by lists the runtimes that then refuse
// the file, by their initials; want is in the reason.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		rule, old, new string // edits: old becomes new, everywhere
		by             string
		want           string
	}{
		{"nothing", "", "", "", ""},
		{"reader of XML", "<algo", `<?xml version="1.0"?>` + "\n<algo", "mer", "line 1: prolog"},
		{"reader of XML", "    <tb", "\t<tb", "mer", "tab between elements"},
		{"reader of XML", ` proto="Simple"`, ` proto='Simple'`, "mer", "value in single quotes"},
		{"reader of XML", ` nchannels`, `  nchannels`, "mer", "attributes of algo not separated by one space"},
		{"reader of XML", ` nchannels`, "\nnchannels", "mer", "attributes of algo not separated by one space"},
		{"reader of XML", "<algo", `<algo note="` + strings.Repeat("x", 256) + `"`, "mer", "name or value of more than 255 characters"},
		{"reader of XML", "<algo", `<algo a="" b="" c="" d="" e="" f="" g=""`, "mer", "element of more than 16 attributes"},
		{"reader of XML", "  <gpu", `  <ignored by="all"></ignored>` + "\n  <gpu", "", ""},
		{"attributes", ` coll=`, ` redop="sum" ld="1" coll=`, "", ""},
		{"attributes", ` inplace="1"`, "", "mer", "attribute inplace of algo missing"},
		{"attributes", ` nchannels="1"`, "", "mer", "attribute nchannels of algo missing"},
		{"attributes", ` proto="Simple"`, "", "mer", "attribute proto of algo missing"},
		{"attributes", ` outofplace="0"`, "", "er", "attribute outofplace of algo missing"},
		{"attributes", ` minBytes="8" maxBytes="1048576"`, "", "er", "attribute minBytes, maxBytes of algo missing"},
		{"attributes", ` name="exchange"`, "", "m", "attribute name of algo missing"},
		{"attributes", ` ngpus="2"`, "", "mer", "attribute ngpus of algo missing"},
		{"collective", `coll="allreduce"`, `coll="custom"`, "er", "collective custom, which it does not have"},
		{"collective", `coll="allreduce"`, `coll="reduce_scatter"`, "er", "collective reduce_scatter, which it calls reducescatter"},
		{"collective", `coll="allreduce"`, `coll="reducescatter"`, "m", "collective reducescatter, which it calls reduce_scatter"},
		{"collective", `coll="allreduce"`, `coll="gather"`, "m", "collective gather, which it does not have"},
		{"placement", ` inplace="1" outofplace="0"`, ` inplace="0" outofplace="0"`, "er", "neither for in-place nor for out-of-place calls"},
		{"size range", `maxBytes="1048576"`, `maxBytes="0"`, "m", "its sizes, from 8 bytes to -1, are none"},
		{"size range", `minBytes="8" maxBytes="1048576"`, `minBytes="9" maxBytes="10"`, "m", "no size of 9 to 9 bytes divides into 2 chunks"},
		{"threads", ` coll=`, ` nthreads="40" coll=`, "m", "nthreads 40: want a multiple of 32"},
		{"threads", ` coll=`, ` nthreads="224" coll=`, "m", "nthreads 224: Simple moves a tile of 2097152 bytes in turns"},
		{"threads", ` coll=`, ` nthreads="32" coll=`, "m", "nthreads 32: Simple moves"},
		{"threads", ` coll=`, ` nthreads="288" coll=`, "", ""},
		{"threads", ` proto="Simple"`, ` proto="LL" nthreads="224"`, "", ""},
		{"channels", ` nchannels="1"`, ` nchannels="33"`, "me", "33 channels: at most 32"},
		{"channels", ` nchannels="1"`, ` nchannels="129"`, "mer", "129 channels"},
		{"channels", `chan="0"`, `chan="1"`, "mer", "gpu 0 threadblock 0: channel 1: nchannels is 1"},
		{"size range", `minBytes="8" maxBytes="1048576"`, `minBytes="1048576" maxBytes="1048576"`, "m", "its sizes, from 1048576 bytes to 1048575, are none"},
		{"size range", `minBytes="8" maxBytes="1048576"`, `minBytes="8" maxBytes="4"`, "mer", "are none"},
		{"peers", `send="1"`, `send="0"`, "mer", "gpu 0 threadblock 0: peer 0: want another rank below 2"},
		{"peers", `send="1"`, `send="2"`, "mer", "gpu 0 threadblock 0: peer 2: want another rank below 2"},
		{"count", `cnt="2"`, `cnt="72"`, "mer", "cnt 72: want 1 to 71"},
		{"count", `cnt="2"`, `cnt="0"`, "mer", "cnt 0"},
		{"step numbers", `step s="2"`, `step s="3"`, "mer", "threadblock 2 step 2: s 3 of the step that is number 2"},
		{"dependency", `depid="1"`, `depid="128"`, "mer", "depid 128: at most 127"},
		{"nop", `depid="1" deps="0"`, `depid="-1" deps="-1"`, "mer", "threadblock 2 step 1: waits for nothing itself, after a nop"},
		{"nop", `cnt="0" depid="0" deps="0"`, `cnt="0" depid="-1" deps="-1"`, "mer", "nop that waits for nothing"},
		{"nop", `cnt="0" depid="0" deps="0" hasdep="0"`, `cnt="0" depid="0" deps="0" hasdep="1"`, "mer", "nop with hasdep"},
		{"nop", `<step s="2" type="re"`, `<step s="2" type="nop"`, "mer", "nop"},
		{"reduction", `srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1"`, `srcoff="0" dstbuf="i" dstoff="0" cnt="2" depid="-1"`, "mer", "re of 2 chunks right after one of 1"},
		{"places", `s_chunks="2"`, `s_chunks="1"`, "mer", "dstoff 0 and cnt 2: s_chunks is 1"},
		{"places", `i_chunks="2"`, `i_chunks="1"`, "mer", "srcoff 0 and cnt 2: i_chunks is 1"},
		{"chunks of a buffer", `i_chunks="2"`, `i_chunks="3"`, "m", "i_chunks 3 does not make nchunksperloop 2"},
		{"chunks of a buffer", `coll="allreduce"`, `coll="allgather"`, "m", "i_chunks 2 does not make nchunksperloop 2"},
		{"chunks of a buffer", `o_chunks="0"`, `o_chunks="1"`, "m", "o_chunks 1 does not make nchunksperloop 2"},
	} {
		t.Run(c.rule+" "+c.new, func(t *testing.T) {
			whole := text(t)
			if c.old != "" && !strings.Contains(whole, c.old) {
				t.Fatalf("no %q in\n%s", c.old, whole)
			}
			f := read(t, strings.ReplaceAll(whole, c.old, c.new))
			for _, rt := range runtimes {
				ok, why := f.Accepts(rt)
				refuses := strings.Contains(c.by, rt.Name[:1])
				switch {
				case ok == refuses:
					t.Errorf("%s accepts: %v, because %v", rt.Name, ok, why)
				case refuses && !strings.Contains(strings.Join(why, "; "), c.want):
					t.Errorf("%s refuses because %q: want %q", rt.Name, why, c.want)
				}
			}
		})
	}
}

// wide returns a program of any shape: idle threadblocks with one copy each.
func wide(ranks, threadblocks, steps int) *ir.Program {
	p := &ir.Program{Collective: collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: 2, InPlace: true}}
	for range ranks {
		var g ir.GPU
		for range threadblocks {
			tb := ir.Threadblock{Send: -1, Recv: -1}
			for range steps {
				tb.Steps = append(tb.Steps, ir.Step{Op: ir.Copy, Count: 1, Dst: ir.Loc{Off: 1}})
			}
			g.Threadblocks = append(g.Threadblocks, tb)
		}
		p.GPUs = append(p.GPUs, g)
	}
	return p
}

func TestAccepts(t *testing.T) {
	spread := wide(40, 1, 1)
	for g := 1; g < 40; g++ {
		spread.GPUs[0].Threadblocks = append(spread.GPUs[0].Threadblocks, ir.Threadblock{Send: g, Recv: -1, Steps: []ir.Step{{Op: ir.Send, Count: 1}}})
	}
	for _, c := range []struct {
		name string
		p    *ir.Program
		by   string // who accepts
		why  string
	}{
		{"small", wide(2, 1, 1), "mer", ""},
		{"64 steps", wide(2, 1, 64), "mer", ""},
		{"65 steps", wide(2, 1, 65), "m", "65 steps: at most 64"},
		{"257 steps", wide(2, 1, 257), "", "257 steps"},
		{"64 threadblocks", wide(2, 64, 1), "mer", ""},
		{"65 threadblocks", wide(2, 65, 1), "me", "65 threadblocks: at most 64"},
		{"217 threadblocks", wide(2, 217, 1), "e", "217 threadblocks"},
		{"1025 threadblocks", wide(2, 1025, 1), "", "1025 threadblocks"},
		{"elements", wide(2, 64, 62), "mer", ""},
		{"too many elements", wide(2, 64, 63), "", "4099 elements to keep: at most 4095"},
		{"1024 GPUs", wide(1024, 1, 1), "mer", ""},
		{"too many GPUs", wide(1025, 1, 1), "", "1025 GPUs: at most 1024"},
		{"peers of a channel", spread, "", "more than 32 threadblocks send, or receive, on channel 0"},
	} {
		readers := Readers(c.p)
		for _, rt := range Runtimes() {
			ok, why := Accepts(c.p, rt, "LL")
			if slices.Contains(readers, rt) != ok {
				t.Errorf("%s: readers %v, %s accepts: %v", c.name, readers, rt, ok)
			}
			switch want := strings.Contains(c.by, rt[:1]); {
			case ok != want:
				t.Errorf("%s: %s accepts: %v, because %v", c.name, rt, ok, why)
			case !ok && !strings.Contains(strings.Join(why, "; "), c.why) && len(c.by) == 0:
				t.Errorf("%s: %s refuses because %q: want %q", c.name, rt, why, c.why)
			}
		}
	}
	for _, c := range []struct{ runtime, protocol, why string }{
		{"nccl", "LL", `unknown runtime "nccl": want one of msccl, executor-nccl, rccl`},
		{"msccl", "ll", `unknown protocol "ll": want LL, LL128 or Simple`},
	} {
		if ok, why := Accepts(wide(2, 1, 1), c.runtime, c.protocol); ok || len(why) != 1 || why[0] != c.why {
			t.Errorf("%s %s: %v, %q", c.runtime, c.protocol, ok, why)
		}
	}
}

func TestLint(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`nchunksperloop="2" ngpus="2" coll="allreduce"`, `nchunksperloop="6" ngpus="2" coll="allreduce"`, "used for multiples of 6 elements only"},
		{`coll="allreduce"`, `coll="broadcast"`, "right for root 0 only"},
		{`coll="allreduce"`, `coll="custom"`, "a custom collective"},
		{`coll="allreduce"`, `coll="alltoall"`, "in-place calls of alltoall are not known here"},
		{` maxBytes="1048576"`, ``, "msccl falls back in silence from 128 MiB on"},
		{` proto="Simple"`, ``, "no proto"},
		{` proto=`, `  proto=`, "line 1: attributes of algo not separated by one space"},
	} {
		f := read(t, strings.Replace(text(t), c.old, c.new, 1))
		var all []string
		for _, found := range Lint(f) {
			if found.Severity != verify.Warning {
				t.Errorf("%s: %s", found, found.Severity)
			}
			all = append(all, found.Message)
		}
		if !strings.Contains(strings.Join(all, "; "), c.want) {
			t.Errorf("found %q: want %q", all, c.want)
		}
	}
}

func TestLintFolder(t *testing.T) {
	files := []*File{
		read(t, text(t)),
		read(t, strings.Replace(text(t), `minBytes="8" maxBytes="1048576"`, `minBytes="1048577" maxBytes="0"`, 1)),
		read(t, strings.Replace(text(t), `minBytes="8" maxBytes="1048576"`, `minBytes="1024" maxBytes="2097152"`, 1)),
		read(t, strings.Replace(text(t), `inplace="1" outofplace="0"`, `inplace="0" outofplace="1"`, 1)),
		read(t, strings.Replace(text(t), `minBytes="8" `, ``, 1)),
	}
	var got []string
	for _, f := range LintFolder([]string{"a", "b", "c", "d", "e"}, files, []string{"README"}) {
		got = append(got, f.Message)
	}
	const byName = "is found first, where MSCCL_XML_FILES has them by name"
	const any = "which is found first is the folder's own order"
	want := []string{
		"msccl: keeps 4 files of the 5",
		"msccl: a and c both serve 1024 to 1048575 bytes; a " + byName,
		"msccl: a and e both serve 8 to 1048575 bytes; a " + byName,
		"msccl: c and e both serve 1024 to 1048575 bytes; c " + byName,
		"executor-nccl: reads every file of its folder, and does not start with README there: it is no algorithm",
		"executor-nccl: does not start with e in its folder: attribute minBytes of algo missing",
		"executor-nccl: a and c both serve 1024 to 1048576 bytes; a is found first",
		"executor-nccl: b and c both serve 1048577 to 2097152 bytes; b is found first",
		"rccl: reads every file of its folder, and does not start with README there: it is no algorithm",
		"rccl: does not start with e in its folder: attribute minBytes of algo missing",
		"rccl: a and c both serve 1024 to 1048576 bytes; " + any,
		"rccl: b and c both serve 1048577 to 2097152 bytes; " + any,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		kind           verify.Kind // "" where right
		want           string
	}{
		{"right", "", "", "", ""},
		{"a dependency dropped", `depid="1" deps="0"`, `depid="-1" deps="-1"`, verify.Race, "both access"},
		{"wrong result", `type="re" srcbuf="s" srcoff="0"`, `type="re" srcbuf="s" srcoff="1"`, verify.WrongResult, "ends as"},
		{"for both placements", `outofplace="0"`, `outofplace="1"`, verify.WrongResult, "(out of place)"},
		{"outside its buffer", `srcoff="0" dstbuf="s" dstoff="0" cnt="2"`, `srcoff="0" dstbuf="s" dstoff="1" cnt="2"`, verify.Malformed, "writes sc[1:3]"},
		{"no such step", `depid="1" deps="0"`, `depid="1" deps="7"`, verify.Malformed, "waits for step 7 of threadblock 1, which has 1 steps"},
		{"custom", `coll="allreduce"`, `coll="custom"`, "", ""},
		{"custom of a known kind", `coll="allreduce"`, `coll="custom" collective="broadcast"`, verify.WrongResult, "want input chunk 0 of rank 0"},
		{"no flag", `hasdep="1"`, `hasdep="0"`, verify.Malformed, "posts no flag (hasdep)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Verify(read(t, strings.ReplaceAll(text(t), c.old, c.new)), verify.Options{})
			if v.OK() != (c.kind == "") {
				t.Fatalf("ok %v: %v", v.OK(), v.Findings)
			}
			if c.kind == "" {
				return
			}
			for _, f := range v.Findings {
				if f.Kind == c.kind && strings.Contains(f.Message, c.want) {
					return
				}
			}
			t.Errorf("no %s with %q among %v", c.kind, c.want, v.Findings)
		})
	}
}

// TestVerifyCountsCalls: nine chunks sent before nine are received need as many
// slots as the size makes calls.
func TestVerifyCountsCalls(t *testing.T) {
	p := &ir.Program{Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 9}}
	for g := range 2 {
		p.GPUs = append(p.GPUs, ir.GPU{Threadblocks: []ir.Threadblock{{Send: 1 - g, Recv: 1 - g, Steps: []ir.Step{
			{Op: ir.Send, Count: 9},
			{Op: ir.Recv, Count: 9, Dst: ir.Loc{Buf: collective.Out}},
		}}}})
	}
	for _, c := range []struct {
		maxBytes int64
		ok       bool
	}{{9 * 32768 / 9, true}, {9 * 16384, true}, {9 * 16385, false}, {0, false}} {
		o := WriteOptions{Runtime: "msccl", Protocol: "LL", MaxBytes: c.maxBytes}
		f, err := Lower(p, o)
		if err != nil {
			t.Fatal(err)
		}
		if v := Verify(f, verify.Options{}); v.OK() != c.ok || !v.Runtimes["msccl"].Accepts {
			t.Errorf("up to %d bytes: ok %v, %v", c.maxBytes, v.OK(), v.Findings)
		}
	}
}
