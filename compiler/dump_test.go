package compiler

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// dumped compiles and keeps what every pass left.
func dumped(p *lang.Program, o Options) (res *Result, texts []string, err error) {
	o.DumpAfter = "all"
	o.Dump = func(_, text string) { texts = append(texts, text) }
	res, err = Compile(p, o)
	return res, texts, err
}

func encoded(t interface{ Fatal(...any) }, p *ir.Program) string {
	var b bytes.Buffer
	if err := ir.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// resumes reads every dump back: it is written as it was, and what the rest of
// the passes make of it is what they made of the program.
func resumes(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, p *lang.Program, o Options) {
	res, texts, err := dumped(p, o)
	if err != nil {
		return // the other tests say whether that is right
	}
	want := *res.Program
	want.Name, want.Comment = "", ""
	for _, text := range texts {
		d, err := ParseDump(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if got := d.String(); got != text {
			t.Fatalf("written again as\n%s\nfrom\n%s", got, text)
		}
		o.CheckEachPass = true
		rest, err := d.Compile(o)
		if err != nil {
			t.Fatalf("%v after\n%s", err, text)
		}
		got := *rest.Program
		if d.Pass != "emit" && (got.Name != res.Program.Name || got.Comment != res.Program.Comment) {
			t.Fatalf("after %s, %q (%q), not %q (%q)", d.Pass, got.Name, got.Comment, res.Program.Name, res.Program.Comment)
		}
		got.Name, got.Comment = "", ""
		if encoded(t, &got) != encoded(t, &want) {
			t.Fatalf("another program comes of\n%s", text)
		}
	}
}

func TestDumpsOfFamiliesAreReadBack(t *testing.T) {
	for _, p := range families() {
		for _, o := range []Options{{}, {Instances: 2, MaxChannels: 64}, {CallPerChunk: true}, {MaxThreadblocks: 12}} {
			resumes(t, p, o)
		}
	}
	resumes(t, &begin(collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1}).p, Options{}) // of nothing
}

func TestDumpsOfRandomRoutingsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := Options{
			Instances:   rapid.IntRange(1, 3).Draw(t, "instances"),
			Slots:       rapid.SampledFrom([]int{0, 1, 2, 8}).Draw(t, "slots"),
			MaxChannels: 1000,
		}
		if rapid.Bool().Draw(t, "few threadblocks") {
			o.MaxThreadblocks = rapid.IntRange(1, 20).Draw(t, "threadblocks")
		}
		p := drawRouting(t)
		p.Protocol = rapid.SampledFrom(append([]string{""}, ir.Protocols...)).Draw(t, "protocol")
		resumes(t, p, o)
	})
}

func TestDumpsOfRandomOperationsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		resumes(t, drawOperations(t), Options{MaxChannels: 1000})
	})
}

// An edited dump is compiled as edited.
func TestEditedDump(t *testing.T) {
	_, texts, err := dumped(ringAllReduce(3, 1), Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := texts[passIndex("fuse rrs")]
	edited := strings.ReplaceAll(text, " ← ", " ch 5 ← ")
	edited = strings.ReplaceAll(edited, " s    rank 0 in[0] → 1", " s    rank 0 in[0] → 1 ch 5")
	edited = strings.ReplaceAll(edited, " s    rank 1 in[1] → 2", " s    rank 1 in[1] → 2 ch 5")
	edited = strings.ReplaceAll(edited, " s    rank 2 in[2] → 0", " s    rank 2 in[2] → 0 ch 5")
	d, err := ParseDump(edited)
	if err != nil {
		t.Fatal(err)
	}
	res, err := d.Compile(Options{CheckEachPass: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Program.Channels(); got != 6 {
		t.Errorf("%d channels: want those up to 5, which the text gives\n%s", got, edited)
	}
	if err := judge(res.Program, Options{}, 3); err != nil {
		t.Error(err)
	}
}

// Each row changes one thing of a valid dump, and names the error.
func TestParseDumpErrors(t *testing.T) {
	_, texts, err := dumped(hierarchical(2, 3, 2), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ pass, from, to, want string }{
		{"expand", "after expand", "after expansion", `line 1: unknown pass "expansion": want one of expand, `},
		{"expand", "after expand of", "after emit of", `line 1: after emit there is the IR alone`},
		{"expand", `of "`, `of `, `want it in quotes`},
		{"expand", "6 ranks", "0 ranks", "allreduce over 0 ranks: want at least 1"},
		{"expand", "6 ranks", "65537 ranks", `line 2: "65537": want a number of 0 to 65536`},
		{"expand", "6 chunks", "2000000000 chunks", "more than 67108864 chunks of all buffers"},
		{"expand", "scope 1 in 0 by 2", "scope 1 in 1 by 2", `line 3: "1": want a number of 0 to 0`},
		{"expand", "scope 1 in 0 by 2", "scope 2 in 0 by 2", "want scope 1 in N by N"},
		{"expand", "0 reduce rank", "1 reduce rank", `"1": want 0`},
		{"expand", "0 reduce rank", "0 double rank", `"double": want copy or reduce`},
		{"expand", "rank 1 in[0:2]", "rank 7 in[0:2]", `"7": want a number of 0 to 5`},
		{"expand", "rank 1 in[0:2]", "rank 1 in[0:9]", `9 chunks to 2`},
		{"expand", "rank 1 in[0:2]", "rank 1 in[5:7]", "operation 0 is outside its buffers"},
		{"chunk dag", "after 0 |", "after 9999 |", `"9999": want a number of 0 to`},
		{"chunk dag", " |", "", `the line ends too early`},
		{"parallelize", "instances 1 × 2", "instances 1 × 0", `"0": want a number of 1 to 32767`},
		{"parallelize", "instance 1", "instance 2", `"2": want a number of 0 to 1`},
		{"instructions", "\n0 s ", "\n4000 s ", `"4000": want a number of 0 to`},
		{"instructions", "\n0 s ", "\n1 s ", `instruction 1 is there twice`},
		{"instructions", "\n0 s ", "\n0 r ", `"→" is not for r after instructions`},
		{"instructions", "\n0 s    rank 1", "\n0 s    rank 5", "instruction 1 is not the receiver of what 0 sends"},
		{"fuse rcs", "\n0 s ", "\n0 rcs ", "rcs: want ID+ID where it receives and sends"},
		{"channels", " ch 0", " ch 9", "is not the receiver of what"},
		{"depths", "depth 0 of", "depth 9999 of", `"9999": want a number of 0 to`},
		{"order", "after ", "after 999 ", "order"},
		{"threadblocks", "tb 0 → 1", "tb 0 → 4", "which nothing uses"},
		{"threadblocks", "rank 0 tb 0", "rank 0 tb 3", `"3": want 0`},
		{"threadblocks", "rank 1 tb 0", "rank 5 tb 0", "is not under a threadblock of it"},
		{"threadblocks", " at 0\n", " at 200\n", "comes before"},
		{"slots", " waits ", " waits 12345 ", "want a number of 0 to"},
		{"emit", "gpu 0", "gpu 1", `line 2: gpu "1": want gpu 0`},
	} {
		good := texts[passIndex(c.pass)]
		bad := strings.Replace(good, c.from, c.to, 1)
		if c.pass == "order" {
			bad = good[:len(c.from)] + strings.Replace(good[len(c.from):], c.from, c.to, 1)
			c.want = `"999": want a number of 0 to`
		}
		if bad == good {
			t.Errorf("after %s there is no %q:\n%s", c.pass, c.from, good)
			continue
		}
		if _, err := ParseDump(bad); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %s, %q as %q: %v, want %s", c.pass, c.from, c.to, err, c.want)
		}
	}
	if _, err := ParseDump("# nothing\n\n"); err == nil || !strings.Contains(err.Error(), "no program") {
		t.Errorf("nothing: %v", err)
	}
}

// FuzzParseDump: no text hurts; what is accepted is written and read again, and
// compiled without a panic.
func FuzzParseDump(f *testing.F) {
	apart := begin(collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 6})
	for r := range 2 {
		apart.shuffle(in(r, 0), sc(1-r, 1), 3, 2, 3)
		apart.shuffle(sc(1-r, 1), out(1-r, 0), 3, 3, 2)
		apart.shuffle(in(r, 1), out(1-r, 1), 3, 2, 2)
	}
	for _, p := range []*lang.Program{ringAllReduce(3, 1), hierarchical(2, 2, 2), twoStep(2, 2), &apart.p} {
		_, texts, err := dumped(p, Options{})
		if err != nil {
			f.Fatal(err)
		}
		for _, text := range texts {
			f.Add(text)
			f.Add(strings.ReplaceAll(text, "\n", "\n\t\n")) // lines of nothing but white space
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDump(text)
		if err != nil {
			return
		}
		again := d.String()
		e, err := ParseDump(again)
		if err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
		if got := e.String(); got != again {
			t.Fatalf("written again as\n%s\nfrom\n%s", got, again)
		}
		prog, _ := readUnit(text)
		if prog.out == nil && prog.instances < 64 && prog.places() < 1<<16 && len(prog.in.Scopes) < 3 {
			_, _ = d.Compile(Options{CheckEachPass: true})
		}
	})
}

// String prints the text again, as Options.Dump would get it for the same program.
func (d *Dump) String() string {
	prog, err := readUnit(d.text)
	if err != nil {
		return ""
	}
	return prog.text()
}
