package templates

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// TestFoldingChangesNoTime: of every family, the first and the last of its programs take the
// same time, bit for bit, whether the simulator folds them or not.
func TestFoldingChangesNoTime(t *testing.T) {
	for _, s := range []system{{"dgx-a100", nil, 2}, {"mi300x", nil, 1}, {"dgx-1", nil, 1}, {"torus:3x3", nil, 1}} {
		top := s.of(t, s.nodes)
		m := machineOf(top)
		for _, f := range Builtin() {
			for _, coll := range f.Collectives {
				for _, q := range requests(coll, m) {
					grid, err := f.GridFor(m, q, nil)
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

// timedAlike compiles a program and compares its times, folded and not.
func timedAlike(program *lang.Program, top *topologies.Topology) error {
	compiled, err := compiler.Compile(program, compiler.Options{MaxChannels: 1 << 10})
	if err != nil {
		return err
	}
	folded, err := sim.Prepare(compiled.Program, top)
	if err != nil {
		return err
	}
	whole, err := sim.PrepareUnfolded(compiled.Program, top)
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
