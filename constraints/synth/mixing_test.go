package synth

import (
	"context"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/constraints/solver"
)

// Courses make routings of many chunks, which stand up to a replay. That of 24 chunks
// in four steps, 1/3 of a round each, which is the bound, no solver has found.
func TestMixed(t *testing.T) {
	s, err := solver.Open(solver.Options{Solver: "pb", Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rows, work := [][3]int{{16, 3, 8}}, 5*time.Second
	if os.Getenv("COLLTUNE_LONG") != "" {
		work = time.Minute
		rows = append(rows, [3]int{24, 4, 8}, [3]int{16, 4, 6}, [3]int{40, 4, 14}, [3]int{48, 4, 17}, [3]int{48, 5, 15})
	}
	gathered := map[int]*tollkeeper{}
	for _, w := range rows {
		p := sumsOf(t, resolve(t, "dgx-1", 0), w[0], w[1], w[2])
		ask := byWork(context.Background(), work)
		ask.gathered = gathered
		sched, err := p.mixed(s, ask)
		if err != nil || sched == nil {
			t.Errorf("%v: nothing, %v", w, err)
			continue
		}
		if err := Replay(p.Query, p.net.unit, p.names(), sched); err != nil {
			t.Errorf("%v: %v", w, err)
		}
		if ask.meter.done <= 0 {
			t.Errorf("%v: no work was counted", w)
		}
	}
}

// What a course is said to sum is summed, if only links are wide enough; and most
// courses that are thinned out of a system do.
func TestSummed(t *testing.T) {
	drawn, summed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		top := turning(t)
		steps := rapid.IntRange(1, 4).Draw(t, "steps")
		p := sumsOf(t, top, 1, steps, 64*steps)
		h := p.hears(steps)
		if h == nil {
			return
		}
		c := h.everything()
		if !h.enough(c) {
			return
		}
		toll := make([]float64, len(c))
		for i := range toll {
			toll[i] = rapid.Float64Range(0, 1).Draw(t, "toll")
		}
		h.thin(c, toll, 0)
		drawn++
		s := h.summed(c)
		if s == nil {
			return
		}
		summed++
		for i := range s {
			s[i].Rounds = 64
		}
		if err := Replay(p.Query, p.net.unit, p.names(), s); err != nil {
			t.Fatalf("%v: %v", c, err)
		}
	})
	t.Logf("%d of %d courses summed", summed, drawn)
	if summed < 10 {
		t.Errorf("%d of %d courses summed: too few to mean much", summed, drawn)
	}
}
