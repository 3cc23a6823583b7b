package templates

import (
	"fmt"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// TestFoldingChangesNoTime: of every family, the first and the last of its programs take the
// same time, bit for bit, whether the simulator folds them or not.
func TestFoldingChangesNoTime(t *testing.T) {
	for _, s := range []system{{"dgx-a100", []int{0, 1, 2, 3}, 2}, {"mi300x", nil, 1}, {"dgx-1", nil, 1}, {"torus:3x3", nil, 1}} {
		top := s.of(t, s.nodes)
		m := machineOf(top)
		for _, f := range Builtin() {
			for _, coll := range f.Collectives {
				for _, q := range requests(coll, m) {
					grid, err := f.GridFor(m, q, nil, 1)
					if err != nil {
						t.Fatal(err)
					}
					if len(grid) > 2 {
						grid = append(grid[:1:1], grid[len(grid)-1])
					}
					for _, p := range grid {
						program, err := f.Trace(m, q, p)
						if err != nil {
							t.Fatal(err)
						}
						if err := timedAlike(program, top); err != nil {
							t.Errorf("%s %s %v on %s: %v", f.Name, coll, p, top.Name, err)
						}
					}
				}
			}
		}
	}
}

// bothPrepared compiles a program and prepares it for simulation, folded and not.
func bothPrepared(program *lang.Program, top *topologies.Topology) (folded, whole *sim.Prepared, err error) {
	compiled, err := compiler.Compile(program, compiler.Options{MaxChannels: 1 << 10})
	if err != nil {
		return nil, nil, err
	}
	if folded, err = sim.Prepare(compiled.Program, top); err != nil {
		return nil, nil, err
	}
	whole, err = sim.PrepareUnfolded(compiled.Program, top)
	return folded, whole, err
}

// timedAlike compares a program's times, folded and not.
func timedAlike(program *lang.Program, top *topologies.Topology) error {
	folded, whole, err := bothPrepared(program, top)
	if err != nil {
		return err
	}
	for _, proto := range top.HasProtocols() {
		for _, bytes := range []int64{16 << 10, 48 << 20} {
			k := sim.Knobs{Bytes: bytes, Protocol: proto}
			got, err := folded.Run(k)
			if err != nil {
				return err
			}
			want, err := whole.Run(k)
			if err != nil {
				return err
			}
			if got.Events = want.Events; got != want {
				return fmt.Errorf("%v, %d bytes: %+v, unfolded %+v", proto, bytes, got, want)
			}
		}
	}
	return nil
}

// TestNodesAreSimulatedOnce: an all-to-all does the same on every node, and the simulator
// keeps one of them.
func TestNodesAreSimulatedOnce(t *testing.T) {
	for _, s := range []system{{"dgx-a100", nil, 12}, {"frontier", nil, 6}, {"ndv2", nil, 3}} {
		top := s.of(t, s.nodes)
		m := machineOf(top)
		for _, family := range []string{"three-step", "two-step"} {
			for _, coll := range []string{"alltoall", "alltoallv"} {
				f, err := Find(Builtin(), family, coll)
				if err != nil {
					t.Fatal(err)
				}
				q := script.Request{Collective: coll}
				if n := collective.CountsOf(coll, m.Ranks()); n > 0 {
					q.Counts = slices.Repeat([]int{1}, n)
				}
				grid, err := f.GridFor(m, q, nil, 1)
				if err != nil || len(grid) == 0 {
					t.Fatalf("%d sets of parameters, %v", len(grid), err)
				}
				for _, p := range grid {
					program, err := f.Trace(m, q, p)
					if err != nil {
						t.Fatal(err)
					}
					folded, whole, err := bothPrepared(program, top)
					if err != nil {
						t.Fatal(err)
					}
					k := sim.Knobs{Bytes: 1 << 20, Protocol: topologies.Simple}
					one, err := folded.Run(k)
					if err != nil {
						t.Fatal(err)
					}
					all, err := whole.Run(k)
					if err != nil {
						t.Fatal(err)
					}
					if one.Events*int64(s.nodes) > all.Events {
						t.Errorf("%s %s %v on %s: %d events of %d", family, coll, p, top.Name, one.Events, all.Events)
					}
				}
			}
		}
	}
}
