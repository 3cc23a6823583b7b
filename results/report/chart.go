package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// chart is a picture of curves over sizes or trials, in pixels, as chart.svg.tmpl draws it.
type chart struct {
	Width, Height            float64
	Left, Top, Right, Bottom float64 // of the plot, inside the axes
	Title                    string
	Unit                     string // of the upright axis; empty: not shown
	X, Y                     []tick
	Bands                    []band
	Lines                    []line
	Small                    bool // one of many on the page
}

// band is a coloured part of the plot.
type band struct {
	X, Y, Width, Height   float64
	Class, Label, Tooltip string
}

type line struct {
	Class  string
	Path   string
	Spread string // upright strokes for the confidence intervals
	Dots   []dot
	Label  string
	LX, LY float64 // of the label
}

// dot is a measured point.
type dot struct {
	X, Y    float64
	Tooltip string
}

// series is the points of a line. The line has a gap between two points that are
// not neighbours in the plan.
type series struct {
	class, label string
	points       []point
}

type point struct {
	x         int64
	value     float64
	low, high float64 // of its confidence interval; equal: none is drawn
	tooltip   string
}

// The most points that get a dot each, and the most points of a line: more would
// fall on the same pixels.
const (
	mostDots   = 64
	mostPoints = 256
)

// over draws series over sizes; nil if nothing can be drawn.
func over(sizes []int64, c chart, log bool, always []float64, all ...series) *chart {
	room := 12
	if c.Small {
		room = 4
	}
	x := sizeScale(sizes, c.Left, c.Right)
	c.X = sizeTicks(x, sizes, room)
	return c.draw(x, sizes, log, always, all...)
}

// draw draws series along an axis, on which those of xs that follow each other are joined;
// nil if nothing can be drawn. Values that are not above 0 have no place on a logarithmic
// axis and are left out.
func (c chart) draw(x scale, xs []int64, log bool, always []float64, all ...series) *chart {
	values := slices.Clone(always)
	some := false
	for i := range all {
		all[i].points = slices.DeleteFunc(slices.Clone(all[i].points), func(p point) bool {
			return math.IsNaN(p.value) || math.IsInf(p.value, 0) || log && !(p.value > 0)
		})
		for j, p := range all[i].points {
			if p.low == p.high || log && !(p.low > 0) {
				p.low, p.high = p.value, p.value
				all[i].points[j] = p
			}
			values, some = append(values, p.value, p.low, p.high), true
		}
	}
	if !some {
		return nil
	}
	next := map[int64]int64{}
	for i := 1; i < len(xs); i++ {
		next[xs[i-1]] = xs[i]
	}
	y := valueScale(values, log, c.Bottom, c.Top)
	c.Y = valueTicks(y)
	for len(c.Y) > 4 && c.Small {
		for i := 1; i < len(c.Y); i++ {
			c.Y = slices.Delete(c.Y, i, i+1)
		}
	}
	for _, s := range all {
		if len(s.points) == 0 {
			continue
		}
		c.Lines = append(c.Lines, trace(s, x, y, next))
	}
	apart(c.Lines, c.Top, c.Bottom)
	return &c
}

func trace(s series, x, y scale, next map[int64]int64) line {
	l := line{Class: s.class, Label: s.label}
	every := (len(s.points) + mostPoints - 1) / mostPoints
	var path, spread strings.Builder
	for i, p := range s.points {
		px, py := x.at(float64(p.x)), y.at(p.value)
		joined := i > 0 && next[s.points[i-1].x] == p.x
		ends := i == 0 || i == len(s.points)-1 || !joined
		if every > 1 && i%every != 0 && !ends {
			continue
		}
		if joined {
			fmt.Fprintf(&path, "L%.1f %.1f", px, py)
		} else {
			fmt.Fprintf(&path, "M%.1f %.1f", px, py)
		}
		alone := !joined && (i+1 == len(s.points) || next[p.x] != s.points[i+1].x)
		if len(s.points) <= mostDots && p.tooltip != "" || alone {
			l.Dots = append(l.Dots, dot{px, py, p.tooltip})
			if p.low < p.high {
				fmt.Fprintf(&spread, "M%.1f %.1fV%.1f", px, y.at(p.low), y.at(p.high))
			}
		}
		l.LX, l.LY = px, py
	}
	l.Path, l.Spread = path.String(), spread.String()
	return l
}

// apart moves the labels at the ends of lines until they don't overlap.
func apart(lines []line, top, bottom float64) {
	const height = 15
	order := make([]*line, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortStableFunc(order, func(a, b *line) int { return cmp.Compare(a.LY, b.LY) })
	for i := 1; i < len(order); i++ {
		order[i].LY = max(order[i].LY, order[i-1].LY+height)
	}
	for i := len(order) - 1; i >= 0; i-- {
		limit := bottom
		if i+1 < len(order) {
			limit = order[i+1].LY - height
		}
		order[i].LY = min(order[i].LY, limit)
	}
}
