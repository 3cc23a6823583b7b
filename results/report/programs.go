package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// traffic is a picture of how much each rank sends to each: a square with a row
// for every sender and a column for every receiver, darker for more.
type traffic struct {
	Size   int     // ranks, or groups of neighbouring ranks
	Cell   float64 // pixels
	Side   float64
	Shades []shade
	Most   string // the darkest shade's amount, in words
	Sent   string // the amount that a rank sends in all, in words
	Group  int    // ranks that share a row; 1: each has its own
}

// shade is all cells of one shade, as a path.
type shade struct {
	Class, Path string
}

// shades is how many shades there are, besides white.
const shades = 5

// mostRows is how many rows a square has at most. If there are more ranks,
// neighbours share a row.
const mostRows = 32

// trafficOf draws the traffic of a program; nil if it sends nothing.
func trafficOf(p *ir.Program, loopChunks int) *traffic {
	ranks := p.Ranks()
	group := (ranks + mostRows - 1) / mostRows
	sent, least, most := sentBetween(p, group)
	darkest := int64(0)
	for _, row := range sent {
		darkest = max(darkest, slices.Max(row))
	}
	if darkest <= 0 {
		return nil
	}
	n := len(sent)
	t := &traffic{Size: n, Cell: max(4, min(16, 160/float64(n))), Group: group}
	t.Side = t.Cell * float64(n)
	t.Shades = shaded(sent, darkest, t.Cell)
	between := "between two ranks"
	if group > 1 {
		between = fmt.Sprintf("between two groups of %d ranks", group)
	}
	t.Most = fmt.Sprintf("at most %s %s", share(darkest, loopChunks), between)
	t.Sent = "every rank sends " + share(most, loopChunks)
	if least != most {
		t.Sent = fmt.Sprintf("a rank sends %s to %s", share(least, loopChunks), share(most, loopChunks))
	}
	return t
}

// sentBetween counts the chunks that each group of ranks sends to each. least and
// most are the fewest and the most that a single rank sends.
func sentBetween(p *ir.Program, group int) (sent [][]int64, least, most int64) {
	ranks := p.Ranks()
	sent = make([][]int64, (ranks+group-1)/group)
	for i := range sent {
		sent[i] = make([]int64, len(sent))
	}
	least = -1
	for g := range p.GPUs {
		all := int64(0)
		for _, tb := range p.GPUs[g].Threadblocks {
			if tb.Send < 0 || tb.Send >= ranks {
				continue
			}
			for _, s := range tb.Steps {
				if s.Op.Sends() {
					all += int64(s.Count)
					sent[g/group][tb.Send/group] += int64(s.Count)
				}
			}
		}
		most = max(most, all)
		if least < 0 || all < least {
			least = all
		}
	}
	return sent, least, most
}

// shaded draws the square. Neighbouring cells of one shade in a row are one
// rectangle, and all rectangles of one shade are one path.
func shaded(sent [][]int64, darkest int64, cell float64) []shade {
	var paths [shades]strings.Builder
	for i, row := range sent {
		for j := 0; j < len(row); {
			level := levelOf(row[j], darkest)
			end := j + 1
			for end < len(row) && levelOf(row[end], darkest) == level {
				end++
			}
			if level > 0 {
				w := float64(end-j) * cell
				fmt.Fprintf(&paths[level-1], "M%.1f %.1fh%.1fv%.1fh%.1fz", float64(j)*cell, float64(i)*cell, w, cell, -w)
			}
			j = end
		}
	}
	var drawn []shade
	for i := range paths {
		if paths[i].Len() > 0 {
			drawn = append(drawn, shade{fmt.Sprintf("t%d", i+1), paths[i].String()})
		}
	}
	return drawn
}

// levelOf is the number of the shade for a value; 0 for white.
func levelOf(v, most int64) int {
	if v <= 0 {
		return 0
	}
	return min(int((v*shades+most-1)/most), shades)
}

// share prints a number of chunks as a fraction of the call's size.
func share(chunks int64, loopChunks int) string {
	return fmt.Sprintf("%.3g × the size", float64(chunks)/float64(max(loopChunks, 1)))
}

// steps is a picture of one GPU's threadblocks: each is a row, with its steps in
// order.
type steps struct {
	GPU           int
	Rows          []stepRow
	Kinds         []shade
	Width, Height float64
	Left          float64
	Cut           string // a note on omitted threadblocks and steps; empty: none
}

type stepRow struct {
	Y     float64
	Label string
}

// The measures of a picture of steps.
const (
	mostThreadblocks = 12
	mostSteps        = 40
	stepWidth        = 11
	stepHeight       = 13
	stepLeft         = 150
)

// stepKinds are the colours of steps, by kind of instruction.
var stepKinds = []struct {
	class string
	is    func(ir.Op) bool
}{
	{"s-sum", func(o ir.Op) bool { return o.Receives() && o.Reduces() }},
	{"s-pass", func(o ir.Op) bool { return o.Receives() && o.Sends() }},
	{"s-recv", func(o ir.Op) bool { return o.Receives() }},
	{"s-send", func(o ir.Op) bool { return o.Sends() }},
	{"s-nop", func(o ir.Op) bool { return o == ir.Nop }},
	{"s-local", func(ir.Op) bool { return true }},
}

// stepsOf draws the GPU with the most threadblocks, the first if there are
// several.
func stepsOf(p *ir.Program) *steps {
	gpu := 0
	for g := range p.GPUs {
		if len(p.GPUs[g].Threadblocks) > len(p.GPUs[gpu].Threadblocks) {
			gpu = g
		}
	}
	if len(p.GPUs) == 0 || len(p.GPUs[gpu].Threadblocks) == 0 {
		return nil
	}
	all := p.GPUs[gpu].Threadblocks
	s := &steps{GPU: gpu, Left: stepLeft}
	paths := make([]strings.Builder, len(stepKinds))
	longest, shown := 0, 0
	for i, tb := range all {
		longest = max(longest, len(tb.Steps))
		if i >= mostThreadblocks {
			continue
		}
		y := float64(i) * stepHeight
		s.Rows = append(s.Rows, stepRow{y + stepHeight - 4, threadblockText(i, tb)})
		for j, step := range tb.Steps[:min(len(tb.Steps), mostSteps)] {
			shown = max(shown, j+1)
			for k, kind := range stepKinds {
				if kind.is(step.Op) {
					fmt.Fprintf(&paths[k], "M%d %gh%dv%dh-%dz", stepLeft+j*stepWidth, y+1, stepWidth-2, stepHeight-3, stepWidth-2)
					break
				}
			}
		}
	}
	for k := range paths {
		if paths[k].Len() > 0 {
			s.Kinds = append(s.Kinds, shade{stepKinds[k].class, paths[k].String()})
		}
	}
	s.Width, s.Height = float64(stepLeft+shown*stepWidth), float64(len(s.Rows)*stepHeight)
	var cut []string
	if len(all) > mostThreadblocks {
		cut = append(cut, fmt.Sprintf("the first %d of %d threadblocks", mostThreadblocks, len(all)))
	}
	if longest > mostSteps {
		cut = append(cut, fmt.Sprintf("the first %d of %d steps", mostSteps, longest))
	}
	s.Cut = strings.Join(cut, ", ")
	return s
}

// threadblockText names a threadblock by its connections.
func threadblockText(i int, tb ir.Threadblock) string {
	words := fmt.Sprintf("tb %d", i)
	if tb.Recv >= 0 {
		words += fmt.Sprintf(" from %d", tb.Recv)
	}
	if tb.Send >= 0 {
		words += fmt.Sprintf(" to %d", tb.Send)
	}
	return words + fmt.Sprintf(", ch %d", tb.Channel)
}
