package script

import (
	"errors"
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"github.com/colltune/colltune/compiler/collective"
)

// Machine is a topology as a template sees it. Ranks are numbered node by node:
// GPU g of node n is rank GPUsPerNode[0] + … + GPUsPerNode[n-1] + g.
type Machine struct {
	Nodes       int
	GPUsPerNode []int
	Linked      func(a, b int) bool // reports whether a can send to b; nil means that all can

	id     *machineID
	firsts []int // by node: the value of first; nil means that it is computed each time
}

// machineID tells machines apart. It has a size so that each has an address.
type machineID struct{ _ byte }

// NewMachine returns a machine with the given GPUs in each node, whose links a child
// process asks for once.
func NewMachine(gpusPerNode []int, linked func(a, b int) bool) Machine {
	return Machine{Nodes: len(gpusPerNode), GPUsPerNode: gpusPerNode, Linked: linked, id: &machineID{}}
}

// Even returns a machine of nodes nodes with gpus GPUs each, fully linked.
func Even(nodes, gpus int) Machine {
	return Machine{Nodes: nodes, GPUsPerNode: slices.Repeat([]int{gpus}, nodes)}
}

// Ranks returns the number of GPUs.
func (m Machine) Ranks() int {
	if last := len(m.firsts) - 1; last >= 0 {
		return m.firsts[last] + m.GPUsPerNode[last]
	}
	n := 0
	for _, g := range m.GPUsPerNode {
		n += g
	}
	return n
}

// gpus returns the number of GPUs in every node, or 0 if nodes differ.
func (m Machine) gpus() int {
	if first := m.GPUsPerNode[0]; !slices.ContainsFunc(m.GPUsPerNode, func(g int) bool { return g != first }) {
		return first
	}
	return 0
}

// first returns the rank of GPU 0 of a node.
func (m *Machine) first(node int) int {
	if m.firsts != nil {
		return m.firsts[node]
	}
	n := 0
	for _, g := range m.GPUsPerNode[:node] {
		n += g
	}
	return n
}

func (m Machine) check() error {
	if m.Nodes < 1 || m.Nodes != len(m.GPUsPerNode) {
		return fmt.Errorf("machine of %d nodes with GPU counts for %d: want one count a node", m.Nodes, len(m.GPUsPerNode))
	}
	for n, g := range m.GPUsPerNode {
		if g < 1 {
			return fmt.Errorf("node %d has %d GPUs: want at least 1", n, g)
		}
	}
	if r := m.Ranks(); r > maxRanks {
		return fmt.Errorf("machine of %d ranks: want at most %d", r, maxRanks)
	}
	return nil
}

func (m *Machine) rank(node, gpu int) (int, error) {
	if node < 0 || node >= m.Nodes {
		return 0, fmt.Errorf("(%d, %d): there are %d nodes", node, gpu, m.Nodes)
	}
	if gpu < 0 || gpu >= m.GPUsPerNode[node] {
		return 0, fmt.Errorf("(%d, %d): node %d has %d GPUs", node, gpu, node, m.GPUsPerNode[node])
	}
	return m.first(node) + gpu, nil
}

// numbered precomputes the first rank of each node, because programs ask for it
// with every chunk. The machine has been checked.
func (m Machine) numbered() Machine {
	m.firsts = make([]int, m.Nodes)
	for n, g := range m.GPUsPerNode[:m.Nodes-1] {
		m.firsts[n+1] = m.firsts[n] + g
	}
	return m
}

// Request is the call that a template should implement.
type Request struct {
	Collective string
	Root       int
	InPlace    bool
	Counts     []int // of a vector form, as in collective.Spec; nil means 1 each
	Sketch     bool  // the trace follows no values: see lang.NewSketch
	MaxOps     int   // limit on the program's operations, beyond which Trace returns an error that is Large; 0 means lang.MaxOps
	MaxPeers   int   // limit on the ranks that a rank sends to, beyond which it returns one with Peers; 0 means none
}

// topo returns the value named topo in a template: the machine and the request.
func topo(m Machine, q Request) starlark.Value {
	gpus := starlark.Value(starlark.None)
	if g := m.gpus(); g > 0 {
		gpus = starlark.MakeInt(g)
	}
	return starlarkstruct.FromStringDict(starlark.String("topo"), starlark.StringDict{
		"nodes":      starlark.MakeInt(m.Nodes),
		"gpus":       gpus,
		"ranks":      starlark.MakeInt(m.Ranks()),
		"collective": starlark.String(q.Collective),
		"root":       starlark.MakeInt(q.Root),
		"in_place":   starlark.Bool(q.InPlace),
		"counts":     q.counts(m.Ranks()),
		"node":       starlark.NewBuiltin("node", m.nodeRanks),
		"linked":     starlark.NewBuiltin("linked", m.linkedRanks),
		"unlinked":   starlark.NewBuiltin("unlinked", m.unlinkedRanks),
	})
}

// counts implements topo.counts: the counts of a vector form, by rank; for
// alltoallv a row for every sender; None where the collective has none.
func (q Request) counts(ranks int) starlark.Value {
	n := collective.CountsOf(q.Collective, ranks)
	if n == 0 {
		return starlark.None
	}
	at := func(i int) starlark.Value {
		if i < len(q.Counts) {
			return starlark.MakeInt(q.Counts[i])
		}
		return starlark.MakeInt(1)
	}
	if collective.Plain(q.Collective) != "alltoall" {
		return listOf(ranks, at)
	}
	return listOf(ranks, func(r int) starlark.Value {
		return listOf(ranks, func(i int) starlark.Value { return at(r*ranks + i) })
	})
}

// nodeRanks implements topo.node(n): the ranks of a node.
func (m *Machine) nodeRanks(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var n int
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "n", &n); err != nil {
		return nil, err
	}
	if _, err := m.rank(n, 0); err != nil {
		return nil, fmt.Errorf("node: %d: there are %d nodes", n, m.Nodes)
	}
	first := m.first(n)
	return listOf(m.GPUsPerNode[n], func(i int) starlark.Value { return starlark.MakeInt(first + i) }), nil
}

func listOf(n int, at func(i int) starlark.Value) *starlark.List {
	list := make([]starlark.Value, n)
	for i := range list {
		list[i] = at(i)
	}
	return starlark.NewList(list)
}

// linkedRanks implements topo.linked(a, b): whether rank a can send to rank b.
func (m *Machine) linkedRanks(_ *starlark.Thread, fn *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var from, to starlark.Value
	if len(args) == 2 && len(kwargs) == 0 { // the form that programs call millions of times
		from, to = args[0], args[1]
	} else if err := starlark.UnpackArgs(fn.Name(), args, kwargs, "a", &from, "b", &to); err != nil {
		return nil, err
	}
	a, err := m.rankOf("linked", from)
	if err != nil {
		return nil, err
	}
	b, err := m.rankOf("linked", to)
	if err != nil {
		return nil, err
	}
	return starlark.Bool(m.links(a, b)), nil
}

// rankOf reads a rank that there is, for the function fn.
func (m *Machine) rankOf(fn string, v starlark.Value) (int, error) {
	r, err := m.asRank(v)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", fn, err)
	}
	if r < 0 || r >= m.Ranks() {
		return 0, fmt.Errorf("%s: rank %d is out of range: there are %d ranks", fn, r, m.Ranks())
	}
	return r, nil
}

// unlinkedRanks implements topo.unlinked(among=None, pairs=None): the first pair of ranks
// (a, b) where a can't send to b, or None. With pairs, [(i, j), …], they are ranks i and j
// of a list. On a large machine this takes a fraction of the time a template would need to
// ask about every pair.
func (m *Machine) unlinkedRanks(th *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var among, pairs *starlark.List
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "among?", &among, "pairs?", &pairs); err != nil {
		return nil, err
	}
	if among != nil || pairs != nil {
		return m.unlinkedAmong(th, among, pairs)
	}
	ranks := m.Ranks()
	for from := range ranks {
		countSteps(th, ranks)
		for to := range ranks {
			if !m.links(from, to) {
				return starlark.Tuple{starlark.MakeInt(from), starlark.MakeInt(to)}, nil
			}
		}
	}
	return starlark.None, nil
}

// unlinkedAmong implements topo.unlinked for pairs of places in a list of ranks.
func (m *Machine) unlinkedAmong(th *starlark.Thread, among, pairs *starlark.List) (starlark.Value, error) {
	if among == nil || pairs == nil {
		return nil, errors.New("unlinked: want both a list of ranks and pairs of places in it, or neither")
	}
	ranks := make([]int, among.Len())
	for i := range ranks {
		var err error
		if ranks[i], err = m.rankOf("unlinked", among.Index(i)); err != nil {
			return nil, err
		}
	}
	countSteps(th, len(ranks)+pairs.Len())
	for i := range pairs.Len() {
		pair, ok := pairs.Index(i).(starlark.Tuple)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("unlinked: pairs[%d] is %s: want a pair of places in the list of ranks", i, kindOf(pairs.Index(i)))
		}
		from, err1 := starlark.AsInt32(pair[0])
		to, err2 := starlark.AsInt32(pair[1])
		if err1 != nil || err2 != nil || min(from, to) < 0 || max(from, to) >= len(ranks) {
			return nil, fmt.Errorf("unlinked: pairs[%d] is %s: want two places in a list of %d ranks", i, pair, len(ranks))
		}
		if !m.links(ranks[from], ranks[to]) {
			return starlark.Tuple{starlark.MakeInt(ranks[from]), starlark.MakeInt(ranks[to])}, nil
		}
	}
	return starlark.None, nil
}

// links reports whether rank a is b or can send to it.
func (m *Machine) links(a, b int) bool { return a == b || m.Linked == nil || m.Linked(a, b) }

// asRank reads a rank: a number, or a pair (node, gpu).
func (m *Machine) asRank(v starlark.Value) (int, error) {
	if pair, ok := v.(starlark.Tuple); ok && len(pair) == 2 {
		node, err1 := starlark.AsInt32(pair[0])
		gpu, err2 := starlark.AsInt32(pair[1])
		if err1 == nil && err2 == nil {
			return m.rank(node, gpu)
		}
	}
	r, err := starlark.AsInt32(v)
	if err != nil {
		return 0, fmt.Errorf("rank is %s", wantNumber(v, "a number or a pair (node, gpu)"))
	}
	return r, nil
}

// wantNumber returns an error text for a value that is not a number, or too
// large for one.
func wantNumber(v starlark.Value, want string) string {
	if _, is := v.(starlark.Int); is {
		return kindOf(v) + ": out of range"
	}
	return kindOf(v) + ": want " + want
}

// kindOf names a value's type and, where it is short, the value.
func kindOf(v starlark.Value) string {
	switch v := v.(type) {
	case starlark.NoneType:
		return "None"
	case starlark.Int, starlark.Float, starlark.Bool:
		if s := v.String(); len(s) < 24 {
			return s
		}
	case starlark.String:
		if len(v) < 40 {
			return v.String()
		}
	}
	return "a " + v.Type()
}
