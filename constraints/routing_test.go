package constraints

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies/topotest"
)

func TestCheckRouting(t *testing.T) {
	topo := topotest.Resolve(t, "dgx-1", 1)
	coll, err := collective.New(collective.Spec{Name: "alltoall", Ranks: 8, Chunks: 1})
	if err != nil {
		t.Fatal(err)
	}
	type send struct {
		from, to int32
		line     int
	}
	program := func(sends ...send) *lang.Program {
		p := &lang.Program{Collective: coll}
		for _, s := range sends {
			p.Add(lang.Op{
				Src: lang.Span{Rank: s.from, Buf: collective.In, Count: 1, Stride: 1},
				Dst: lang.Span{Rank: s.to, Buf: collective.Out, Count: 1, Stride: 1},
			}, lang.Pos{File: "p.star", Line: s.line, Col: 1})
		}
		return p
	}
	good := []send{{0, 1, 3}, {3, 7, 3}, {5, 5, 4}}
	if r := CheckRouting(program(good...), topo); len(r) != 0 {
		t.Errorf("links that are there: %v", r)
	}
	bad := append(good, []send{{0, 5, 7}, {0, 5, 7}, {0, 5, 9}, {2, 0, 9}, {6, 1, 10}, {8, 8, 11}}...)
	var got []string
	for _, r := range CheckRouting(program(bad...), topo) {
		if r.Reason != ReasonLink {
			t.Errorf("reason %q", r.Reason)
		}
		got = append(got, r.String())
	}
	want := []string{
		"p.star:7:1: missing link: dgx-1 has no link from rank 0 to rank 5",
		"p.star:9:1: missing link: dgx-1 has no link from rank 0 to rank 5",
		"p.star:10:1: missing link: dgx-1 has no link from rank 6 to rank 1",
		"p.star:11:1: missing link: rank 8 is not there: dgx-1 has ranks 0 to 7",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	coll.Ranks = 4
	if r := CheckRouting(program(good...), topo); len(r) != 1 || r[0].Reason != ReasonRanks ||
		r[0].Detail != "the program is for 4 ranks, dgx-1 has 8" {
		t.Errorf("another number of ranks: %v", r)
	}
}
