package compiler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/verify"
)

// needs checks with the oracle that a program completes with the slots it reports, and
// deadlocks with one fewer.
func needs(res *Result, split bool) error {
	n := res.Slots
	if split {
		n = res.SlotsSplit
	}
	if err := execute(res.Program, n, split, 1); err != nil {
		return fmt.Errorf("%d slots, split %v: %v", n, split, err)
	}
	if n > 1 {
		if err := execute(res.Program, n-1, split, 1); err == nil || !strings.Contains(err.Error(), "deadlock") {
			return fmt.Errorf("%d slots said to be needed, split %v; with one fewer: %v", n, split, err)
		}
	}
	return nil
}

// judgeSlots returns an error if a result needs more slots than its options allow.
func judgeSlots(res *Result, o Options) error {
	slots := o.Slots
	if slots == 0 {
		slots = DefaultSlots
	}
	if slices.Contains(o.Disable, "slots") {
		if res.Slots != 0 || res.SlotsSplit != 0 {
			return fmt.Errorf("slots %d and %d, which nobody counted", res.Slots, res.SlotsSplit)
		}
		return nil
	}
	if res.Slots > res.SlotsSplit || res.SlotsSplit > slots {
		return fmt.Errorf("needs %d slots, and %d with a call for each chunk: want at most %d", res.Slots, res.SlotsSplit, slots)
	}
	if err := needs(res, false); err != nil {
		return err
	}
	return needs(res, true)
}

// TestSlotsOfFamilies: programs of long references run with two slots however their steps
// are divided into calls; in most, one rank of each ring is not fused.
func TestSlotsOfFamilies(t *testing.T) {
	for name, p := range families() {
		for _, o := range []Options{{}, {Instances: 2}, {Slots: 1}, {Slots: 3}, {Slots: 8}} {
			if err := slotsFound(p, o); err != nil {
				t.Errorf("%s with %+v: %v", name, o, err)
			}
		}
	}
}

// slotsFound compiles a program and checks the slots it reports.
func slotsFound(p *lang.Program, o Options) error {
	res, err := Compile(p, o)
	if err != nil {
		return err
	}
	if err := judgeSlots(res, o); err != nil {
		return err
	}
	report := verify.Check(res.Program, verify.Options{})
	if report.SlotsNeeded != res.Slots || report.SlotsNeededSplit != res.SlotsSplit {
		return fmt.Errorf("slots %d and %d; the verifier finds %d and %d", res.Slots, res.SlotsSplit, report.SlotsNeeded, report.SlotsNeededSplit)
	}
	return nil
}

// TestWaysToBreakCycles: programs run with the slots they were compiled for whichever way
// cycles are broken: one by one, with those behind them, or all at once.
func TestWaysToBreakCycles(t *testing.T) {
	defer func(n, m int) { oneVictimAttempts, lookaheadAttempts = n, m }(oneVictimAttempts, lookaheadAttempts)
	programs := families()
	programs["hierarchical 4x4"] = hierarchical(4, 4, 1)
	programs["lines of a grid of 5"] = gridAllGather(5)
	for _, way := range []struct{ oneByOne, onwards int }{{1000, 1000}, {0, 1000}, {1, 1000}, {0, 0}} {
		oneVictimAttempts, lookaheadAttempts = way.oneByOne, way.onwards
		for name, p := range programs {
			for _, o := range []Options{{}, {Instances: 2, CheckEachPass: true}, {Slots: 1}, {MaxThreadblocks: 8}} {
				if err := slotsFound(p, o); err != nil {
					t.Errorf("%s with %+v, %+v: %v", name, o, way, err)
				}
			}
		}
	}
}

// TestFewAttemptsOnGrids: the order is made at most ten times, however many cycles lie
// behind one another.
func TestFewAttemptsOnGrids(t *testing.T) {
	most := 0
	for side := 3; side <= 7; side++ {
		o := Options{}
		skip, err := o.complete()
		if err != nil {
			t.Fatal(err)
		}
		prog := newProgram(gridAllGather(side), o)
		res, err := prog.compile(skip)
		if err != nil {
			t.Fatal(err)
		}
		if err := judgeSlots(res, o); err != nil {
			t.Errorf("a grid of %d: %v", side, err)
		}
		if prog.cycleBreaks > lookaheadAttempts+1 {
			t.Errorf("cycles in a grid of %d were broken %d times", side, prog.cycleBreaks)
		}
		most = max(most, prog.cycleBreaks)
	}
	if most <= oneVictimAttempts {
		t.Errorf("cycles broken %d times at most: the test proves little", most)
	}
}

// TestLookingAheadTakesFewerAttempts: breaking the cycles behind a cycle at once makes the
// order fewer times.
func TestLookingAheadTakesFewerAttempts(t *testing.T) {
	defer func(n, m int) { oneVictimAttempts, lookaheadAttempts = n, m }(oneVictimAttempts, lookaheadAttempts)
	turns := func(alone int) int {
		oneVictimAttempts, lookaheadAttempts = alone, 1000
		o := Options{}
		skip, err := o.complete()
		if err != nil {
			t.Fatal(err)
		}
		prog := newProgram(gridAllGather(6), o)
		if _, err := prog.compile(skip); err != nil {
			t.Fatal(err)
		}
		return prog.cycleBreaks
	}
	if first, ahead := turns(1000), turns(0); ahead >= first || ahead == 0 {
		t.Errorf("looking ahead it takes %d turns, and %d circle after circle", ahead, first)
	}
}

// gridAllGather returns an all-gather over a grid, half the data along the rows
// and then along the columns, half the other way round; every line both ways.
// In each second phase a message is what a whole line has.
func gridAllGather(side int) *lang.Program {
	b := begin(collective.Spec{Name: "allgather", Ranks: side * side, Chunks: 2})
	at := func(half, x, y int) int { // what lies side by side once the first phase is done
		if half == 1 {
			x, y = y, x
		}
		return half*side*side + y*side + x
	}
	rank := func(x, y int) int { return y*side + x }
	along := func(line func(i int) int, what func(i int) int, count int) {
		for i := range side { // from where it is, to both ends
			for j := i; j+1 < side; j++ {
				b.copy(sc(line(j), what(i)), sc(line(j+1), what(i)), count)
			}
			for j := i; j > 0; j-- {
				b.copy(sc(line(j), what(i)), sc(line(j-1), what(i)), count)
			}
		}
	}
	for half := range 2 {
		for x := range side {
			for y := range side {
				b.copy(in(rank(x, y), half), sc(rank(x, y), at(half, x, y)), 1)
			}
		}
		b.channel = half
		turned := func(i, j int) int {
			if half == 1 {
				return rank(j, i)
			}
			return rank(i, j)
		}
		for j := range side {
			along(func(i int) int { return turned(i, j) }, func(i int) int { return half*side*side + j*side + i }, 1)
		}
		for i := range side {
			along(func(j int) int { return turned(i, j) }, func(j int) int { return half*side*side + j*side }, side)
		}
	}
	for r := range side * side {
		for x := range side {
			for y := range side {
				for half := range 2 {
					b.copy(sc(r, at(half, x, y)), out(r, 2*rank(x, y)+half), 1)
				}
			}
		}
	}
	return &b.p
}

// TestOneRankOfARingIsSplit: rings with messages of four chunks deadlock with two slots,
// because all ranks send. Splitting the fused instructions of one rank of each ring is
// enough; all other ranks keep theirs.
func TestOneRankOfARingIsSplit(t *testing.T) {
	for _, c := range []struct{ nodes, gpus, split int }{{4, 4, 4}, {4, 8, 4}, {8, 8, 8}} {
		p := hierarchical(c.nodes, c.gpus, 1)
		left, err := Compile(p, Options{Disable: []string{"slots"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := verify.Check(left.Program, verify.Options{}).SlotsNeededSplit; got <= DefaultSlots {
			t.Fatalf("%d nodes of %d: %d slots are enough as it is", c.nodes, c.gpus, got)
		}
		res, err := Compile(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := judgeSlots(res, Options{}); err != nil {
			t.Errorf("%d nodes of %d: %v", c.nodes, c.gpus, err)
		}
		// Within each node a ring of gpus chains goes around twice, for the sums
		// and for the results; what passes one rank is taken apart.
		apart := 0
		for g := range res.Program.GPUs {
			if len(res.Program.GPUs[g].Threadblocks) != len(left.Program.GPUs[g].Threadblocks) {
				apart++
			}
		}
		if apart == 0 || apart > 2*c.split {
			t.Errorf("%d nodes of %d: threadblocks taken apart on %d ranks, for %d rings", c.nodes, c.gpus, apart, 2*c.split)
		}
	}
}
