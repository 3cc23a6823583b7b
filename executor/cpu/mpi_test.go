package cpu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu/mpi/mpitest"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// launchedVariable tells a process that the tests launch what to run.
const launchedVariable = "COLLTUNE_EXECUTOR_TEST"

// TestMain is also the main of the processes that the tests launch: rank 0 runs trials,
// the others follow.
func TestMain(m *testing.M) {
	what := os.Getenv(launchedVariable)
	if what == "" {
		os.Exit(m.Run())
	}
	err := launched(what)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func launched(what string) error {
	if what == "allreduce" {
		return timeMPI()
	}
	if os.Getenv("OMPI_COMM_WORLD_RANK")+os.Getenv("PMI_RANK") != "0" {
		if what == "dies" {
			time.AfterFunc(2*time.Second, func() { os.Exit(3) })
		}
		return Follow()
	}
	e := New()
	var failed []string
	fail := func(format string, args ...any) { failed = append(failed, fmt.Sprintf(format, args...)) }
	d, err := e.Describe(context.Background())
	if err != nil {
		return err
	}
	fmt.Printf("%s processes, %s\n", d.Fingerprint["processes"], d.Fingerprint["mpi"])
	trials := 0
	for _, c := range programsOfAllKinds() {
		for i, n := range []int64{4, 1003, 200_000, 3 << 20} {
			for j, proto := range topologies.AllProtocols {
				if what != "whole" && n != []int64{1003, 200_000, 4}[j] {
					continue
				}
				trial := executor.Trial{
					Program: c, Topology: mustResolve(c.Ranks()), Bytes: n, Protocol: proto, Iters: 2, Warmup: 1, Seed: int64(i),
					DType: collective.DTypes()[(trials*7)%10], Op: data.Operations()[trials%5],
				}
				trials++
				here, err := machine{}.Run(context.Background(), trial)
				if err != nil || here.Wrong != 0 {
					fail("%s in one process: %+v, %v", name(c.Collective), here, err)
				}
				m, err := e.Run(context.Background(), trial)
				if err != nil || m.Wrong != 0 || !m.Checked || len(m.TimesUS) != 2 {
					fail("%s %d bytes %v %s %s: %+v, %v", name(c.Collective), n, proto, trial.DType, trial.Op, m, err)
				}
			}
		}
	}
	// What is wrong in one process is wrong in several, and neither harms what
	// comes next.
	p := programsOfAllKinds()[0]
	good := executor.Trial{Program: p, Topology: mustResolve(p.Ranks()), Bytes: 8192, Protocol: topologies.LL, Iters: 1}
	for range 2 {
		stuck := good
		stuck.Program = broken(func(s *ir.Step) { s.Deps = nil; s.Op = ir.Nop })
		if _, err := e.Run(context.Background(), stuck); err == nil {
			fail("a program without one of its messages was run")
		}
		stuck.Program = waiting()
		stuck.Topology = mustResolve(stuck.Program.Ranks())
		_, err := e.Run(context.Background(), stuck)
		if err == nil || !strings.Contains(err.Error(), "deadlock in iteration 0: rank 0 threadblock 0 tile 0 step 0 (r) waits for a message from rank 7 on channel 0; rank 1") {
			fail("a program that waits for itself: %v", err)
		}
		stuck.Program = partly()
		_, err = e.Run(context.Background(), stuck)
		if err == nil || !strings.HasPrefix(err.Error(), "deadlock in iteration 0: rank 5 threadblock 1 tile 0 step 0 (nop) waits for threadblock 2 step 0; rank 5 threadblock 2") {
			fail("a program of which a part waits for itself: %v", err)
		}
		wrong := good
		wrong.Program = broken(func(s *ir.Step) { s.Src.Off = 1 - min(s.Src.Off, 1) })
		if m, err := e.Run(context.Background(), wrong); err != nil || m.Wrong == 0 {
			fail("a wrong program: %+v, %v", m, err)
		}
		refused := good
		refused.Bytes = 1 << 45
		if _, err := e.Run(context.Background(), refused); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "of memory in this process") {
			fail("more than there is memory for: %v", err)
		}
		if m, err := e.Run(context.Background(), good); err != nil || m.Wrong != 0 {
			fail("a right program: %+v, %v", m, err)
		}
	}
	// A trial that is given up, at any moment, leaves nothing behind.
	long := good
	long.Iters, long.Bytes = 1_000_000, 30_000
	for _, after := range []time.Duration{0, time.Millisecond, 30 * time.Millisecond, 111 * time.Millisecond, 400 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		if _, err := e.Run(ctx, long); !errors.Is(err, context.DeadlineExceeded) {
			fail("given up after %v: %v", after, err)
		}
		cancel()
		if m, err := e.Run(context.Background(), good); err != nil || m.Wrong != 0 {
			fail("after one given up after %v: %+v, %v", after, m, err)
		}
		long.Protocol = (long.Protocol + 1) % 3
	}
	if what == "dies" {
		for {
			if _, err := e.Run(context.Background(), good); err != nil {
				return err
			}
		}
	}
	if err := e.(io.Closer).Close(); err != nil {
		return err
	}
	if len(failed) > 0 {
		return errors.New(strings.Join(failed, "\n"))
	}
	fmt.Printf("%d trials, all right\n", trials)
	return nil
}

func mustResolve(ranks int) *topologies.Topology {
	t, err := topologies.Resolve(fmt.Sprintf("fullmesh:%d", ranks), topologies.Options{})
	if err != nil {
		panic(err)
	}
	return t
}

// panics reports errors of building programs in a launched process, which has no
// testing.T.
type panics struct{ testing.TB }

func (panics) Helper()           {}
func (panics) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// programsOfAllKinds returns programs with several ranks a process, several channels,
// fused instructions and reductions, and no slots to spare.
func programsOfAllKinds() []*ir.Program {
	all := []*ir.Program{ring(panics{}, 8, compiler.Options{}), ring(panics{}, 11, compiler.Options{Instances: 2})}
	const ranks = 9
	all = append(all, traced(panics{}, collective.Spec{Name: "alltoall", Ranks: ranks, Chunks: 2}, compiler.Options{}, func(t *tracer) {
		for from := range ranks {
			for to := range ranks {
				t.copy(t.chunk(from, collective.In, to*2, 2), to, collective.Out, from*2, -1)
			}
		}
	}))
	return all
}

// broken is the first program with its first reduction changed.
func broken(edit func(*ir.Step)) *ir.Program {
	p := ring(panics{}, 8, compiler.Options{})
	steps := p.GPUs[3].Threadblocks[0].Steps
	for i := range steps {
		if steps[i].Op.ReadsSrc() && steps[i].Op.Receives() {
			edit(&steps[i])
			return p
		}
	}
	panic("no such step")
}

// waiting is a ring in which every rank receives first: a deadlock.
func waiting() *ir.Program {
	const ranks = 8
	p := &ir.Program{Collective: collective.Spec{Name: "alltonext", Ranks: ranks, Chunks: 1}}
	for r := range ranks {
		p.GPUs = append(p.GPUs, ir.GPU{Threadblocks: []ir.Threadblock{{
			Send: (r + 1) % ranks, Recv: (r + ranks - 1) % ranks, Steps: []ir.Step{
				{Op: ir.Recv, Count: 1, Dst: ir.Loc{Buf: collective.Out}},
				{Op: ir.Send, Count: 1},
			},
		}}})
	}
	return p
}

// partly is a correct program with two more threadblocks on one rank that wait for each
// other.
func partly() *ir.Program {
	p := ring(panics{}, 8, compiler.Options{})
	g := &p.GPUs[5]
	for other := range int32(2) {
		g.Threadblocks = append(g.Threadblocks, ir.Threadblock{Send: -1, Recv: -1, Steps: []ir.Step{
			{Op: ir.Nop, HasDep: true, Deps: []ir.Dep{{TB: 2 - other}}},
		}})
	}
	return p
}

// TestProcesses runs the same trials in one process and in eight.
func TestProcesses(t *testing.T) {
	what := "quick"
	if os.Getenv("COLLTUNE_LONG") != "" {
		what = "whole"
	}
	for _, l := range mpitest.Launchers {
		t.Run(l.Name, func(t *testing.T) {
			launch, err := l.Command(8)
			if err != nil {
				t.Skip(err)
			}
			cmd := exec.Command(launch[0], append(launch[1:], os.Args[0])...)
			cmd.Env = append(os.Environ(), launchedVariable+"="+what)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "8 processes, "+l.Says) || !strings.Contains(string(out), "all right") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestProcessDies: when one process ends, all others do.
func TestProcessDies(t *testing.T) {
	for _, l := range mpitest.Launchers {
		t.Run(l.Name, func(t *testing.T) {
			launch, err := l.Command(3)
			if err != nil {
				t.Skip(err)
			}
			cmd := exec.Command(launch[0], append(launch[1:], os.Args[0])...)
			cmd.Env = append(os.Environ(), launchedVariable+"=dies")
			ended := make(chan error, 1)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if err == nil {
					t.Error("a launch whose processes died ended well")
				}
			case <-time.After(5 * time.Minute):
				_ = cmd.Process.Kill()
				t.Error("a launch outlives one of its processes by minutes")
			}
		})
	}
}
