package workload

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/results/intervals"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// Vendor simulates the vendor's library (NCCL or RCCL), as its own cost model would have it
// choose, on the part of a system that a group has.
type Vendor struct {
	Context  context.Context
	System   string           // a topology, as topologies.Resolve reads it
	Memory   int64            // bytes that a call may need; 0: no limit
	Matrices map[string][]int // counts by the name of their traffic, as in Options
	Notice   func(string)     // told what no measurement supports; nil: nobody
	noticed  map[string]bool
	known    map[Kind][]libraries.Time
}

// Times is the simulated time, with the interval that measurements of such systems give it;
// none where the library's choice has no time here.
func (v *Vendor) Times(k Kind) ([]libraries.Time, error) {
	if times, known := v.known[k]; known {
		return times, nil
	}
	t, err := v.part(k)
	if err != nil {
		return nil, err
	}
	counts, err := v.counts(k)
	if err != nil {
		return nil, err
	}
	call := collective.Call{Collective: k.Collective, Counts: counts, Op: "sum", DType: cmp.Or(k.DType, "f32")}
	target := program.Target{Call: call, Topology: t, InPlace: collective.DefaultInPlace(k.Collective)}
	found, ok, err := library.Call(v.Context, target, k.Bytes, program.Options{Solver: "pb", Simulated: true, Memory: program.Memory(v.Memory)})
	if err != nil {
		return nil, err
	}
	if v.known == nil {
		v.known, v.noticed = map[Kind][]libraries.Time{}, map[string]bool{}
	}
	v.known[k] = nil
	if !ok {
		return nil, nil
	}
	time := simulated(k, t.Runtime, t.Name, found.Name, found.US)
	v.widen(&time, t, found.Name)
	v.known[k] = []libraries.Time{time}
	return v.known[k], nil
}

// counts are those of a kind's traffic.
func (v *Vendor) counts(k Kind) ([]int, error) {
	for _, counts := range v.Matrices {
		if collective.TrafficName(k.Collective, counts) == k.Traffic && len(counts) == collective.CountsOf(k.Collective, k.Ranks) {
			return counts, nil
		}
	}
	return collective.Traffic(k.Collective, k.Ranks, k.Traffic)
}

// part is the system as a group of ranks has it: some GPUs of each of its nodes.
func (v *Vendor) part(k Kind) (*topologies.Topology, error) {
	whole, err := topologies.Resolve(v.System, topologies.Options{Nodes: k.Nodes})
	if err != nil {
		return nil, err
	}
	each := len(whole.Ranks) / whole.Nodes
	n := k.Ranks / whole.Nodes
	if n*whole.Nodes != k.Ranks || n > each || n < 1 {
		return nil, fmt.Errorf("%s: %s has %d GPUs a node: want gpus_per_node = %d", k, v.System, each, each)
	}
	if n == each {
		return whole, nil
	}
	stride := max(1, min(k.Stride, each/n))
	gpus := make([]int, n)
	for i := range gpus {
		gpus[i] = i * stride
	}
	return topologies.Resolve(v.System, topologies.Options{Nodes: k.Nodes, GPUs: gpus})
}

// widen gives a time its interval.
func (v *Vendor) widen(time *libraries.Time, t *topologies.Topology, name string) {
	m := intervals.Model{Name: t.Name, System: intervals.SystemOf(t), Table: intervals.Shipped()}
	i, lacks := m.Library(name, time.Collective, time.Bytes)
	if lacks == "" {
		band := i.Scale(time.TimeUS)
		time.LowUS, time.HighUS = min(band[0], time.TimeUS), max(band[1], time.TimeUS)
	} else if !v.noticed[lacks] && v.Notice != nil {
		v.noticed[lacks] = true
		v.Notice("no measurement says how far simulated times may be off, so that they have no interval: " + lacks)
	}
}

// Simulate returns the sources of the libraries that are named: nccl or rccl, whichever the
// system has, and mpi.
func Simulate(v *Vendor, names []string) (sources Sources, err error) {
	t, err := topologies.Resolve(v.System, topologies.Options{})
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		switch name {
		case t.Runtime:
			sources = append(sources, v)
		case "mpi":
			s, err := ModelMPI(t.Name)
			if err != nil {
				return nil, err
			}
			sources = append(sources, s)
		default:
			return nil, fmt.Errorf("%.40q can't be simulated on %s: want %s", name, t.Name, strings.Join(slices.Compact([]string{t.Runtime, "mpi"}), " or "))
		}
	}
	return sources, nil
}
