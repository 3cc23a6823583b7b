package main

import (
	"bytes"
	"testing"

	"github.com/colltune/colltune/results/table"
)

func TestExactDifferences(t *testing.T) {
	ratio := 0.5
	ring := &table.Row{Algorithm: "ring", Protocol: "LL", TileBytes: 32768, IR: "aa", TimeUS: 10.25}
	tree := &table.Row{Algorithm: "tree", Protocol: "Simple", IR: "bb", TimeUS: 5.125}
	s := differencesCSV(&table.Differences{Rows: []table.Difference{
		{Bytes: 1024, Placement: "in", Verdict: table.Faster, Before: ring, After: tree, Ratio: &ratio},
		{Bytes: 2048, Placement: "in", Verdict: table.Gone, Before: ring},
		{Bytes: 4096, Placement: "out", Verdict: table.New, After: tree},
	}})
	var b bytes.Buffer
	if err := s.writeCSV(&b, look{}); err != nil {
		t.Fatal(err)
	}
	const want = `size_bytes,placement,verdict,ratio,algorithm_before,protocol_before,tile_bytes_before,ir_before,time_us_before,algorithm_after,protocol_after,tile_bytes_after,ir_after,time_us_after
1024,in,faster,0.5,ring,LL,32768,aa,10.25,tree,Simple,0,bb,5.125
2048,in,gone,,ring,LL,32768,aa,10.25,,,,,
4096,out,new,,,,,,,tree,Simple,0,bb,5.125
`
	if b.String() != want {
		t.Errorf("%s, want\n%s", b.String(), want)
	}
}

func TestPercent(t *testing.T) {
	for text, want := range map[string]string{"3%": "3%", "3": "3%", "0.5 %": "0.5%", "0": "", "1000": "1000%"} {
		var p percent
		if err := p.Set(text); err != nil || p.String() != want {
			t.Errorf("%q: %q, %v, want %q", text, p.String(), err, want)
		}
	}
	for _, text := range []string{"", "%", "much", "-1", "1001", "NaN", "3%%"} {
		if new(percent).Set(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
	for ratio, want := range map[float64]string{1: "+0.0", 0.99999: "+0.0", 1.031: "+3.1", 0.5: "-50.0"} {
		if got := signedPercent(ratio); got != want {
			t.Errorf("%g: %s, want %s", ratio, got, want)
		}
	}
}
