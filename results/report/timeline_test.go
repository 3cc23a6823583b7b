package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A page of a timeline has a box for every span that is wide enough, draws the others as
// one, loads nothing and shows names of others as text.
func TestTimeline(t *testing.T) {
	narrow := Lane{Name: "stream/<b>nccl</b>"}
	for i := range 10_000 {
		narrow.Spans = append(narrow.Spans, Span{Label: "x", Kind: "nccl", BeginUS: float64(i) / 100, EndUS: float64(i+1) / 100})
	}
	page := Timeline{
		Title: "a <script> step", Notes: []string{"8 ranks"},
		Totals: []Total{{Label: "nccl alone", RestUS: 60, ExposedUS: 40, LowUS: 90, HighUS: 120}, {Label: "nothing"}},
		Charts: []Lanes{{Title: "fine", Lanes: []Lane{{Name: "compute", Spans: []Span{{Label: "gemm", BeginUS: 0, EndUS: 60, Critical: true}, {Label: "gelu", BeginUS: 60, EndUS: 100}}}, narrow}}},
		Tables: []TextTable{{Title: "calls", Columns: []string{"call"}, Rows: [][]string{{"<i>all</i>"}}}},
	}
	var b strings.Builder
	if err := page.WritePage(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"gemm: 0.00 to 60.00 us", "gelu: 60.00 to 100.00 us", "nccl alone: 100.00 us, from 90.00 to 120.00", "a &lt;script&gt; step", "&lt;i&gt;all&lt;/i&gt;", `class="p3 critical"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if n := strings.Count(text, "<rect"); n < 1500/2 || n > 2500 {
		t.Errorf("%d boxes: want neighbours joined where they are too narrow", n)
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "<b>") || regexp.MustCompile(`(src|href)=`).MatchString(text) {
		t.Error("the page has markup of others, or loads something")
	}
	// Boxes keep to the chart, in proportion to their times.
	for _, m := range regexp.MustCompile(`<rect class="[^"]*" x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)"`).FindAllStringSubmatch(text, -1) {
		var x, width float64
		fmt.Sscan(m[1], &x)
		fmt.Sscan(m[2], &width)
		if x < lanesBegin || x+width > lanesWidth {
			t.Errorf("a box from %g, %g wide", x, width)
		}
	}
}
