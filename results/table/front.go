package table

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/colltune/colltune/results"
)

// FrontRow is the winner at one size of the programs that take at most MaxSMs: a point of the front
// of time against SMs. With more SMs its time never rises.
type FrontRow struct {
	MaxSMs *int    `json:"max_sms"` // null: all of the GPU's
	OfAll  float64 `json:"of_all"`  // its time ÷ that with the most SMs of the front
	Row

	upTo *int // of a step of the front: the last number of SMs at which it wins; nil: all
}

// AddFront adds to the front of the table the rows of within, the table of at most sms SMs, 0 for all. These are
// added by rising number.
func (t *Table) AddFront(sms int, within *Table) {
	for _, r := range within.Rows {
		one := FrontRow{OfAll: 1, Row: r}
		if sms > 0 {
			one.MaxSMs = &sms
		}
		one.upTo = one.MaxSMs
		t.Front = append(t.Front, one)
	}
	last := map[frontCell]float64{}
	for i := range t.Front {
		last[t.Front[i].cell()] = t.Front[i].TimeUS
	}
	for i := range t.Front {
		t.Front[i].OfAll = t.Front[i].TimeUS / last[t.Front[i].cell()]
	}
	order := map[frontCell]int{}
	for i := range t.Rows {
		r := &FrontRow{Row: t.Rows[i]}
		order[r.cell()] = i
	}
	slices.SortStableFunc(t.Front, func(a, b FrontRow) int { return order[a.cell()] - order[b.cell()] })
}

// frontCell is what the rows of a front share that are to be compared.
type frontCell struct {
	Cell
	nodes int
}

func (r *FrontRow) cell() frontCell { return frontCell{Cell{r.Placement, r.Bytes}, r.Nodes} }

// Steps lists the rows of a front at which another program wins than with fewer SMs.
func Steps(front []FrontRow) (steps []FrontRow) {
	for i := range front {
		r := front[i]
		if n := len(steps); n > 0 {
			last := &steps[n-1]
			if last.cell() == r.cell() && last.program == r.program && last.Protocol == r.Protocol && last.TileBytes == r.TileBytes {
				last.upTo, last.OfAll = r.MaxSMs, r.OfAll
				continue
			}
		}
		steps = append(steps, r)
	}
	return steps
}

// MaxText is the number of SMs that a row may take, of a step the first and the last: 8, 8-24, all.
func (r *FrontRow) MaxText() string {
	text := func(n *int) string {
		if n == nil {
			return "all"
		}
		return strconv.Itoa(*n)
	}
	from, to := text(r.MaxSMs), text(r.upTo)
	if from == to {
		return from
	}
	return from + "-" + to
}

// SMsText is the number of SMs that the winner takes; empty where it does not tell.
func (r *FrontRow) SMsText() string {
	if r.SMs() == 0 {
		return ""
	}
	return strconv.Itoa(r.SMs())
}

// What names the winner, without the limit of SMs that it was made for.
func (r *FrontRow) What() string {
	own := maps.Clone(r.Parameters)
	delete(own, "sms")
	name := r.Algorithm
	if p := briefParameters(own); p != "" {
		name += " " + p
	}
	if r.Source == results.SourceNative {
		return name + " " + r.Protocol
	}
	return fmt.Sprintf("%s ×%d %s", name, r.Instances, r.Protocol)
}

// LeastSMs is how many SMs the smallest of the programs takes that have a time; 0: none tells.
func LeastSMs(trials []results.Trial) (least int) {
	for i := range trials {
		if t := &trials[i]; t.Outcome == results.OK && !t.Reference && t.Threadblocks > 0 && (least == 0 || SMs(t.Threadblocks) < least) {
			least = SMs(t.Threadblocks)
		}
	}
	return least
}
