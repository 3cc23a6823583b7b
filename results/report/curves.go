package report

import (
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"

	_ "embed"

	"github.com/colltune/colltune/internal/safe"
)

// Curves is a page or a picture of curves over whole numbers, such as trials.
type Curves struct {
	Title  string
	Notes  []string
	Panels []Panel
}

// Panel is one plot of it.
type Panel struct {
	Title string
	X, Y  string // what its axes show
	Lines []PanelLine
	Log   bool // of the upright axis
}

// PanelLine is a curve, and a second, dashed one above it.
type PanelLine struct {
	Label  string
	Points []PanelPoint // by rising X
}

// PanelPoint is a point of both curves. What is not finite is left out, and on a logarithmic
// axis what is not above 0.
type PanelPoint struct {
	X       int64
	Y, High float64
}

//go:embed curves.tmpl
var curvesText string

// The size of a panel, in pixels, with its title and the name of its lower axis.
const (
	panelWidth  = 960
	panelHeight = 360
	panelTitle  = 34
	panelAxis   = 28
)

// drawnPanel is a panel as the template draws it.
type drawnPanel struct {
	Panel
	Chart *chart
	At    int // its upper edge
}

// WritePage writes the curves as one HTML file that loads nothing. The error is that of
// writing.
func (c *Curves) WritePage(w io.Writer) error { return c.write(w, "page") }

// WriteSVG writes the curves as one picture. The error is that of writing.
func (c *Curves) WriteSVG(w io.Writer) error { return c.write(w, "svg") }

func (c *Curves) write(w io.Writer, form string) error {
	drawn := struct {
		Title         string
		Notes         []string
		CSS           template.CSS
		Panels        []drawnPanel
		Width, Height int
	}{Title: safe.Line(c.Title), CSS: template.CSS(style), Width: panelWidth, Height: panelTitle}
	for _, n := range c.Notes {
		drawn.Notes = append(drawn.Notes, safe.Line(n))
	}
	for _, p := range c.Panels {
		drawn.Panels = append(drawn.Panels, drawnPanel{p, p.chart(), drawn.Height})
		drawn.Height += panelTitle + panelHeight + panelAxis
	}
	return templateOf("curves", curvesText, chartText).ExecuteTemplate(w, form, drawn)
}

// chart draws a panel; nil if no point can be drawn.
func (p *Panel) chart() *chart {
	c := chart{Width: panelWidth, Height: panelHeight, Left: 60, Top: 24, Right: panelWidth - 150, Bottom: panelHeight - 30, Title: p.Title, Unit: p.Y}
	var all []series
	var xs []int64
	for i, l := range p.Lines {
		class := fmt.Sprintf("c%d", 1+i%8)
		low, high := series{class: class, label: l.Label}, series{class: class + " high"}
		for _, at := range l.Points {
			tip := fmt.Sprintf("%s, %d %s: %.4g", l.Label, at.X, p.X, at.Y)
			if !math.IsInf(at.High, 0) {
				tip += fmt.Sprintf(", nine of ten at most %.4g", at.High)
			}
			low.points = append(low.points, point{x: at.X, value: at.Y, tooltip: tip})
			high.points = append(high.points, point{x: at.X, value: at.High})
			xs = append(xs, at.X)
		}
		all = append(all, high, low)
	}
	if len(xs) == 0 {
		return nil
	}
	slices.Sort(xs)
	xs = slices.Compact(xs)
	x := scale{min: 0, max: float64(xs[len(xs)-1]), from: c.Left, to: c.Right}
	c.X = valueTicks(x)
	c.X = slices.DeleteFunc(c.X, func(t tick) bool { return strings.Contains(t.Label, ".") }) // of few numbers
	return c.draw(x, xs, p.Log, nil, all...)
}
