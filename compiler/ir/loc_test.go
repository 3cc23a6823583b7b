package ir

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		loc   Loc
		count int32
		text  string
		at    []int32
	}{
		{Loc{Buf: collective.In, Off: 3}, 1, "in[3]", []int32{3}},
		{Loc{Buf: collective.In, Off: 3, Stride: 1}, 2, "in[3:5]", []int32{3, 4}},
		{Loc{Buf: collective.Out, Off: 3, Stride: 7}, 1, "out[3]", []int32{3}},
		{Loc{Buf: collective.Scratch, Stride: 4}, 4, "sc[0:13:4]", []int32{0, 4, 8, 12}},
		{Loc{Buf: collective.Out, Off: 5, Stride: 2}, 2, "out[5:8:2]", []int32{5, 7}},
	} {
		if got := c.loc.Place(c.count); got != c.text {
			t.Errorf("%v of %d chunks is written %s, want %s", c.loc, c.count, got, c.text)
		}
		for i, want := range c.at {
			if got := c.loc.At(int32(i)); got != want {
				t.Errorf("chunk %d of %s is at %d, want %d", i, c.text, got, want)
			}
		}
		if got, want := c.loc.End(c.count), int64(c.at[len(c.at)-1])+1; got != want {
			t.Errorf("%s ends at %d, want %d", c.text, got, want)
		}
	}
}

// A stride is part of the document and the hash only where it moves a chunk.
func TestStrideIsWrittenWhereItMatters(t *testing.T) {
	plain, idle, apart, wider := pair(), pair(), pair(), pair()
	for _, p := range []*Program{idle, apart, wider} {
		for g := range p.GPUs {
			s := &p.GPUs[g].Threadblocks[0].Steps[0]
			s.Src.Stride = 9 // of one chunk
			c := &p.GPUs[g].Threadblocks[1].Steps[0]
			c.Src.Stride = 1
			switch p {
			case apart:
				c.Dst.Stride = 2
			case wider:
				c.Dst.Stride = 3
			}
		}
	}
	if encoded(t, idle) != encoded(t, plain) || idle.Hash() != plain.Hash() {
		t.Errorf("a stride without effect shows:\n%s", encoded(t, idle))
	}
	if h := apart.Hash(); h == plain.Hash() || h == wider.Hash() {
		t.Errorf("stride is no part of hash %s", h)
	}
	text := encoded(t, apart)
	if !strings.Contains(text, `{"op":"cpy","src":["in",0],"dst":["sc",0,2],"count":2,`) {
		t.Errorf("no stride in\n%s", text)
	}
	for _, c := range []struct{ from, to, want string }{
		{`["sc",0,2]`, `["sc",0,0]`, "want a whole number from 1 to 2147483647"},
		{`["sc",0,2]`, `["sc",0,2,1]`, `',' where ']' is wanted`},
	} {
		if _, err := Decode(strings.NewReader(strings.Replace(text, c.from, c.to, 1))); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.to, err, c.want)
		}
	}
}
