package workload

import (
	"fmt"

	"github.com/colltune/colltune/internal/units"
)

// Step is what the ranks of a job do once, in one or more programs: one where all ranks do
// the same, one a stage of a pipeline.
type Step struct {
	Name     string
	File     string
	Ranks    int
	Scaling  string // weak: the work grows with the ranks; strong: it does not; empty: not stated
	Kinds    []Kind // of calls, each once
	Calls    []Call
	Programs []Program
}

// Kind is what the time of a call depends on.
type Kind struct {
	Collective string
	Bytes      int64  // as nccl-tests counts them
	Ranks      int    // of the group
	Nodes      int    // that the group spans; 0: not stated
	DType      string // empty: not stated
	Traffic    string // of a vector form: balanced, skew:F, or a name; empty elsewhere
	SMs        string // that a library may use; empty: any
	Stride     int    // between the group's ranks; 1: neighbours
}

// String is the kind as errors and tables name it.
func (k Kind) String() string {
	s := fmt.Sprintf("%s of %s over %d ranks", k.Collective, units.Bytes(k.Bytes), k.Ranks)
	if k.Nodes > 0 {
		s += " of " + units.Count(k.Nodes, "node")
	}
	if k.Traffic != "" {
		s += ", " + k.Traffic
	}
	return s
}

// Call is one collective that a group of ranks makes together. Programs that name the same
// call meet in it.
type Call struct {
	Op        string // the name in the file
	Iteration int    // of its block, from 0
	Kind      int    // of Step.Kinds
	Line      int
	// Communicator names the group that makes it: a library's calls of one are made one
	// after another. Empty: of a pair alone, or not known.
	Communicator string
}

// Program is the ops of some ranks, in the order in which the host issues them.
type Program struct {
	Name string
	File string // of a trace; empty: the step's
	Ops  []Op
}

// Op is a call or a compute. It begins when the op before it on its stream and those of
// After have ended.
type Op struct {
	Name      string
	Iteration int
	Stream    string
	Call      int     // of Step.Calls; -1: a compute
	US        float64 // of a compute
	DelayUS   float64 // between the end of what it waits for and its begin, as recorded
	After     []int   // ops of the same program, which may be later ones
	Line      int
}

// kind returns the index of a kind, which is added if it is new.
func (s *Step) kind(known map[Kind]int, k Kind) int {
	i, there := known[k]
	if !there {
		i = len(s.Kinds)
		known[k] = i
		s.Kinds = append(s.Kinds, k)
	}
	return i
}

func (o *Op) isCall() bool { return o.Call >= 0 }

// title is an op's name, with its iteration where there are several.
func title(name string, iteration int) string {
	if iteration == 0 {
		return name
	}
	return fmt.Sprintf("%s@%d", name, iteration)
}

// ComputeUS is the time of the computes of the program that has most of it, in microseconds.
func (s *Step) ComputeUS() (most float64) {
	for i := range s.Programs {
		sum := 0.0
		for j := range s.Programs[i].Ops {
			sum += s.Programs[i].Ops[j].US
		}
		most = max(most, sum)
	}
	return most
}

func (p *Program) calls() (all []int) {
	for i := range p.Ops {
		if p.Ops[i].isCall() {
			all = append(all, p.Ops[i].Call)
		}
	}
	return all
}
