package cuda

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

func system(t *testing.T, name string) *topologies.Topology {
	t.Helper()
	s, err := topologies.Resolve(name, topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// long reports whether the slow suites are asked for.
func long() bool { return os.Getenv("COLLTUNE_LONG") != "" }

// right runs a trial, and fails the test if an element is wrong.
func right(t *testing.T, m machine, trial executor.Trial) executor.Measurement {
	t.Helper()
	s := patient()
	if os.Getenv("COLLTUNE_GPU") != "" { // there a launch takes milliseconds, and what stands still must not take the others' time
		s.watchdog = 5 * time.Second
	}
	got, err := runTrial(context.Background(), m, s, trial)
	if err != nil {
		t.Fatal(err)
	}
	if got.Wrong != 0 || !got.Checked {
		t.Fatalf("%d bytes of %s: %d wrong elements (%s)", trial.Bytes, trial.DType, got.Wrong, got.Note)
	}
	return got
}

// patient are settings under which no watchdog ends what is right, however slow
// the machine; stuck, such that it soon ends what stands still.
func patient() settings {
	s := defaults()
	s.watchdog = maxWatchdog
	return s
}

// stuck runs a trial that stands still from its first launch on.
func stuck(m machine, trial executor.Trial) error {
	s := defaults()
	s.watchdog = 300 * time.Millisecond
	_, err := runTrial(context.Background(), m, s, trial)
	return err
}

// TestFamilies runs programs of every family on the host build: in the ordinary
// suite each with one protocol, in turns, in the long one with all.
func TestFamilies(t *testing.T) {
	testFamilies(t, "plain", 2)
}

// TestFamiliesUnderThreadSanitizer is the same under the thread sanitizer, which
// judges the memory ordering that the interpreter relies on.
func TestFamiliesUnderThreadSanitizer(t *testing.T) {
	if !long() {
		t.Skip("COLLTUNE_LONG is not set")
	}
	testFamilies(t, "thread", 2)
}

func testFamilies(t *testing.T, variant string, threads int) {
	top := system(t, "ring:4")
	for _, proto := range topologies.AllProtocols {
		m := newHostMachine(t, 1, threads, variant)
		for i, f := range families(t, 2, 2, proto) {
			if !long() && i%len(topologies.AllProtocols) != int(proto) {
				continue
			}
			t.Run(proto.String()+"/"+f.name, func(t *testing.T) {
				sizes := []int64{4, 64, 1002, 50000}
				if !long() {
					sizes = sizes[1:3]
				}
				for _, size := range sizes {
					right(t, m, executor.Trial{Program: f.program, Topology: top, Bytes: size, Protocol: proto, TileBytes: 2048, DType: "f32", Op: "sum", Iters: 1, Seed: 7})
				}
			})
		}
	}
}

// TestElementTypes runs every type and reduction through every protocol, at a
// size that leaves chunks and tiles uneven.
func TestElementTypes(t *testing.T) {
	top := system(t, "ring:4")
	programs := map[string]*ir.Program{}
	for _, f := range families(t, 2, 2, topologies.Simple) {
		programs[f.name] = f.program
	}
	for i, dtype := range collective.DTypes() {
		if !long() && dtype != "f16" && dtype != "i8" {
			continue
		}
		t.Run(dtype, func(t *testing.T) {
			m := newHostMachine(t, 1, 3, "plain")
			for _, op := range data.Operations() {
				for _, name := range []string{"ring/allreduce/2x2", "hierarchical/allreduce/2x2", "all-pairs/reducescatter/2x2/in-place"} {
					proto := topologies.AllProtocols[i%3]
					i++
					right(t, m, executor.Trial{Program: programs[name], Topology: top, Bytes: 5010, Protocol: proto, TileBytes: 256, DType: dtype, Op: op, Iters: 1, Seed: int64(i)})
				}
			}
		})
	}
}

// draws lets rapid make n checks in the test, and as many as ever in the long suite.
func draws(t *testing.T, n int) {
	t.Helper()
	if long() {
		return
	}
	checks := flag.Lookup("rapid.checks")
	before := checks.Value.String()
	if err := checks.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(before) })
}

// TestAnySettings draws programs and settings: sizes that divide nothing, tiles
// of a few elements, any number of threads and devices.
func TestAnySettings(t *testing.T) {
	draws(t, 20)
	top := system(t, "ring:6")
	programs := map[topologies.Proto][]family{}
	for _, proto := range topologies.AllProtocols {
		programs[proto] = append(instances(t, 2, 3, proto, 2), families(t, 1, 6, proto)...)
	}
	machines := map[[3]int]*hostMachine{}
	rapid.Check(t, func(r *rapid.T) {
		proto := rapid.SampledFrom(topologies.AllProtocols[:]).Draw(r, "protocol")
		f := rapid.SampledFrom(programs[proto]).Draw(r, "program")
		which := [3]int{rapid.IntRange(1, 3).Draw(r, "devices"), rapid.IntRange(1, 3).Draw(r, "threads")}
		if machines[which] == nil {
			machines[which] = newHostMachine(t, which[0], which[1], "plain")
		}
		trial := executor.Trial{
			Program: f.program, Topology: top, Protocol: proto, DType: "f32",
			Bytes:     rapid.Int64Range(1, 9000).Draw(r, "bytes"),
			TileBytes: rapid.Int64Range(4, 700).Draw(r, "tile"),
			Op:        rapid.SampledFrom(data.Operations()).Draw(r, "operation"),
			Seed:      rapid.Int64().Draw(r, "seed"),
			Iters:     1,
		}
		got, err := runTrial(context.Background(), machines[which], patient(), trial)
		if err != nil || got.Wrong != 0 {
			r.Fatalf("%s: %d wrong, %v", f.name, got.Wrong, err)
		}
	})
}

// TestSeveralDevices runs ranks on devices of their own, two a device, and all
// on one: the same result, and a note that says which.
func TestSeveralDevices(t *testing.T) {
	top := system(t, "ring:4")
	all := families(t, 2, 2, topologies.Simple)
	for devices, want := range map[int]string{1: "ranks per device 4", 2: "ranks per device 2", 3: "ranks per device 2", 8: "ranks per device 1"} {
		m := newHostMachine(t, devices, 1, "plain")
		for i := devices; i < len(all); i += 9 {
			for _, proto := range topologies.AllProtocols {
				got := right(t, m, executor.Trial{Program: all[i].program, Topology: top, Bytes: 3000, Protocol: proto, TileBytes: 512, Iters: 2, Warmup: 1, Seed: 3})
				if !strings.HasPrefix(got.Note, want) || len(got.TimesUS) != 2 {
					t.Errorf("%s on %d devices: note %q, times %v", all[i].name, devices, got.Note, got.TimesUS)
				}
			}
		}
	}
}

// TestFewerThreads has blocks halved until all are resident, and refuses what
// does not fit even so.
func TestFewerThreads(t *testing.T) {
	top := system(t, "ring:4")
	f := families(t, 2, 2, topologies.LL)[0]
	m := newHostMachine(t, 1, 4, "plain")
	m.resident = 1
	_, err := runTrial(context.Background(), m, patient(), executor.Trial{Program: f.program, Topology: top, Bytes: 3000, Protocol: topologies.LL, Iters: 1})
	if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "threadblocks, and 1 of") {
		t.Errorf("got %v", err)
	}
	m.memory = 1 << 12
	m.resident = 1 << 10
	_, err = runTrial(context.Background(), m, patient(), executor.Trial{Program: f.program, Topology: top, Bytes: 3000, Protocol: topologies.LL, Iters: 1})
	if !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "4096 left") {
		t.Errorf("got %v", err)
	}
}

// pair is two ranks that send each other their buffer.
func pair() *ir.Program {
	gpu := func(peer int) ir.GPU {
		return ir.GPU{Threadblocks: []ir.Threadblock{{Send: peer, Recv: peer, Steps: []ir.Step{
			{Op: ir.Send, Count: 2},
			{Op: ir.Recv, Count: 2, Dst: ir.Loc{Buf: collective.Out}},
		}}}}
	}
	return &ir.Program{Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 2}, GPUs: []ir.GPU{gpu(1), gpu(0)}}
}

// TestWrongPrograms runs wrong programs: each is found by the check or by the watchdog.
func TestWrongPrograms(t *testing.T) {
	top := system(t, "ring:2")
	for _, tc := range []struct {
		name   string
		damage func(p *ir.Program)
		wrong  int64
		says   string
	}{
		{"right", func(*ir.Program) {}, 0, ""},
		{"chunks swapped", func(p *ir.Program) {
			p.GPUs[1].Threadblocks[0].Steps = []ir.Step{
				{Op: ir.Send, Count: 2},
				{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Out, Off: 1}},
				{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Out, Off: 0}},
			}
			p.GPUs[0].Threadblocks[0].Steps = []ir.Step{
				{Op: ir.Send, Count: 1},
				{Op: ir.Send, Count: 1, Src: ir.Loc{Off: 1}},
				{Op: ir.Recv, Count: 2, Dst: ir.Loc{Buf: collective.Out}},
			}
		}, 64, ""},
		{"half unwritten", func(p *ir.Program) {
			for r := range p.GPUs {
				for i := range p.GPUs[r].Threadblocks[0].Steps {
					p.GPUs[r].Threadblocks[0].Steps[i].Count = 1
				}
			}
		}, 64, ""},
		{"two that receive first", func(p *ir.Program) {
			for r := range p.GPUs {
				steps := p.GPUs[r].Threadblocks[0].Steps
				steps[0], steps[1] = steps[1], steps[0]
			}
		}, 0, "the program stands still: rank"},
		{"a dependency on oneself through another", func(p *ir.Program) {
			p.GPUs[0].Threadblocks = append(p.GPUs[0].Threadblocks, ir.Threadblock{Send: -1, Recv: -1, Steps: []ir.Step{
				{Op: ir.Nop, HasDep: true, Deps: []ir.Dep{{TB: 0, Step: 0}}},
			}})
			first := &p.GPUs[0].Threadblocks[0].Steps[0]
			first.HasDep, first.Deps = true, []ir.Dep{{TB: 1, Step: 0}}
		}, 0, "threadblock"},
		{"sends that nobody takes", func(p *ir.Program) {
			p.GPUs[0].Threadblocks[0].Steps = append(p.GPUs[0].Threadblocks[0].Steps, ir.Step{Op: ir.Send, Count: 1})
		}, 0, "sends 2 times, and rank 1 threadblock 0 receives 1 times"},
		{"outside its buffer", func(p *ir.Program) { p.GPUs[0].Threadblocks[0].Steps[0].Src.Off = 1 }, 0, "rank 0 threadblock 0 step 0: s: 2 chunks from 1 of in, which has 2"},
		{"a dependency on nobody", func(p *ir.Program) { p.GPUs[0].Threadblocks[0].Steps[0].Deps = []ir.Dep{{TB: -1}} }, 0, "waits for step 0 of threadblock -1, which does not exist"},
		{"a count without end", func(p *ir.Program) { p.GPUs[1].Threadblocks[0].Steps[1].Count = 1<<31 - 1 }, 0, "step 1: r: 2147483647 chunks from 0 of out, which has 2"},
	} {
		for _, proto := range topologies.AllProtocols {
			t.Run(tc.name+"/"+proto.String(), func(t *testing.T) {
				p := pair()
				tc.damage(p)
				m := newHostMachine(t, 1, 2, "plain")
				trial := executor.Trial{Program: p, Topology: top, Bytes: 256, Protocol: proto, TileBytes: 64, Iters: 1, Seed: 1}
				if tc.says != "" {
					if err := stuck(m, trial); err == nil || !strings.Contains(err.Error(), tc.says) {
						t.Fatalf("got %v, want one that says %q", err, tc.says)
					}
					return
				}
				got, err := runTrial(context.Background(), m, patient(), trial)
				if err != nil {
					t.Fatal(err)
				}
				if got.Wrong != tc.wrong {
					t.Errorf("%d elements wrong, want %d", got.Wrong, tc.wrong)
				}
			})
		}
	}
}

// TestStuckSaysWho: the watchdog's error names a threadblock and its event.
func TestStuckSaysWho(t *testing.T) {
	p := pair()
	for r := range p.GPUs {
		steps := p.GPUs[r].Threadblocks[0].Steps
		steps[0], steps[1] = steps[1], steps[0]
	}
	err := stuck(newHostMachine(t, 1, 2, "plain"), executor.Trial{Program: p, Topology: system(t, "ring:2"), Bytes: 256, Protocol: topologies.LL128, Iters: 1})
	var stuck *StuckError
	if !errors.As(err, &stuck) || stuck.Step != 0 || stuck.Threadblock != 0 || !strings.Contains(err.Error(), fmt.Sprintf("a message of rank %d", 1-stuck.Rank)) {
		t.Errorf("got %v", err)
	}
}

// relay is a program in which a message alone tells that a chunk may be read:
// rank 0 copies a chunk in one threadblock, sends another chunk round, and its
// second threadblock sends the first chunk on when that has come back.
func relay() *ir.Program {
	at := func(b collective.Buffer, i int32) ir.Loc { return ir.Loc{Buf: b, Off: i} }
	return &ir.Program{
		Collective: collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 2},
		GPUs: []ir.GPU{
			{Scratch: 3, Threadblocks: []ir.Threadblock{
				{Send: 1, Recv: -1, Steps: []ir.Step{
					{Op: ir.Copy, Count: 1, Src: at(collective.In, 0), Dst: at(collective.Scratch, 0)},
					{Op: ir.Send, Count: 1, Src: at(collective.In, 1)},
				}},
				{Send: 1, Recv: 1, Channel: 1, Steps: []ir.Step{
					{Op: ir.Recv, Count: 1, Dst: at(collective.Scratch, 1)},
					{Op: ir.Send, Count: 1, Src: at(collective.Scratch, 0)},
					{Op: ir.Recv, Count: 2, Dst: at(collective.Out, 0)},
				}},
			}},
			{Threadblocks: []ir.Threadblock{
				{Send: 0, Recv: 0, Channel: 1, Steps: []ir.Step{
					{Op: ir.Nop, Deps: []ir.Dep{{TB: 1, Step: 0}}},
					{Op: ir.Send, Count: 1, Src: at(collective.In, 0)},
					{Op: ir.Recv, Count: 1, Dst: at(collective.Out, 0)},
					{Op: ir.Send, Count: 2, Src: at(collective.In, 0)},
				}},
				{Send: -1, Recv: 0, Steps: []ir.Step{
					{Op: ir.Recv, Count: 1, Dst: at(collective.Out, 1), HasDep: true},
				}},
			}},
		},
	}
}

// TestMessagesThatOrder distinguishes programs that rely on the order of messages, and runs
// one with fences.
func TestMessagesThatOrder(t *testing.T) {
	if got := messagesOrder(pair()); got != unordered {
		t.Errorf("two ranks that swap buffers need nothing, got %d", got)
	}
	if got := messagesOrder(relay()); got != fenced {
		t.Errorf("the relay's second threadblock knows of the copy from a message alone, got %d", got)
	}
	for _, f := range families(t, 1, 4, topologies.LL) {
		want := map[string]order{
			"all-pairs/allreduce/1x4/in-place": readsBefore, // what is sent comes back reduced, in another threadblock
			"all-pairs/allreduce/1x4":          unordered,
			"ring/allreduce/1x4/in-place":      unordered,
			"direct/alltoall/1x4":              unordered,
		}
		if order, ok := want[f.name]; ok && messagesOrder(f.program) != order {
			t.Errorf("%s: %d, want %d", f.name, messagesOrder(f.program), order)
		}
	}
	variant := "plain"
	if long() {
		variant = "thread"
	}
	m := newHostMachine(t, 1, 2, variant)
	for _, proto := range topologies.AllProtocols {
		got := right(t, m, executor.Trial{Program: relay(), Topology: system(t, "ring:2"), Bytes: 4000, Protocol: proto, TileBytes: 512, Iters: 1})
		if fenced := strings.Contains(got.Note, "messages fenced"); fenced != (proto != topologies.Simple) {
			t.Errorf("%v: note %q", proto, got.Note)
		}
	}
}

// TestSanitizerSeesWhatFencesAreFor runs the relay without fences: the thread
// sanitizer must find the race, or it would find none elsewhere either. (On the
// host a line of LL128 orders more than on a GPU: it takes two stores there.)
func TestSanitizerSeesWhatFencesAreFor(t *testing.T) {
	if !long() {
		t.Skip("COLLTUNE_LONG is not set")
	}
	trial := executor.Trial{Program: relay(), Topology: system(t, "ring:2"), Bytes: 4000, Protocol: topologies.LL, TileBytes: 512, Iters: 1}
	p, err := newPlan(trial, 1)
	if err != nil {
		t.Fatal(err)
	}
	p.ordered = unordered
	m := newHostMachine(t, 1, 2, "thread")
	_, err = runPlan(context.Background(), m, patient(), trial, p)
	if said := m.say(); err == nil || !strings.Contains(said, "data race") {
		t.Errorf("the run gave %v, the sanitizer said %.200q", err, said)
	}
}
