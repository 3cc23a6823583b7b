package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/nics"
	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/trees"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// openHoles lists the holes of a family that have no value yet.
func openHoles(f *templates.Family, p script.Params) (open []script.Parameter) {
	for _, h := range f.Holes() {
		if holeFillers[h.Hole] != nil && p[h.Name] == nil {
			open = append(open, h)
		}
	}
	return open
}

// holeFillers fill the kinds of holes that a family cannot do without. They return nil
// if the family should explain why it does not apply.
var holeFillers = map[string]func(cmd *cobra.Command, t *topologies.Topology, q script.Request, p script.Params) ([][]int, error){
	script.HoleRings:     solveRings,
	script.HoleNodeRings: solveNodeRings,
	script.HoleTrees:     findTrees,
	script.HoleNICs:      chooseNICs,
}

// fillHole returns a value for a hole, nil if the filler has none, or a nothingError if
// none exists.
func fillHole(cmd *cobra.Command, t *topologies.Topology, q script.Request, hole script.Parameter, p script.Params) (any, error) {
	value, err := holeFillers[hole.Hole](cmd, t, q, p)
	var noRing *rings.NoRingError
	var noTrees *trees.NoTreesError
	var noNIC *nics.NoNICError
	if errors.As(err, &noRing) || errors.As(err, &noTrees) || errors.As(err, &noNIC) {
		return nil, &nothingError{err}
	}
	if err != nil || value == nil {
		return nil, err
	}
	return value, nil
}

// countParam returns the value of a parameter that is a number, 1 without one.
func countParam(p script.Params, name string) int {
	if n, ok := p[name].(int); ok {
		return n
	}
	return 1
}

// solveRings finds ring orders over all ranks.
func solveRings(cmd *cobra.Command, t *topologies.Topology, _ script.Request, p script.Params) ([][]int, error) {
	s, err := solver.Open(solver.Options{Solver: flagValue(cmd, "solver"), MemoryCap: solverMemory(cmd), Notice: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	count := countParam(p, "rings")
	answer, err := rings.Find(cmd.Context(), s, t, rings.Options{Count: count})
	var none *rings.NoRingError
	if errors.As(err, &none) {
		if orders := rings.Sharing(cmd.Context(), t, count); orders != nil {
			return orders, nil
		}
	}
	return answer.Orders, err
}

// solveNodeRings finds ring orders within a node.
func solveNodeRings(cmd *cobra.Command, t *topologies.Topology, q script.Request, p script.Params) ([][]int, error) {
	if !equalNodes(t) {
		return nil, nil // the family's own message is better
	}
	return solveRings(cmd, t.Node(0), q, p)
}

// equalNodes reports whether all nodes have the same number of GPUs.
func equalNodes(t *topologies.Topology) bool {
	for node := range t.Nodes {
		if len(t.NodeRanks(node)) != len(t.NodeRanks(0)) {
			return false
		}
	}
	return true
}

// findTrees finds spanning trees over all ranks.
func findTrees(cmd *cobra.Command, t *topologies.Topology, q script.Request, p script.Params) ([][]int, error) {
	switch n := len(t.Ranks); {
	case n < 2:
		return nil, nil // the family's own message is better
	case n > trees.MaxDisjointRanks:
		return nil, &nothingError{fmt.Errorf("topology %s: finding trees for %d ranks takes too long: want at most %d ranks, or the trees as a parameter", t.Name, n, trees.MaxDisjointRanks)}
	}
	return program.Trees(cmd.Context(), t, q.Collective, q.Root, countParam(p, "trees"))
}

// chooseNICs chooses the GPUs that send through each NIC, unless each GPU's own NIC will
// do.
func chooseNICs(_ *cobra.Command, t *topologies.Topology, _ script.Request, _ script.Params) ([][]int, error) {
	if !equalNodes(t) {
		return nil, nil
	}
	chosen, err := nics.Choose(t)
	if err != nil || chosen.Own() {
		return nil, err
	}
	return chosen.Lists(), nil
}
