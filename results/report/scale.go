package report

import (
	"math"
	"slices"
	"strconv"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/units"
)

// scale maps values to pixels. On an upright axis, to is less than from.
type scale struct {
	min, max float64 // values at the ends, min below max
	from, to float64 // pixels of min and max
	log      bool
}

func (s scale) at(v float64) float64 {
	part := (v - s.min) / (s.max - s.min)
	if s.log {
		part = math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	return s.from + part*(s.to-s.from)
}

// tick is a mark on an axis.
type tick struct {
	At    float64
	Label string
}

// sizeScale is the logarithmic scale of a chart over sizes. At both ends there is
// room for half the distance between two sizes, so that the last one's range can
// be drawn.
func sizeScale(sizes []int64, from, to float64) scale {
	first, last := float64(sizes[0]), float64(sizes[len(sizes)-1])
	left, right := 2.0, 2.0
	if n := len(sizes); n > 1 {
		left = min(float64(sizes[1])/first, 2)
		right = min(last/float64(sizes[n-2]), 2)
	}
	return scale{first / math.Sqrt(left), last * math.Sqrt(right), from, to, true}
}

// exponents are the possible distances between marked powers of two.
var exponents = []int{1, 2, 5, 10, 20}

// sizeTicks marks powers of two, at most the given number, with their suffixes. If fewer
// than two lie on the axis, it marks the sizes themselves.
func sizeTicks(s scale, sizes []int64, most int) []tick {
	for _, step := range exponents {
		var marks []tick
		for e := 0; e < 62; e += step {
			if v := math.Ldexp(1, e); v >= s.min && v <= s.max {
				marks = append(marks, tick{s.at(v), units.Bytes(int64(1) << e).String()})
			}
		}
		if len(marks) > most {
			continue
		}
		if len(marks) >= 2 || step > 1 {
			return marks
		}
		break
	}
	ends := slices.Compact([]int64{sizes[0], sizes[len(sizes)-1]})
	return lists.Map(ends, func(n int64) tick { return tick{s.at(float64(n)), units.Bytes(n).String()} })
}

// valueScale is a scale that holds all values, from the pixel bottom upwards to
// the pixel top. It ends at whole marks, and is logarithmic if asked for.
func valueScale(values []float64, log bool, bottom, top float64) scale {
	low, high := slices.Min(values), slices.Max(values)
	s := scale{low, high, bottom, top, log}
	if log {
		s.min, s.max = low/1.1, high*1.1
		marks := logMarks(s.min, s.max)
		s.min = below(marks, s.min)
		s.max = above(marks, s.max)
		return s
	}
	step := niceStep((high - low) / 4)
	s.min = math.Floor(low/step) * step
	s.max = math.Ceil(high/step) * step
	if s.max == s.min {
		s.min, s.max = s.min-step, s.max+step
	}
	return s
}

// below is the last mark at or under a value, above the first at or over it.
// Either is the value itself if there is no such mark nearby.
func below(marks []float64, v float64) float64 {
	for i := len(marks) - 1; i >= 0; i-- {
		if marks[i] <= v && marks[i] > v/3 {
			return marks[i]
		}
	}
	return v
}

func above(marks []float64, v float64) float64 {
	for _, m := range marks {
		if m >= v && m < v*3 {
			return m
		}
	}
	return v
}

// logMarks lists 1, 2 and 5 times the powers of ten, from below low to above high.
func logMarks(low, high float64) (marks []float64) {
	for e := math.Floor(math.Log10(low)) - 1; e <= math.Ceil(math.Log10(high))+1; e++ {
		for _, m := range []float64{1, 2, 5} {
			marks = append(marks, m*math.Pow(10, e))
		}
	}
	return marks
}

// niceStep is the smallest number of the form 1, 2, 2.5 or 5 times a power of ten
// that is not below v.
func niceStep(v float64) float64 {
	if !(v > 0) {
		return 0.5
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*power >= v {
			return m * power
		}
	}
	return 10 * power
}

// valueTicks marks round numbers. On a logarithmic scale these are powers of ten
// if there are enough of them, else 1, 2 and 5 times each; on a linear one, every
// nice step.
func valueTicks(s scale) (marks []tick) {
	mark := func(v float64) { marks = append(marks, tick{s.at(v), number(v)}) }
	if !s.log {
		step := niceStep((s.max - s.min) / 5)
		for i := math.Ceil(s.min/step - 1e-9); i*step <= s.max+step*1e-9; i++ {
			mark(i * step)
		}
		return marks
	}
	decades := math.Log10(s.max / s.min)
	for _, v := range logMarks(s.min, s.max) {
		lead := v / math.Pow(10, math.Floor(math.Log10(v)*(1+1e-12)+1e-12))
		whole := math.Abs(lead-1) < 1e-6
		if v < s.min*(1-1e-9) || v > s.max*(1+1e-9) || decades > 2.2 && !whole {
			continue
		}
		mark(v)
	}
	for len(marks) > 8 { // many decades: keep every other mark
		for i := 1; i < len(marks); i++ {
			marks = slices.Delete(marks, i, i+1)
		}
	}
	return marks
}

// number is a round number on an axis.
func number(v float64) string {
	switch {
	case v == 0:
		return "0"
	case math.Abs(v) >= 1e7 || math.Abs(v) < 1e-4:
		return strconv.FormatFloat(v, 'e', 0, 64)
	}
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // rounds off 0.30000000000000004
	return strconv.FormatFloat(short, 'f', -1, 64)
}
