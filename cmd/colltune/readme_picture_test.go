package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// The picture of README.md: how many times as fast as the library the winners of a campaign
// are, by size, with the interval in which the speedup lies in nine of ten cases. Where nothing
// measured says how wide that is, points are hollow and lines dashed.

// pictureTable is what the picture needs of results -o json.
type pictureTable struct {
	Rows []pictureRow `json:"rows"`
}

type pictureRow struct {
	Topology string      `json:"topology"`
	Nodes    int         `json:"nodes"`
	Ranks    int         `json:"ranks"`
	Bytes    int64       `json:"bytes"`
	Release  string      `json:"baseline_release"`
	Speedup  *float64    `json:"speedup"`
	Band     *[2]float64 `json:"speedup_band"`
}

// The picture's size and the place of its axes, in pixels.
const (
	pictureWide, pictureHigh = 760, 330
	pictureLeft, pictureTop  = 56, 62
	plotWide, plotHigh       = 676, 212
)

// pictureStyle reads well on white and, where that is preferred, on black.
const pictureStyle = `<style>
.back{fill:#fff}text{fill:#24292f;font:13px system-ui,sans-serif}.title{font-size:16px;font-weight:600}.faint{fill:#57606a}
.grid{stroke:#d0d7de}.one{stroke:#57606a;stroke-width:1.5}.line{fill:none;stroke:#0969da;stroke-width:2.5}.band{fill:#0969da;fill-opacity:.18}
.sure{fill:#0969da}.bare{fill:#fff;stroke:#0969da;stroke-width:2}.dashed{stroke-dasharray:5 5}
@media(prefers-color-scheme:dark){.back{fill:#0d1117}text{fill:#e6edf3}.faint{fill:#9198a1}.grid{stroke:#30363d}.one{stroke:#9198a1}
.line{stroke:#58a6ff}.band{fill:#58a6ff;fill-opacity:.25}.sure{fill:#58a6ff}.bare{fill:#0d1117;stroke:#58a6ff}}
</style>
`

// picture draws the table as SVG.
func (p *pictureTable) picture() (string, error) {
	least, most, note := 0.8, 1.0, "simulated; shaded: where nine of ten measurements would lie"
	for i := range p.Rows {
		r := &p.Rows[i]
		if r.Speedup == nil || r.Release != p.Rows[0].Release {
			return "", fmt.Errorf("no speedup over one release at %d bytes", r.Bytes)
		}
		most = max(most, *r.Speedup)
		if r.Band != nil {
			least, most = min(least, r.Band[0]), max(most, r.Band[1])
		} else if !strings.HasSuffix(note, "says") {
			note += "; hollow and dashed: nothing measured says"
		}
	}
	if len(p.Rows) < 2 {
		return "", fmt.Errorf("%d rows make no curve", len(p.Rows))
	}
	first, last := p.Rows[0].Bytes, p.Rows[len(p.Rows)-1].Bytes
	x := func(bytes int64) float64 {
		return pictureLeft + plotWide*math.Log(float64(bytes)/float64(first))/math.Log(float64(last)/float64(first))
	}
	y := func(speedup float64) float64 {
		return pictureTop + plotHigh*(1-math.Log(speedup/least)/math.Log(most/least))
	}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	one := &p.Rows[0]
	title := fmt.Sprintf("All-to-all over %d GPUs (%d × %s): times as fast as %s", one.Ranks, one.Nodes, one.Topology, strings.Replace(strings.ToUpper(one.Release), "-", " ", 1))
	say(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`, pictureWide, pictureHigh, pictureWide, pictureHigh)
	say(`<title>%s, simulated</title>`, title)
	b.WriteString(pictureStyle)
	say(`<rect class="back" width="%d" height="%d" rx="8"/>`, pictureWide, pictureHigh)
	say(`<text class="title" x="%d" y="26">%s</text>`, 20, title)
	say(`<text class="faint" x="%d" y="46">%s</text>`, 20, note)
	for _, at := range []float64{1, 2, 4, 8, 16, 32} {
		if at > most {
			break
		}
		class := "grid"
		if at == 1 {
			class = "one"
		}
		say(`<line class="%s" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`, class, pictureLeft, pictureLeft+plotWide, y(at), y(at))
		say(`<text class="faint" x="%d" y="%.1f" text-anchor="end">%g×</text>`, pictureLeft-8, y(at)+4, at)
	}
	for from := 0; from < len(p.Rows); from++ { // bands of neighbours that have one
		to := from
		for to < len(p.Rows) && p.Rows[to].Band != nil {
			to++
		}
		if to-from > 1 {
			var above, below []string
			for _, r := range p.Rows[from:to] {
				above = append(above, fmt.Sprintf("%.1f,%.1f", x(r.Bytes), y(r.Band[1])))
				below = append([]string{fmt.Sprintf("%.1f,%.1f", x(r.Bytes), y(r.Band[0]))}, below...)
			}
			say(`<polygon class="band" points="%s"/>`, strings.Join(append(above, below...), " "))
		}
		from = to
	}
	for i, r := range p.Rows[1:] {
		before, class := p.Rows[i], "line"
		if before.Band == nil || r.Band == nil {
			class += " dashed"
		}
		say(`<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, class, x(before.Bytes), x(r.Bytes), y(*before.Speedup), y(*r.Speedup))
	}
	for i, r := range p.Rows {
		class, anchor, beside := "sure", "start", 6.0
		if r.Band == nil {
			class = "bare"
		}
		if i == len(p.Rows)-1 {
			anchor, beside = "end", 6
		}
		say(`<circle class="%s" cx="%.1f" cy="%.1f" r="4.5"/>`, class, x(r.Bytes), y(*r.Speedup))
		say(`<text x="%.1f" y="%.1f" text-anchor="%s">%.1f×</text>`, x(r.Bytes)+beside, y(*r.Speedup)-9, anchor, *r.Speedup)
		say(`<text class="faint" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x(r.Bytes), pictureTop+plotHigh+20, units.Bytes(r.Bytes))
	}
	say(`<text class="faint" x="%d" y="%d" text-anchor="middle">bytes that each GPU sends</text>`, pictureLeft+plotWide/2, pictureTop+plotHigh+42)
	b.WriteString("</svg>\n")
	return b.String(), nil
}
