package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// testCurves are two lines, one of which begins late, and a panel without any.
func testCurves() *Curves {
	inf := math.Inf(1)
	return &Curves{
		Title: "Regret <of> a & b", Notes: []string{"a note"},
		Panels: []Panel{
			{Title: "Largest", X: "trials a size", Y: "% slower", Log: true, Lines: []PanelLine{
				{"random", []PanelPoint{{1, inf, inf}, {2, 100, inf}, {3, 10, 50}, {4, 1, 5}}},
				{"<model>", []PanelPoint{{1, 20, 40}, {2, 2, 4}, {3, 1, 2}, {4, 1, 1}}},
			}},
			{Title: "Empty", X: "trials a size", Y: "% slower"},
		},
	}
}

// Both forms are well formed, hold every curve, load nothing and run nothing.
func TestCurvesStandAlone(t *testing.T) {
	for name, write := range map[string]func(*Curves, io.Writer) error{"page": (*Curves).WritePage, "svg": (*Curves).WriteSVG} {
		var b bytes.Buffer
		if err := write(testCurves(), &b); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, want := range []string{"Regret &lt;of&gt; a &amp; b", "&lt;model&gt;", `class="line c1"`, `class="line c2 high"`, "Nothing to draw", "trials a size", "stroke-dasharray"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
		for _, never := range []string{"<script", "NaN", "Inf", "src=", "@import", "url("} {
			if strings.Contains(text, never) {
				t.Errorf("%s: has %q", name, never)
			}
		}
		if strings.Count(text, "http") != strings.Count(text, "http://www.w3.org/2000/svg") {
			t.Errorf("%s names an address", name)
		}
		checkMarkup(t, name, text)
	}
}

// checkMarkup fails a page that is not well formed.
func checkMarkup(t *testing.T, name, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(text, "<!DOCTYPE html>\n")))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// A curve begins where it has a value, and lower is better: the pen goes down.
func TestCurvesAreDrawnWhereTheyAre(t *testing.T) {
	p := testCurves().Panels[0]
	c := p.chart()
	if len(c.Lines) != 4 || c.Lines[1].Label != "random" || c.Lines[0].Label != "" {
		t.Fatalf("lines %+v", c.Lines)
	}
	if got := strings.Count(c.Lines[1].Path, "L"); got != 2 {
		t.Errorf("random has %d strokes after its first point, want 2", got)
	}
	dots := c.Lines[1].Dots
	if len(dots) != 3 || !(dots[0].X < dots[1].X && dots[0].Y < dots[1].Y && dots[1].Y < dots[2].Y) {
		t.Errorf("dots %+v: want them further right and down", dots)
	}
	if dots[2].X != c.Right {
		t.Errorf("the last trial is at %g, want %g", dots[2].X, c.Right)
	}
	if !strings.Contains(dots[1].Tooltip, "random, 3 trials a size: 10, nine of ten at most 50") {
		t.Errorf("tooltip %q", dots[1].Tooltip)
	}
}
