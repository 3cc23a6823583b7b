package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/table"
)

// family is a small chart: an algorithm's best times beside the winners'.
type family struct {
	Name, Text string
	Chart      *chart
}

// other is an algorithm that is only named, because there is no room to draw it.
type other struct{ Name, Text string }

// How many algorithms are drawn, and how many more are named.
const (
	mostFamilies = 24
	mostOthers   = 60
)

// standing is how an algorithm compares with the winners.
type standing struct {
	*table.Curve
	wins    int     // at how many sizes it is the winner
	nearest float64 // its least time over the winner's
	at      int64   // the size of that
}

// standings lists the algorithms of a placement, given the winner's time at each
// size. Those that win most come first, then those that come closest.
func standings(placement string, curves []table.Curve, best map[int64]float64) []standing {
	var all []standing
	for i := range curves {
		s := standing{Curve: &curves[i], nearest: math.Inf(1)}
		if s.Placement != placement {
			continue
		}
		for _, point := range s.Points {
			if point.Wins {
				s.wins++
			}
			if slower := point.TimeUS / best[point.Bytes]; slower < s.nearest {
				s.nearest, s.at = slower, point.Bytes
			}
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b standing) int {
		return cmp.Or(cmp.Compare(b.wins, a.wins), cmp.Compare(a.nearest, b.nearest), strings.Compare(a.Algorithm, b.Algorithm))
	})
	return all
}

// families draws every algorithm beside the winners, or only names it if there are
// many.
func (p *placement) families(sizes []int64, curves []table.Curve, rows []*table.Row, colour map[string]string) {
	best := map[int64]float64{}
	won := series{class: "best"}
	for _, r := range rows {
		best[r.Bytes] = r.TimeUS
		won.points = append(won.points, point{x: r.Bytes, value: r.TimeUS})
	}
	for i, s := range standings(p.Name, curves, best) {
		says := fmt.Sprintf("at best %s× the winner's time (%s)", brief(s.nearest), sizeText(s.at))
		if s.wins > 0 {
			says = fmt.Sprintf("wins at %d of %s", s.wins, units.Count(len(rows), "size"))
		}
		says += measuredAt(len(s.Points), len(rows))
		name := clip(s.Algorithm, wordRoom)
		if s.Source != "template" {
			name += " (" + clip(s.Source, wordRoom) + ")"
		}
		if i >= mostFamilies {
			if i < mostFamilies+mostOthers {
				p.Others = append(p.Others, other{name, says})
			}
			continue
		}
		class := colour[s.Algorithm]
		if class == "" {
			class = "c0"
		}
		line := series{class: class}
		for _, point_ := range s.Points {
			line.points = append(line.points, point{x: point_.Bytes, value: point_.TimeUS, tooltip: fmt.Sprintf("%s: %s us", sizeText(point_.Bytes), brief(point_.TimeUS))})
		}
		c := small
		c.Title, c.Unit = name+": best time over size", "us"
		p.Families = append(p.Families, family{name, says, over(sizes, c, true, nil, won, line)})
	}
}

// measuredAt returns the number of sizes an algorithm was measured at; "" if it is all.
func measuredAt(n, of int) string {
	if n == of {
		return ""
	}
	return fmt.Sprintf("; run at %d", n)
}
