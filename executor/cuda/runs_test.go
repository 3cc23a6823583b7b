package cuda

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// sums is a rank that reduces chunks of scratch into its second input chunk,
// which has four.
func sums(sources ...int32) []ir.Step {
	var steps []ir.Step
	for _, s := range sources {
		steps = append(steps, ir.Step{Op: ir.Reduce, Count: 1, Src: ir.Loc{Buf: collective.Scratch, Off: s}, Dst: ir.Loc{Off: 1}})
	}
	return steps
}

// TestRuns divides steps into runs: what is seen from outside between two steps
// parts them.
func TestRuns(t *testing.T) {
	changed := func(steps []ir.Step, change func([]ir.Step)) []ir.Step {
		change(steps)
		return steps
	}
	for _, tc := range []struct {
		name  string
		steps []ir.Step
		bytes int64
		want  []run // apart in chunks
	}{
		{"one", sums(3), 4096, []run{{0, 1, 0}}},
		{"seven in a row", sums(0, 1, 2, 3, 4, 5, 6), 4096, []run{{0, 7, 1}}},
		{"backwards, every other", sums(6, 4, 2), 4096, []run{{0, 3, -2}}},
		{"not evenly apart", sums(0, 1, 3, 5), 4096, []run{{0, 2, 1}, {2, 2, 2}}},
		{"the same twice", sums(2, 2), 4096, []run{{0, 1, 0}, {1, 1, 0}}},
		{"somebody waits for the second", changed(sums(0, 1, 2, 3), func(s []ir.Step) { s[1].HasDep = true }), 4096, []run{{0, 2, 1}, {2, 2, 1}}},
		{"somebody waits for the last", changed(sums(0, 1, 2), func(s []ir.Step) { s[2].HasDep = true }), 4096, []run{{0, 3, 1}}},
		{"the first waits", changed(sums(0, 1), func(s []ir.Step) { s[0].Deps = []ir.Dep{{TB: 1}} }), 4096, []run{{0, 2, 1}}},
		{"the third waits", changed(sums(0, 1, 2), func(s []ir.Step) { s[2].Deps = []ir.Dep{{TB: 1}} }), 4096, []run{{0, 2, 1}, {2, 1, 0}}},
		{"into another chunk", changed(sums(0, 1, 2), func(s []ir.Step) { s[2].Dst.Off = 2 }), 4096, []run{{0, 2, 1}, {2, 1, 0}}},
		{"several chunks", changed(sums(0, 1), func(s []ir.Step) { s[1].Count = 2 }), 4096, []run{{0, 1, 0}, {1, 1, 0}}},
		{"a copy between", changed(sums(0, 1, 2), func(s []ir.Step) { s[1].Op = ir.Copy }), 4096, []run{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}}},
		{"what is written is a source", changed(sums(0, 1, 2), func(s []ir.Step) {
			for i := range s {
				s[i].Src.Buf = collective.In
			}
		}), 4096, []run{{0, 1, 0}, {1, 1, 0}, {2, 1, 0}}},
		{"of the input", changed(sums(2, 3), func(s []ir.Step) { s[0].Src.Buf, s[1].Src.Buf = collective.In, collective.In }), 4096, []run{{0, 2, 1}}},
		{"of an input of chunks that differ", changed(sums(2, 3), func(s []ir.Step) { s[0].Src.Buf, s[1].Src.Buf = collective.In, collective.In }), 4100, []run{{0, 1, 0}, {1, 1, 0}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &ir.Program{Collective: collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 4, InPlace: true}, GPUs: []ir.GPU{{Scratch: 8}, {Scratch: 8}}}
			plan, err := newPlan(executor.Trial{Program: p, Topology: system(t, "ring:2"), Bytes: tc.bytes, DType: "f32", Op: "sum", Protocol: topologies.Simple}, 1)
			if err != nil {
				t.Fatal(err)
			}
			chunk := plan.reference.Layout.ChunkElements * 4
			for i := range tc.want {
				tc.want[i].apart *= chunk
			}
			if got := plan.runs(0, tc.steps); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestRunsOfFamilies has the reductions of an all-pairs be one step, and the
// steps that others wait for keep their numbers.
func TestRunsOfFamilies(t *testing.T) {
	for _, f := range families(t, 1, 8, topologies.LL) {
		if f.name != "all-pairs/allreduce/1x8/in-place" {
			continue
		}
		trial := executor.Trial{Program: f.program, Topology: system(t, "fullmesh:8"), Bytes: 1024, DType: "f32", Op: "sum", Protocol: topologies.LL}
		p, err := newPlan(trial, 1)
		if err != nil {
			t.Fatal(err)
		}
		image := p.image(0, []uint64{1 << 20})
		reductions, program := 0, 0
		for _, s := range image.steps {
			if s.Does&^(flags|small) == doesOf(ir.Reduce) {
				reductions++
				if s.Sources != 7 || s.Index < 6 {
					t.Errorf("a reduction of %d sources, step %d", s.Sources, s.Index)
				}
			}
		}
		for _, b := range image.blocks {
			program += int(b.Block.ProgramSteps)
		}
		if reductions != 8 || program != len(image.steps)+8*6 {
			t.Errorf("%d reductions, %d steps for %d of the program", reductions, len(image.steps), program)
		}
		return
	}
	t.Error("no such program")
}

// TestHop has two blocks hand a flag to and fro, as the figures of a GPU are
// judged by.
func TestHop(t *testing.T) { handsFlags(t, newHostMachine(t, 1, 1, "plain")) }

func handsFlags(t *testing.T, m machine) {
	t.Helper()
	if err := m.use(1, data.F32); err != nil {
		t.Fatal(err)
	}
	at, err := m.alloc(0, 2*line)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.set(0, at, 2*line, 0); err != nil {
		t.Fatal(err)
	}
	const rounds = 50
	h := hopRecord{There: at, Back: at + line, Rounds: rounds, Timeout: 1 << 60}
	if err := m.launch(0, launch{hopKernel, 2, 1, true, encode(h)}); err != nil {
		t.Fatal(err)
	}
	if err := m.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.releaseAll(); err != nil {
			t.Error(err)
		}
	}()
	var both [2 * line]byte
	if err := m.read(0, at, both[:]); err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{4, 12, line + 4, line + 12} {
		if n := binary.LittleEndian.Uint32(both[i:]); n != rounds {
			t.Errorf("the flag at %d is %d, want %d", i, n, rounds)
		}
	}
}
