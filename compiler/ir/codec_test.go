package ir

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
)

// pair returns a program small enough to read: a two-rank AllReduce.
func pair() *Program {
	gpu := func(peer, mine, other int32) GPU {
		return GPU{Threadblocks: []Threadblock{{
			Send: int(peer), Recv: int(peer),
			Steps: []Step{
				{Op: Send, Count: 1, Src: Loc{Buf: collective.In, Off: other}},
				{Op: RecvReduceCopySend, Count: 1, Src: Loc{Buf: collective.In, Off: mine}, Dst: Loc{Buf: collective.In, Off: mine}},
				{Op: Recv, Count: 1, Dst: Loc{Buf: collective.In, Off: other}, HasDep: true},
			},
		}, {
			Send: -1, Recv: -1, Channel: 1,
			Steps: []Step{{Op: Copy, Count: 2, Src: Loc{Buf: collective.In, Off: 0}, Dst: Loc{Buf: collective.Scratch, Off: 0}, Deps: []Dep{{0, 2}}}},
		}}, Scratch: 2}
	}
	return &Program{
		Name: "pair", Comment: "by hand <&>",
		Collective: collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 2, InPlace: true},
		GPUs:       []GPU{gpu(1, 0, 1), gpu(0, 1, 0)},
	}
}

func encoded(t testing.TB, p *Program) string {
	t.Helper()
	var b bytes.Buffer
	if err := Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	var text bytes.Buffer
	if err := Print(&text, pair()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, got string }{
		{"testdata/pair.json", encoded(t, pair())},
		{"testdata/pair.txt", text.String()},
		{"testdata/pair.hash", pair().Hash() + "\n"},
	} {
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(c.file, []byte(c.got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if c.got != string(want) {
			t.Errorf("%s differs; got\n%s", c.file, c.got)
		}
	}
}

// drawProgram returns any program that Encode can write, sensible or not.
func drawProgram(t *rapid.T) *Program {
	ranks := rapid.IntRange(1, 4).Draw(t, "ranks")
	small := rapid.Int32Range(0, 300)
	loc := func(used bool) (l Loc) {
		if used {
			l = Loc{Buf: collective.Buffer(rapid.IntRange(0, 2).Draw(t, "buffer")), Off: small.Draw(t, "offset"),
				Stride: rapid.SampledFrom([]int32{0, 0, 2, 3, 50}).Draw(t, "stride")}
		}
		return l
	}
	p := &Program{
		Name: rapid.String().Draw(t, "name"), Comment: rapid.StringN(0, 5, -1).Draw(t, "comment"),
		Collective: collective.Spec{
			Name:  rapid.SampledFrom(collective.Names()).Draw(t, "collective"),
			Ranks: ranks, Chunks: rapid.IntRange(1, 9).Draw(t, "chunks"), InPlace: rapid.Bool().Draw(t, "in place"),
		},
		GPUs:     make([]GPU, ranks),
		Protocol: rapid.SampledFrom(append([]string{""}, Protocols...)).Draw(t, "protocol"),
	}
	for g := range p.GPUs {
		p.GPUs[g].Scratch = rapid.IntRange(0, 5).Draw(t, "scratch")
		for range rapid.IntRange(0, 3).Draw(t, "threadblocks") {
			tb := Threadblock{
				Send: rapid.IntRange(-1, 3).Draw(t, "send"), Recv: rapid.IntRange(-1, 3).Draw(t, "recv"),
				Channel: rapid.IntRange(0, 3).Draw(t, "channel"),
			}
			for range rapid.IntRange(0, 4).Draw(t, "steps") {
				op := rapid.SampledFrom(Ops()).Draw(t, "op")
				s := Step{
					Op: op, HasDep: rapid.Bool().Draw(t, "hasdep"), Count: small.Draw(t, "count"),
					Src: loc(op.ReadsSrc()), Dst: loc(op.WritesDst()),
				}
				s.Src, s.Dst = s.Src.Normal(s.Count), s.Dst.Normal(s.Count)
				for range rapid.IntRange(0, 3).Draw(t, "deps") {
					s.Deps = append(s.Deps, Dep{small.Draw(t, "tb"), small.Draw(t, "step")})
				}
				tb.Steps = append(tb.Steps, s)
			}
			p.GPUs[g].Threadblocks = append(p.GPUs[g].Threadblocks, tb)
		}
	}
	return p
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProgram(t)
		var b bytes.Buffer
		if err := Encode(&b, p); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		q, err := Decode(strings.NewReader(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !reflect.DeepEqual(p, q) {
			t.Fatalf("read back as\n%+v\nfrom\n%+v", q, p)
		}
		if p.Hash() != q.Hash() {
			t.Fatal("the hash changed")
		}
	})
}

// A change of anything that runs changes the hash.
func TestHashCoversEverythingThatRuns(t *testing.T) {
	hashes := map[string]string{pair().Hash(): "nothing"}
	change := func(name string, f func(*Program)) {
		p := pair()
		f(p)
		h := p.Hash()
		if other, ok := hashes[h]; ok {
			t.Errorf("changing %s gives the hash of changing %s", name, other)
		}
		hashes[h] = name
	}
	step := func(f func(*Step)) func(*Program) {
		return func(p *Program) { f(&p.GPUs[1].Threadblocks[1].Steps[0]) }
	}
	change("collective", func(p *Program) { p.Collective.Name = "reduce" })
	change("protocol", func(p *Program) { p.Protocol = "LL" })
	change("another protocol", func(p *Program) { p.Protocol = "LL128" })
	change("chunks", func(p *Program) { p.Collective.Chunks = 3 })
	change("in place", func(p *Program) { p.Collective.InPlace = false })
	change("scratch", func(p *Program) { p.GPUs[0].Scratch++ })
	change("send", func(p *Program) { p.GPUs[0].Threadblocks[0].Send = -1 })
	change("recv", func(p *Program) { p.GPUs[0].Threadblocks[0].Recv = -1 })
	change("channel", func(p *Program) { p.GPUs[0].Threadblocks[0].Channel = 2 })
	change("order", func(p *Program) { s := p.GPUs[0].Threadblocks[0].Steps; s[0], s[1] = s[1], s[0] })
	change("step dropped", func(p *Program) { tb := &p.GPUs[0].Threadblocks[0]; tb.Steps = tb.Steps[:2] })
	change("op", step(func(s *Step) { s.Op = Reduce }))
	change("count", step(func(s *Step) { s.Count = 1 }))
	change("src", step(func(s *Step) { s.Src.Off = 1 }))
	change("src buffer", step(func(s *Step) { s.Src.Buf = collective.Out }))
	change("dst", step(func(s *Step) { s.Dst.Off = 1 }))
	change("dep", step(func(s *Step) { s.Deps = []Dep{{0, 1}} }))
	change("deps", step(func(s *Step) { s.Deps = nil }))
	change("hasdep", step(func(s *Step) { s.HasDep = true }))

	p := pair()
	p.Name, p.Comment = "other", "other"
	p.GPUs[0].Threadblocks[0].Steps[0].Dst.Off = 7 // a send writes nothing
	if p.Hash() != pair().Hash() {
		t.Error("the hash covers a name, a comment or an unused place")
	}
}

// TestEncodeRefuses what has no text.
func TestEncodeRefuses(t *testing.T) {
	for name, f := range map[string]func(*Program){
		"instruction":    func(p *Program) { p.GPUs[0].Threadblocks[0].Steps[0].Op = Op(len(ops)) },
		"buffer":         func(p *Program) { p.GPUs[0].Threadblocks[0].Steps[0].Src.Buf = 9 },
		"name \"\\xff\"": func(p *Program) { p.Name = "\xff" },
	} {
		p := pair()
		f(p)
		if err := Encode(io.Discard, p); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	good := encoded(t, pair())
	for _, c := range []struct{ name, from, to, want string }{
		{"schema", "colltune.ir/v1", "colltune.ir/v2", `1:11: schema "colltune.ir/v2": want "colltune.ir/v1"`},
		{"unknown key", `"comment"`, `"coment"`, `3:1: unknown key "coment": want schema, name, comment, protocol, collective, gpus`},
		{"protocol", `"name":"pair"`, `"protocol":"ll"`, `2:12: protocol "ll": want one of LL, LL128, Simple`},
		{"long name", `"name":"pair"`, `"name":"` + strings.Repeat("a", 100_000) + `"`, "2:8: name of 100000 bytes: want at most 1000"},
		{"long comment", "\"by hand", `"` + strings.Repeat("a", 2<<20), "3:11: comment of 20971"},
		{"key twice", `"name":"pair"`, `"name":"a","name":"pair"`, `2:12: key "name" twice`},
		{"no key", "\"name\":\"pair\",\n\"comment\":\"by hand \\u003c\\u0026\\u003e\",\n\"collective\":{\"name\":\"allreduce\",\"ranks\":2,\"chunks\":2,\"in_place\":true},\n", "", `1:1: no key "collective"`},
		{"op", `"op":"cpy"`, `"op":"copy"`, `op "copy": want one of nop, s, r, cpy, re, rrc, rcs, rrs, rrcs`},
		{"buffer", `["in",0]`, `["input",0]`, `buffer "input": want one of in, out, sc`},
		{"place not used", `{"op":"s",`, `{"op":"nop",`, `nop with src true and dst false: want false and false`},
		{"number", `"channel":1`, `"channel":-1`, "want a whole number from 0 to 32767"},
		{"fraction", `"channel":1`, `"channel":1.5`, "want a whole number"},
		{"leading zero", `"channel":1`, `"channel":01`, "want a whole number"},
		{"long number", `"channel":1`, `"channel":1111111111111111111111111111111`, "want a whole number"},
		{"ranks", `"ranks":2`, `"ranks":3`, "2 gpus, in a collective over 3 ranks"},
		{"no ranks", `"ranks":2`, `"ranks":-2`, "collective over -2 ranks"},
		{"collective's kinds", `"in_place":true`, `"in_place":"yes"`, `collective: in_place is a JSON string: want bool`},
		{"collective", `"chunks":2`, `"chunk":2`, `collective: json: unknown field "chunk"`},
		{"place", `"gpu":1`, `"gpu":2`, "gpu 2 at place 1"},
		{"bool", `true}`, `1}`, "'1' where true or false is wanted"},
		{"trailing", "]}\n]}\n]}\n", "]}\n]}\n]}\n{", "'{' after the end of the document"},
		{"truncated", "]}\n]}\n]}\n", "]}\n", "the end where ']' is wanted"},
	} {
		i := strings.LastIndex(good, c.from)
		if i < 0 {
			t.Fatalf("%s: %q is not in the document", c.name, c.from)
		}
		bad := good[:i] + c.to + good[i+len(c.from):]
		if _, err := Decode(strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// FuzzDecode: no text hurts, and what is accepted is written and read again as
// the same program.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(encoded(f, pair())))
	f.Add([]byte(`{"schema":"colltune.ir/v1","collective":{"name":"x","ranks":1,"chunks":1,"in_place":false},"gpus":[{"threadblocks":[]}]}`))
	f.Add([]byte(`{"schema":"colltune.ir/v1","collective":[[[[[[[[[[[[[[[[[[[[[[`))
	f.Add([]byte("{\"\\u0041\":\"\\"))
	apart := pair()
	apart.GPUs[0].Threadblocks[1].Steps[0].Dst.Stride = 7
	f.Add([]byte(encoded(f, apart)))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Decode(bytes.NewReader(text))
		if err != nil {
			return
		}
		q, err := Decode(strings.NewReader(encoded(t, p)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(p, q) || p.Hash() != q.Hash() {
			t.Fatalf("read back as\n%+v\nfrom\n%+v", q, p)
		}
	})
}

// large has about n steps.
func large(n int) *Program {
	p := pair()
	steps := make([]Step, n)
	for i := range steps {
		steps[i] = Step{Op: RecvCopySend, Count: 1, Dst: Loc{Buf: collective.In, Off: int32(i % 64)}}
		if i%4 == 0 {
			steps[i].Deps = []Dep{{0, int32(i)}}
		}
	}
	p.GPUs[0].Threadblocks[0].Steps = steps
	return p
}

func BenchmarkCodec(b *testing.B) {
	p := large(1 << 18)
	text := encoded(b, p)
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"encode", func() error { return Encode(io.Discard, p) }},
		{"decode", func() error { _, err := Decode(strings.NewReader(text)); return err }},
		{"hash", func() error { _ = p.Hash(); return nil }},
	} {
		b.Run(fmt.Sprintf("%s of %d steps", c.name, 1<<18), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
