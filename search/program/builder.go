package program

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// Target is what programs are for: a call of a collective on a system, in place or not.
type Target struct {
	collective.Call
	Topology *topologies.Topology
	InPlace  bool
}

// Placement is in or out, as tables and keys name it.
func Placement(inPlace bool) string {
	if inPlace {
		return "in"
	}
	return "out"
}

// over is the target's collective over the system's ranks, with one chunk in a unit.
func (t *Target) over() (collective.Collective, error) {
	return t.Over(len(t.Topology.Ranks), t.InPlace)
}

// Options are what flags fix of programs, and what building them may take.
type Options struct {
	Families []string // asked for by name: their programs may be of any size
	// RefuseMissingLinks makes a link that a program of a user's family lacks a refusal, not
	// an error.
	RefuseMissingLinks bool
	Parameters         map[string]string  // of families, that are fixed
	Channels           int                // fixes the parameter of that name; 0: any
	Instances          int                // fixes their number; 0: any
	Protocols          []topologies.Proto // none: all
	TileBytes          int64              // fixes the tile, in bytes; 0: any
	MaxSMs             int                // that a program may take of a GPU; 0: all
	Runtime            string             // that has to load and run programs; empty: none
	Simulated          bool               // programs are run by the simulator
	Memory             Memory
	Jobs               int           // programs at the same time; 0: one a CPU
	Solver             string        // auto, z3 or pb
	Timeout            time.Duration // of a solver's query; 0: the solvers' default
	Cache              *Cache        // nil: none
	Observer           Observer
}

func (o *Options) jobs() int {
	if o.Jobs < 1 {
		return runtime.NumCPU()
	}
	return o.Jobs
}

// instances are the numbers of instances of a whole program to try (GC3 5.1): 24, as of
// NCCL's rings on an A100, and powers of two, which divide the sizes that MSCCL's readers
// accept.
var instances = []int{1, 2, 4, 8, 16, 24, 32}

func (o *Options) instanceCounts() []int {
	if o.Instances > 0 {
		return []int{o.Instances}
	}
	return instances
}

// Fixed lists the parameters of a family that flags have fixed.
func (o *Options) Fixed(f *templates.Family) map[string]string {
	fixed := map[string]string{}
	for name, value := range o.Parameters {
		if Declares(f, name) {
			fixed[name] = value
		}
	}
	if o.Channels > 0 && Declares(f, "channels") {
		fixed["channels"] = strconv.Itoa(o.Channels)
	}
	return fixed
}

// Declares reports whether a family has a parameter.
func Declares(f *templates.Family, parameter string) bool {
	_, err := f.Parameter(parameter)
	return err == nil
}

// Builder builds programs for a target. Nothing changes it; what it finds on the way, the
// fillings of holes and the solvers, it finds once.
type Builder struct {
	target  Target
	options Options
	machine script.Machine
	solvers *solvers
	holes   *holes
	entries *entries
}

// New returns the builder of a target's programs. Close ends its solvers.
func New(t Target, o Options) *Builder {
	return newBuilder(t, o, &solvers{options: solver.Options{Solver: o.Solver, Timeout: o.Timeout, MemoryCap: o.Memory.Solver(), Notice: o.Observer.Say}})
}

func newBuilder(t Target, o Options, s *solvers) *Builder {
	return &Builder{target: t, options: o, machine: MachineOf(t.Topology), solvers: s, holes: newHoles(t, o.Families, s), entries: &entries{o.Cache, &t}}
}

// For returns the builder of another target's programs, with the same options and solvers,
// but without the cache.
func (b *Builder) For(t Target) *Builder {
	o := b.options
	o.Cache = nil
	return newBuilder(t, o, b.solvers)
}

// Target is what the programs are for.
func (b *Builder) Target() Target { return b.target }

// Whole reports whether an earlier run drafted and built all of the target, and SetWhole says so to
// later ones.
func (b *Builder) Whole() bool { return b.entries.isWhole() }
func (b *Builder) SetWhole()   { b.entries.setWhole() }

// MostOperations is how many operations a program may have that nobody asked for.
func (b *Builder) MostOperations() int64 { return min(MaxOperations, b.options.Memory.Operations()) }

// Close ends the solvers.
func (b *Builder) Close() { b.solvers.close() }

// Solvers opens the solvers, if they are not open, and tells the observer of them.
func (b *Builder) Solvers() (*solver.Pool, error) { return b.solvers.open() }

// solvers are opened when they are first asked for.
type solvers struct {
	options solver.Options
	mu      sync.Mutex
	pool    *solver.Pool
}

func (s *solvers) open() (*solver.Pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool != nil {
		return s.pool, nil
	}
	var err error
	s.pool, err = solver.Open(s.options)
	return s.pool, err
}

func (s *solvers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pool != nil {
		s.pool.Close()
	}
}

// MachineOf is the view of a topology that templates get.
func MachineOf(t *topologies.Topology) script.Machine {
	gpus := make([]int, t.Nodes)
	for n := range gpus {
		gpus[n] = len(t.NodeRanks(n))
	}
	return script.NewMachine(gpus, t.Linked)
}

// Request is the call that a template has to implement.
func (t *Target) Request() script.Request {
	return script.Request{Collective: t.Collective, Root: t.Root, InPlace: t.InPlace, Counts: t.Counts}
}

// Check refuses a target that makes no sense, or sizes in bytes that are none of its calls',
// before anything is built.
func (t *Target) Check(sizes []int64) error {
	c, err := t.over()
	if err != nil {
		return err
	}
	if len(t.Topology.Ranks) < 2 {
		return fmt.Errorf("%s over %d rank: want at least 2", t.Collective, len(t.Topology.Ranks))
	}
	if len(sizes) == 0 || !slices.IsSorted(sizes) || sizes[0] < 1 {
		return fmt.Errorf("sizes %v: want at least one, rising, from 1 byte up", sizes)
	}
	if least := t.leastBytes(c); sizes[0] < least {
		return fmt.Errorf("size %d: %s over %d ranks has at least %d bytes of %s", sizes[0], t.Collective, c.Ranks, least, t.DType)
	}
	return nil
}

// LeastBytes is the least size of a call: an element for each chunk. The error is about the
// call.
func (t *Target) LeastBytes() (int64, error) {
	c, err := t.over()
	if err != nil {
		return 0, err
	}
	return t.leastBytes(c), nil
}

func (t *Target) leastBytes(c collective.Collective) int64 {
	return t.ElemBytes() * int64(c.LoopChunks())
}

// Protocols lists the protocols to try a program with: its own, if it names one, otherwise those
// asked for.
func (b *Builder) Protocols(own string) []topologies.Proto {
	if proto, err := topologies.ParseProto(own); err == nil {
		return []topologies.Proto{proto}
	}
	if len(b.options.Protocols) > 0 {
		return b.options.Protocols
	}
	return b.target.Topology.HasProtocols()
}

// Tiles lists the tiles that a protocol is tried with, in bytes.
func (b *Builder) Tiles(c *topologies.Protocol) []units.Bytes {
	if b.options.TileBytes > 0 {
		return []units.Bytes{units.Bytes(b.options.TileBytes)}
	}
	return c.Tiles
}

// asked reports whether a family or construction was asked for by name.
func (o *Options) asked(name string) bool { return slices.Contains(o.Families, name) }

// Refuse returns the refusal of a candidate, and tells the observer.
func (b *Builder) Refuse(candidate string, reason Reason, detail string) Refusal {
	r := Refusal{candidate, reason, detail}
	b.options.Observer.Refuse(r)
	return r
}
