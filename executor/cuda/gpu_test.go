package cuda

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// onGPU brings this machine's GPUs up, where they are asked for: `make test-gpu`.
func onGPU(t *testing.T) *gpus {
	t.Helper()
	if os.Getenv("COLLTUNE_GPU") == "" {
		t.Skip("COLLTUNE_GPU is not set")
	}
	g, err := openGPUs(defaults())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// late reports whether what is left of the tests' time is no more than it takes to
// write down what was seen: Go ends them without a word to them.
func late(t *testing.T) bool {
	at, limited := t.Deadline()
	return limited && time.Until(at) < 10*time.Second
}

// shapes are the machines that families are compiled for: 2, 4, 8 and 16 ranks.
var shapes = []struct{ nodes, gpus int }{{1, 2}, {1, 4}, {2, 2}, {1, 8}, {2, 4}, {2, 8}}

// familySizes are what each program is run with: an element, what divides nothing,
// messages of a line a thread, and larger ones.
var familySizes = []int64{4, 1003, 2048, 65536, 3 << 20}

// TestEveryFamilyOnGPU runs every family with every protocol, sizes that divide
// and that do not, types and reductions in turns.
func TestEveryFamilyOnGPU(t *testing.T) {
	for _, proto := range topologies.AllProtocols {
		t.Run(proto.String(), func(t *testing.T) { everyFamily(t, onGPU(t), proto, underWay()) })
	}
}

// restart is where a run of many programs begins, and the file that says which of
// them is under way: after one that ends the process another goes on behind it.
type restart struct {
	from int
	file string
}

func underWay() restart {
	from, _ := strconv.Atoi(os.Getenv("COLLTUNE_GPU_FROM"))
	return restart{from, os.Getenv("COLLTUNE_GPU_AT")}
}

// at says that a program is under way; through, that nothing is left to go on with.
func (p restart) at(t *testing.T, program int) {
	if p.file == "" {
		return
	}
	if err := os.WriteFile(p.file, []byte(strconv.Itoa(program)), 0o644); err != nil {
		t.Error(err)
	}
}

func (p restart) through() {
	if p.file != "" {
		_ = os.Remove(p.file)
	}
}

func everyFamily(t *testing.T, g *gpus, proto topologies.Proto, p restart) {
	lost, trials, programs := false, 0, 0
	defer func() { fmt.Printf("%v: %d programs of the families seen, %d trials\n", proto, programs, trials) }()
	for _, shape := range shapes {
		top := system(t, fmt.Sprintf("fullmesh:%d", shape.nodes*shape.gpus))
		for _, f := range families(t, shape.nodes, shape.gpus, proto) {
			if late(t) {
				p.through()
				t.Errorf("time is up: what follows program %d, on %dx%d, is not run", programs, shape.nodes, shape.gpus)
				return
			}
			first := programs*len(familySizes) + 3*int(proto) // so that one alone is as it is among the others
			if programs++; programs <= p.from {
				continue
			}
			p.at(t, programs-1)
			t.Run(f.name, func(t *testing.T) {
				defer func() {
					_, err := g.free(0)
					lost = driver.Fatal(err)
				}()
				for k, bytes := range familySizes {
					n := first + k + 1
					trials++
					trial := executor.Trial{
						Program: f.program, Topology: top, Bytes: bytes, Protocol: proto, TileBytes: 32 << 10,
						DType: collective.DTypes()[n%10], Op: data.Operations()[n/3%5], Iters: 2, Seed: int64(n),
					}
					right(t, g, trial)
				}
			})
			if lost {
				t.Errorf("program %d has lost the device to this process", programs-1)
				return
			}
		}
	}
	p.through()
}

// TestSampleOnGPU is a few small programs, for the sanitizer's tools, which take
// a hundred times as long.
func TestSampleOnGPU(t *testing.T) {
	g := onGPU(t)
	top := system(t, "fullmesh:4")
	for _, proto := range topologies.AllProtocols {
		for _, f := range families(t, 1, 4, proto) {
			if slices.Contains([]string{"ring/allreduce/1x4", "all-pairs/allreduce/1x4", "direct/alltoall/1x4"}, f.name) {
				for _, bytes := range []int64{10003, 1024} { // the second has small messages
					t.Run(fmt.Sprintf("%v/%s/%d", proto, f.name, bytes), func(t *testing.T) {
						right(t, g, executor.Trial{Program: f.program, Topology: top, Bytes: bytes, Protocol: proto, TileBytes: 1024, DType: "bf16", Op: "avg", Iters: 1, Seed: 1})
					})
				}
			}
		}
	}
}

// TestProfileOnGPU is the large program and the small one that a profiler looks
// into, which runs each kernel again and again.
func TestProfileOnGPU(t *testing.T) {
	g := onGPU(t)
	f := &figures{t: t, g: g}
	for name, trial := range map[string]executor.Trial{
		"large": {Program: f.variant("ring", "allgather", nil, 16), Topology: f.system(topologies.Simple, maxThreads), Bytes: 256 << 20, Protocol: topologies.Simple, TileBytes: 128 << 10},
		"small": {Program: f.variant("all-pairs", "allreduce", map[string]any{"phases": 1}, 1), Topology: f.system(topologies.LL, 128), Bytes: 1024, Protocol: topologies.LL},
	} {
		t.Run(name, func(t *testing.T) {
			trial.DType, trial.Op, trial.Iters = "f32", "sum", 1
			m := right(t, g, trial)
			fmt.Printf("%s: %v us, %s\n", name, m.TimesUS, m.Note)
		})
	}
}

// TestDeadlockOnGPU has the watchdog end a program, and the next one run.
func TestDeadlockOnGPU(t *testing.T) {
	g := onGPU(t)
	top := system(t, "fullmesh:2")
	for _, proto := range topologies.AllProtocols {
		p := pair()
		for r := range p.GPUs {
			steps := p.GPUs[r].Threadblocks[0].Steps
			steps[0], steps[1] = steps[1], steps[0]
		}
		trial := executor.Trial{Program: p, Topology: top, Bytes: 256, Protocol: proto, Iters: 1}
		if err := stuck(g, trial); err == nil {
			t.Errorf("%v: two ranks that both receive first came to an end", proto)
		} else {
			t.Log(err)
		}
		trial.Program = pair()
		right(t, g, trial)
	}
}
