package cpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestAnyProgram runs correct programs of every collective with random knobs: any size from
// 0, tiles from one element, every type, reduction and protocol. No element may be wrong.
func TestAnyProgram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawn(t)
		p := wandering(t, spec, compiler.Options{Instances: rapid.IntRange(1, 3).Draw(t, "instances"), CallPerChunk: true})
		trial := trialOf(t, p)
		m, err := New().Run(context.Background(), trial)
		if err != nil {
			t.Fatalf("%s: %v", name(spec), err)
		}
		if m.Wrong != 0 || !m.Checked || len(m.TimesUS) != trial.Iters {
			t.Errorf("%s %v: %+v", name(spec), trial.Protocol, m)
		}
	})
}

func trialOf(t *rapid.T, p *ir.Program) executor.Trial {
	top := topotest.Resolve(t, fmt.Sprintf("fullmesh:%d", p.Ranks()), 0)
	d := rapid.SampledFrom(collective.DTypes()).Draw(t, "dtype")
	elem, _ := collective.ElemBytes(d)
	trial := executor.Trial{
		Program: p, Topology: top, DType: d,
		Bytes:    rapid.OneOf(rapid.Int64Range(0, 64), rapid.Int64Range(0, 100_000)).Draw(t, "bytes"),
		Op:       rapid.SampledFrom(data.Operations()).Draw(t, "op"),
		Protocol: rapid.SampledFrom(topologies.AllProtocols[:]).Draw(t, "protocol"),
		Iters:    rapid.IntRange(1, 3).Draw(t, "iterations"),
		Warmup:   rapid.IntRange(0, 1).Draw(t, "warmup"),
		Seed:     rapid.Int64().Draw(t, "seed"),
	}
	elements := trial.Bytes/elem + 1
	trial.TileBytes = elem * rapid.SampledFrom([]int64{elements/50 + 1, elements/7 + 1, 1 << 20}).Draw(t, "tile")
	return trial
}

// TestMutants breaks correct programs: those that the verifier calls wrong or deadlocked
// must give wrong elements, or an error.
func TestMutants(t *testing.T) {
	caught, equal := map[string]int{}, 0
	rapid.Check(t, func(t *rapid.T) {
		spec := drawn(t)
		p := wandering(t, spec, compiler.Options{})
		kind := mutate(t, p)
		if kind == "" {
			return
		}
		trial := trialOf(t, p)
		trial.Bytes = 5000 + trial.Bytes%1000 // enough that no wrong result is right by chance
		trial.Iters, trial.Warmup = 1, 0
		// What holds with any number of slots, and with as many as there are.
		found := errorsOf(verify.Check(p, verify.Options{}))
		tight := errorsOf(verify.Check(p, verify.Options{Slots: trial.Topology.Protocols[trial.Protocol].Slots}))
		if slices.Contains(append(found, tight...), "race") {
			return // right or wrong, as it happens
		}
		m, err := New().Run(context.Background(), trial)
		stuck := err != nil && strings.HasPrefix(err.Error(), "deadlock in iteration 0: rank ")
		switch {
		case slices.Contains(found, "deadlock") && err == nil, stuck && !slices.Contains(tight, "deadlock"):
			t.Errorf("%s (%s): the verifier finds %v, here %v", name(spec), kind, tight, err)
		case len(tight) == 0 && (err != nil || m.Wrong != 0):
			t.Errorf("%s (%s): the verifier finds nothing, here it is %d wrong, %v", name(spec), kind, m.Wrong, err)
		case len(found) == 0:
			equal++
		case err == nil && m.Wrong == 0:
			if slices.Equal(found, []string{"wrong-result"}) && (trial.Op == "min" || trial.Op == "max") {
				return // a term that is there twice changes neither
			}
			t.Errorf("%s (%s) %s %s: the verifier finds %v, here all is right", name(spec), kind, trial.DType, trial.Op, found)
		case stuck:
			caught["deadlock"]++
		default:
			caught[kind]++
		}
	})
	t.Logf("caught %v, %d changed nothing", caught, equal)
	if len(caught) < 3 {
		t.Errorf("too few kinds of mutants: %v", caught)
	}
}

func errorsOf(r *verify.Report) (kinds []string) {
	for _, f := range r.Findings {
		if f.Severity == verify.Error {
			kinds = append(kinds, string(f.Kind))
		}
	}
	return kinds
}

// mutate changes one step, and returns a description of the change, or "" if none was
// possible.
func mutate(t *rapid.T, p *ir.Program) string {
	var steps, nexts []*ir.Step
	for r := range p.GPUs {
		for tb := range p.GPUs[r].Threadblocks {
			all := p.GPUs[r].Threadblocks[tb].Steps
			for s := range all {
				steps, nexts = append(steps, &all[s]), append(nexts, nil)
				if s+1 < len(all) {
					nexts[len(nexts)-1] = &all[s+1]
				}
			}
		}
	}
	if len(steps) == 0 {
		return ""
	}
	at := rapid.IntRange(0, len(steps)-1).Draw(t, "step")
	s, next := steps[at], nexts[at]
	var kinds []string
	for _, k := range []struct {
		kind string
		can  bool
	}{
		{"source", s.Op.ReadsSrc()},
		{"target", s.Op.WritesDst()},
		{"operation", s.Op == ir.RecvReduceCopy || s.Op == ir.Reduce},
		{"dependency", len(s.Deps) > 0},
		{"swapped", next != nil},
		{"skipped", !s.Op.Sends() && !s.Op.Receives() && s.Op != ir.Nop},
	} {
		if k.can {
			kinds = append(kinds, k.kind)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	kind := rapid.SampledFrom(kinds).Draw(t, "mutation")
	switch kind {
	case "source":
		s.Src.Off++
	case "target":
		s.Dst.Off++
	case "operation":
		if s.Op == ir.Reduce {
			s.Op = ir.Copy
			break
		}
		s.Op, s.Src = ir.Recv, ir.Loc{}
	case "dependency":
		s.Deps = nil
	case "swapped":
		*s, *next = *next, *s
		s.HasDep, next.HasDep = next.HasDep, s.HasDep
	case "skipped":
		*s = ir.Step{Op: ir.Nop, HasDep: s.HasDep, Deps: s.Deps, Count: 1}
	}
	return kind
}

// TestDeadlock: a deadlocked program ends with an error that names the waiting
// threadblocks.
func TestDeadlock(t *testing.T) {
	for _, proto := range topologies.AllProtocols {
		p := exchange(1)
		// Both ends receive first.
		for r := range p.GPUs {
			s := p.GPUs[r].Threadblocks[0].Steps
			s[0], s[1] = s[1], s[0]
		}
		_, err := New().Run(context.Background(), executor.Trial{Program: p, Topology: system(t, "fullmesh:2"), Bytes: 64, Protocol: proto})
		const want = "deadlock in iteration 0: " +
			"rank 0 threadblock 0 tile 0 step 0 (r) waits for a message from rank 1 on channel 0; " +
			"rank 1 threadblock 0 tile 0 step 0 (r) waits for a message from rank 0 on channel 0"
		if err == nil || err.Error() != want {
			t.Errorf("%v: %v", proto, err)
		}
	}
	// One threadblock waits, the others are through.
	alone := exchange(1)
	first := &alone.GPUs[0]
	first.Threadblocks = append(first.Threadblocks, ir.Threadblock{Send: -1, Recv: -1, Steps: []ir.Step{
		{Op: ir.Nop, Deps: []ir.Dep{{TB: 2}}},
	}}, ir.Threadblock{Send: -1, Recv: -1, Steps: []ir.Step{
		{Op: ir.Nop, Deps: []ir.Dep{{TB: 1}}, HasDep: true},
	}})
	first.Threadblocks[1].Steps[0].HasDep = true
	for _, iters := range []int{1, 2} {
		_, err := New().Run(context.Background(), executor.Trial{Program: alone, Topology: system(t, "fullmesh:2"), Bytes: 64, Protocol: topologies.LL, Iters: iters})
		if want := "deadlock in iteration 0: rank 0 threadblock 1 tile 0 step 0 (nop) waits for threadblock 2 step 0; rank 0 threadblock 2"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// More messages than there are slots before any is received.
	p := &ir.Program{Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 9}, GPUs: make([]ir.GPU, 2)}
	for r := range p.GPUs {
		tb := ir.Threadblock{Send: 1 - r, Recv: 1 - r}
		for _, op := range []ir.Op{ir.Send, ir.Recv} {
			for i := range int32(9) {
				tb.Steps = append(tb.Steps, ir.Step{Op: op, Count: 1, Src: ir.Loc{Off: i}, Dst: ir.Loc{Buf: collective.Out, Off: i}})
			}
		}
		p.GPUs[r].Threadblocks = []ir.Threadblock{tb}
	}
	for _, proto := range topologies.AllProtocols {
		top := system(t, "fullmesh:2")
		slots := top.Protocols[proto].Slots
		_, err := New().Run(context.Background(), executor.Trial{Program: p, Topology: top, Bytes: 4000, Protocol: proto})
		want := fmt.Sprintf("rank 1 threadblock 0 tile 0 step %d (s) waits for a free slot to rank 0 on channel 0", slots)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", proto, err, want)
		}
		top.Protocols[proto].Slots = 9
		if m, err := New().Run(context.Background(), executor.Trial{Program: p, Topology: top, Bytes: 4000, Protocol: proto}); err != nil || m.Wrong != 0 {
			t.Errorf("%v with 9 slots: %+v, %v", proto, m, err)
		}
	}
}

// TestEndIsNoDeadlock: an iteration that ended before the watchdog's last look is not
// reported as a deadlock.
func TestEndIsNoDeadlock(t *testing.T) {
	p, err := prepare(ring(t, 4, compiler.Options{}), system(t, "ring:4"))
	if err != nil {
		t.Fatal(err)
	}
	const iterations = 200
	r, err := p.settings(executor.Trial{Program: p.program, Topology: system(t, "ring:4"), Protocol: topologies.LL, Bytes: 64, Iters: iterations})
	if err != nil {
		t.Fatal(err)
	}
	r.build()
	r.launch()
	defer r.stop()
	due := make(chan time.Time)
	close(due) // always
	for i := range iterations {
		r.begin(i)
		for still := false; len(r.ended) == 0 || !still; still, _ = r.still() {
			runtime.Gosched()
		}
		if _, err := r.end(t.Context(), i, due); err != nil {
			t.Fatal(err)
		}
	}
}

// TestParkedElsewhere: where chunks differ by an element, a chunk that a program stores in
// a shorter one's place keeps all its elements.
func TestParkedElsewhere(t *testing.T) {
	p := traced(t, collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 3, InPlace: true}, compiler.Options{}, func(t *tracer) {
		for i := range 3 {
			sum, err := t.chunk(1, collective.In, i, 1).Reduce(t.chunk(0, collective.In, i, 1), 0)
			t.must(sum, err)
		}
		// Turned by one on the way, and back.
		for i := range 3 {
			t.copy(t.chunk(1, collective.In, i, 1), 0, collective.In, (i+1)%3, 0)
		}
		for i := range 3 {
			t.copy(t.chunk(0, collective.In, (i+1)%3, 1), 0, collective.Scratch, i, 0)
		}
		t.copy(t.chunk(0, collective.Scratch, 0, 3), 0, collective.In, 0, 0)
	})
	for bytes := int64(4); bytes < 100; bytes += 4 {
		m, err := New().Run(context.Background(), executor.Trial{Program: p, Topology: system(t, "fullmesh:2"), Bytes: bytes, Protocol: topologies.Simple})
		if err != nil || m.Wrong != 0 {
			t.Errorf("%d bytes: %d wrong, %v", bytes, m.Wrong, err)
		}
	}
}

// TestStrides: a step may read and write chunks with strides.
func TestStrides(t *testing.T) {
	// Every second chunk first, then the others, and back to where they were.
	p := exchange(6)
	for r := range p.GPUs {
		g := &p.GPUs[r]
		g.Scratch = 6
		send := g.Threadblocks[0].Steps[0]
		recv := g.Threadblocks[0].Steps[1]
		at := func(b collective.Buffer, off, stride int32) ir.Loc { return ir.Loc{Buf: b, Off: off, Stride: stride} }
		step := func(s ir.Step, count int32, src, dst ir.Loc) ir.Step {
			s.Count, s.Src, s.Dst = count, src, dst
			return s
		}
		g.Threadblocks = []ir.Threadblock{
			{Send: 1 - r, Recv: -1, Steps: []ir.Step{
				step(send, 3, at(collective.In, 0, 2), ir.Loc{}),
				step(send, 3, at(collective.In, 1, 2), ir.Loc{}),
			}},
			{Send: -1, Recv: 1 - r, Steps: []ir.Step{
				step(recv, 3, ir.Loc{}, at(collective.Scratch, 0, 1)),
				step(recv, 3, ir.Loc{}, at(collective.Scratch, 3, 1)),
				step(ir.Step{Op: ir.Copy}, 3, at(collective.Scratch, 0, 1), at(collective.Out, 0, 2)),
				step(ir.Step{Op: ir.Copy}, 3, at(collective.Scratch, 3, 1), at(collective.Out, 1, 2)),
			}},
		}
	}
	if err := verify.Check(p, verify.Options{}).Err(); err != nil {
		t.Fatal(err)
	}
	for _, proto := range topologies.AllProtocols {
		for _, bytes := range []int64{1, 95, 96, 97, 5000, 1 << 20} {
			for _, tile := range []int64{8, 1 << 16} {
				if bytes > 5000 && tile == 8 {
					continue
				}
				m, err := New().Run(context.Background(), executor.Trial{Program: p, Topology: system(t, "fullmesh:2"), Bytes: bytes, TileBytes: tile, Protocol: proto, DType: "u8"})
				if err != nil || m.Wrong != 0 {
					t.Errorf("%v %d bytes: %d wrong, %v", proto, bytes, m.Wrong, err)
				}
			}
		}
	}
}

// TestRefused: a trial that can't be run is an error before memory is allocated.
func TestRefused(t *testing.T) {
	with := func(edit func(p *ir.Program)) *ir.Program {
		p := exchange(2)
		edit(p)
		return p
	}
	step := func(p *ir.Program, s int) *ir.Step { return &p.GPUs[1].Threadblocks[0].Steps[s] }
	top := system(t, "fullmesh:2")
	for _, c := range []struct {
		name        string
		trial       executor.Trial
		want        string
		unsupported bool
	}{
		{"nothing", executor.Trial{}, "lacks its program", false},
		{"ranks", executor.Trial{Program: exchange(1), Topology: system(t, "fullmesh:3")}, "program is for 2 ranks, topology fullmesh:3 has 3", false},
		{"dtype", executor.Trial{Program: exchange(1), Topology: top, DType: "f8"}, `unknown dtype "f8"`, true},
		{"operation", executor.Trial{Program: exchange(1), Topology: top, Op: "xor"}, `unknown operation "xor"`, true},
		{"size", executor.Trial{Program: exchange(1), Topology: top, Bytes: -1}, "size of -1 bytes", true},
		{"tile", executor.Trial{Program: exchange(1), Topology: top, Bytes: 8, TileBytes: 3}, "tile of 3 bytes: want at least an element of 4", false},
		{"flags", executor.Trial{Program: exchange(1), Topology: top, Bytes: 4 << 20, TileBytes: 4, Iters: 5000}, "calls from rank 0 to rank 1 on channel 0: at most 4294967294", true},
		{"memory", executor.Trial{Program: exchange(1), Topology: top, Bytes: 1 << 45}, "of memory in this process, and", true},
		{"place", executor.Trial{Program: with(func(p *ir.Program) { step(p, 1).Dst.Off = 3 }), Topology: top}, "rank 1 threadblock 0 step 1 (r): out of 2 chunks from 3 on is outside the 2 there are", false},
		{"stride", executor.Trial{Program: with(func(p *ir.Program) { step(p, 1).Dst.Stride = 4 }), Topology: top}, "outside the 2", false},
		{"scratch", executor.Trial{Program: with(func(p *ir.Program) { step(p, 0).Src.Buf = collective.Scratch }), Topology: top}, "outside the 0", false},
		{"count", executor.Trial{Program: with(func(p *ir.Program) { step(p, 0).Count = 0 }), Topology: top}, "moves 0 chunks", false},
		{"unlike", executor.Trial{Program: with(func(p *ir.Program) { step(p, 0).Count = 1 }), Topology: top}, "message 0 from rank 1 to rank 0 on channel 0 has 1 chunks, and 2 are received", false},
		{"unsent", executor.Trial{Program: with(func(p *ir.Program) { *step(p, 0) = ir.Step{} }), Topology: top}, "rank 1 sends 0 times to rank 0", false},
		{"peer", executor.Trial{Program: with(func(p *ir.Program) { p.GPUs[1].Threadblocks[0].Send = 1 }), Topology: top}, "has rank 1 for a peer", false},
		{"no peer", executor.Trial{Program: with(func(p *ir.Program) { p.GPUs[1].Threadblocks[0].Send = -1 }), Topology: top}, "its threadblock has no peer to send to", false},
		{"dependency", executor.Trial{Program: with(func(p *ir.Program) { step(p, 0).Deps = []ir.Dep{{TB: 1}} }), Topology: top}, "waits for threadblock 1", false},
	} {
		_, err := New().Run(context.Background(), c.trial)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, executor.ErrUnsupported) != c.unsupported {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	t.Setenv(memoryVariable, "1K")
	if _, err := New().Run(context.Background(), executor.Trial{Program: exchange(1), Topology: top, Bytes: 4096}); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "1K are free") {
		t.Errorf("memory of 1K: %v", err)
	}
}

// TestGivenUp: a trial ends with its context.
func TestGivenUp(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := New().Run(ctx, executor.Trial{Program: ring(t, 4, compiler.Options{}), Topology: system(t, "ring:4"), Bytes: 1 << 20, Iters: 1_000_000, Protocol: topologies.LL})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

// TestSizes goes through sizes from one element to tens of megabytes, odd ones
// included, with the tiles that the protocols really have.
func TestSizes(t *testing.T) {
	sizes := []int64{1, 4, 31, 4096, 100_003, 1<<20 + 4}
	dtypes, ops := []string{"f32", "bf16"}, []string{"sum"}
	if os.Getenv("COLLTUNE_LONG") != "" {
		sizes = append(sizes, 2, 3, 5, 64, 1000, 65_537, 1<<24, 48<<20+4, 64<<20)
		dtypes, ops = collective.DTypes(), data.Operations()
	}
	p := ring(t, 4, compiler.Options{Instances: 2})
	top := system(t, "ring:4")
	for _, d := range dtypes {
		t.Run(d, func(t *testing.T) {
			for _, n := range sizes {
				for _, proto := range topologies.AllProtocols {
					for _, op := range ops {
						m, err := New().Run(context.Background(), executor.Trial{Program: p, Topology: top, Bytes: n, Protocol: proto, DType: d, Op: op})
						if err != nil || m.Wrong != 0 {
							t.Errorf("%d bytes %v %s %s: %d wrong, %v", n, proto, d, op, m.Wrong, err)
						}
					}
				}
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	d, err := New().Describe(context.Background())
	if err != nil || d.Name != "cpu" || d.Deterministic || len(d.DTypes) != 10 || len(d.Operations) != 5 || len(d.Protocols) != 3 || d.Fingerprint["cpu"] == "" || d.Fingerprint["cores"] == "" {
		t.Errorf("%+v, %v", d, err)
	}
}
