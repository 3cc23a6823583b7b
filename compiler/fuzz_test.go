package compiler

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// FuzzCompile: whatever operations a program has, sensible or not, it is
// refused, or compiled with every invariant kept to IR that neither deadlocks
// nor races and leaves the results that the operations leave, done one by one.
func FuzzCompile(f *testing.F) {
	f.Add([]byte("\x03\x02\x01\x02"), []byte("\x00\x00\x02\x00\x01\x02\x00\x01\x00\x01\x00"))
	f.Add([]byte("\x01\x01\x02\x03"), []byte("\x01\x00\x00\x00\x01\x02\x01\x03\x01\x02\x01\x00\x01\x02\x00\x00\x01\x01\x03\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, head, text []byte) {
		if len(head) < 4 || len(text) > 11*64 {
			return
		}
		col, err := collective.New(collective.Spec{Name: "sendrecv", Ranks: 1 + int(head[0]%4), Chunks: 1 + int(head[1]%4)})
		if err != nil {
			t.Fatal(err)
		}
		p := &lang.Program{Name: "fuzz", Collective: col, Scopes: []lang.Scope{{Factor: 1}}, Scratch: make([]int, col.Ranks)}
		for r := range p.Scratch {
			p.Scratch[r] = 4
		}
		for len(text) >= 11 {
			b := text[:11]
			text = text[11:]
			span := func(b []byte) lang.Span {
				return lang.Span{
					Rank: int32(b[0]) % int32(col.Ranks+1), Buf: collective.Buffer(b[1] % 4), Index: int32(int8(b[2])) % 6,
					Count: 1 + int32(b[3]>>4)%3, Stride: 1 + int32(b[3])%2,
				}
			}
			o := lang.Op{
				Kind: lang.Kind(b[0] % 2), Src: span(b[1:]), Dst: span(b[5:]),
				Channel: int32(b[9]%4) - 1, Scope: int32(b[10] % 4),
			}
			o.Dst.Count = o.Src.Count
			if int(o.Scope) >= len(p.Scopes) {
				p.Scopes = append(p.Scopes, lang.Scope{Parent: o.Scope - 1, Factor: 1 + int(b[10]>>2)%3})
				o.Scope = int32(len(p.Scopes) - 1)
			}
			p.Ops = append(p.Ops, o)
		}
		opt := Options{
			Instances: 1 + int(head[2]%3), Slots: int(head[3] % 4), CallPerChunk: head[3]&16 != 0,
			MaxThreadblocks: int(head[3] >> 5), MaxChannels: 1 + int(head[2]>>4), CheckEachPass: true,
			Disable: []string{"coarsen"}, // the comparison needs whole parts of chunks
		}
		res, err := Compile(p, opt)
		if err != nil {
			if strings.Contains(err.Error(), "after pass") || strings.Contains(err.Error(), "circle") {
				t.Fatal(err)
			}
			return
		}
		slots := opt.Slots
		if slots == 0 {
			slots = DefaultSlots
		}
		if err := executeAs(res.Program, p, slots, opt.CallPerChunk, 1); err != nil {
			t.Fatal(err)
		}
	})
}
