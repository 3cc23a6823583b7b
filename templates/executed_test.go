package templates

import (
	"context"
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestFamiliesMoveTheRightBytes runs every family, for every collective it does,
// on real memory, and wants no wrong element. The ordinary test takes types,
// reductions, protocols and sizes in turn, so that each is met with many
// programs; with COLLTUNE_LONG=1 every program meets them all.
func TestFamiliesMoveTheRightBytes(t *testing.T) {
	machines := []script.Machine{script.Even(1, 4), {Nodes: 2, GPUsPerNode: []int{3, 2}}, script.Even(2, 4), script.Even(4, 2), ringMachine(5), meshMachine(true, 3, 3)}
	turns := turnsOf(everything())
	programs, met := 0, map[string]bool{}
	for _, f := range Builtin() {
		for _, c := range f.Collectives {
			ran := false
			for _, m := range machines {
				q := script.Request{Collective: c, InPlace: collective.DefaultInPlace(c) != (programs%3 == 2)}
				if n := collective.CountsOf(c, m.Ranks()); n > 0 {
					q.Counts = make([]int, n)
					for i := range q.Counts {
						q.Counts[i] = (i*5 + programs) % 4
					}
					q.Counts[n-1] = 1
				}
				if _, err := collective.New(collective.Spec{Name: c, Ranks: m.Ranks(), Chunks: 1, InPlace: q.InPlace, Counts: q.Counts}); err != nil {
					q.InPlace = false
				}
				grid, err := f.GridFor(m, q, nil, 1)
				if err != nil || len(grid) == 0 {
					continue
				}
				program, err := f.Trace(m, q, grid[programs%len(grid)])
				if err != nil {
					t.Fatal(err)
				}
				r, err := compiler.Compile(program, compiler.Options{Instances: 1 + programs%3, MaxChannels: 1 << 10, CallPerChunk: true})
				if err != nil {
					t.Fatal(err)
				}
				programs++
				ran = true
				top := topotest.Resolve(t, fmt.Sprintf("fullmesh:%d", m.Ranks()), 0)
				for _, trial := range turns() {
					trial.Program, trial.Topology = r.Program, top
					got, err := cpu.New().Run(context.Background(), trial)
					if err != nil || got.Wrong != 0 || !got.Checked {
						t.Errorf("%s %s on %v GPUs, %d bytes of %s, %s, %v: %d wrong, %v", f.Name, c, m.GPUsPerNode, trial.Bytes, trial.DType, trial.Op, trial.Protocol, got.Wrong, err)
					}
					met[fmt.Sprint(trial.DType, trial.Op, trial.Protocol)] = true
				}
			}
			if !ran {
				t.Errorf("%s %s was never run", f.Name, c)
			}
		}
	}
	t.Logf("%d programs", programs)
	if want := len(collective.DTypes()) * len(data.Operations()) * len(topologies.AllProtocols); len(met) != want {
		t.Errorf("%d of %d ways to run a program were met", len(met), want)
	}
}

// turnsOf gives the trials of the next program: two of all the ways to run one,
// at some size, or all of them, and one at tens of megabytes.
func turnsOf(whole bool) func() []executor.Trial {
	dtypes, ops := collective.DTypes(), data.Operations()
	ways := len(dtypes) * len(ops) * len(topologies.AllProtocols)
	sizes := []int64{1, 1003, 16 << 10, 8, 70_001, 3, 24<<20 + 4}
	turn := 0
	trial := func(way int, bytes int64) executor.Trial {
		turn++
		return executor.Trial{
			Bytes: bytes, DType: dtypes[way%len(dtypes)], Op: ops[way/len(dtypes)%len(ops)], Protocol: topologies.AllProtocols[way/len(dtypes)/len(ops)],
			Iters: 1, Warmup: turn % 2, Seed: int64(turn),
		}
	}
	way := 0
	return func() (all []executor.Trial) {
		n := 2
		if whole {
			n = ways
		}
		for range n {
			way = (way + 37) % ways // has no factor in common with them
			all = append(all, trial(way, sizes[turn%(len(sizes)-1)]))
		}
		if whole {
			all = append(all, trial(way, sizes[len(sizes)-1]))
		}
		return all
	}
}
