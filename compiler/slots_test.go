package compiler

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/verify"
)

// needs has the oracle find the slots that a program needs: with one fewer it
// stops.
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

// judgeSlots holds a result to what its options ask of the slots.
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

// TestSlotsOfFamilies: programs of long references run with two slots whatever
// their calls are; most by taking a rank of each ring apart.
func TestSlotsOfFamilies(t *testing.T) {
	for name, p := range families() {
		for _, o := range []Options{{}, {Instances: 2}, {Slots: 1}, {Slots: 3}, {Slots: 8}} {
			res, err := Compile(p, o)
			if err != nil {
				t.Fatal(err)
			}
			if err := judgeSlots(res, o); err != nil {
				t.Errorf("%s with %+v: %v", name, o, err)
			}
			report := verify.Check(res.Program, verify.Options{})
			if report.SlotsNeeded != res.Slots || report.SlotsNeededSplit != res.SlotsSplit {
				t.Errorf("%s with %+v: slots %d and %d; the verifier finds %d and %d", name, o,
					res.Slots, res.SlotsSplit, report.SlotsNeeded, report.SlotsNeededSplit)
			}
		}
	}
}

// TestOneRankOfARingIsTakenApart: rings of messages of four chunks stop with two
// slots, everybody sending; one rank each that sends and receives at once is
// enough, and all other ranks go on fusing.
func TestOneRankOfARingIsTakenApart(t *testing.T) {
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
