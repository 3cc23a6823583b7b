package script

import "fmt"

// The kinds of hole, each filled for the topology at hand. A value is some lists
// of numbers:
//
//	rings       0,1,2,3;0,2,1,3    cyclic orders of all ranks of the machine
//	node-rings  0,1,2,3            cyclic orders of the GPUs 0 … of a node
const (
	HoleRings     = "rings"
	HoleNodeRings = "node-rings"
)

// holeKind is a row of the table of them.
type holeKind struct {
	kind    string
	declare string // the function by which a template declares one
	list    string // what one list of a value is
	accepts string
	ofNode  bool                   // its lists are over a node's GPUs, not the machine's
	most    int                    // how many lists a value may have; 0: any number
	check   func(list []int) error // judges a list by itself
	found   string                 // where its value comes from
}

var holeKinds = []holeKind{
	{HoleRings, "ring_order", "ring", "rings of all ranks, as in 0,1,2,3;0,2,1,3", false, 0, permutation, "found by the solver"},
	{HoleNodeRings, "node_ring_order", "ring", "rings of a node's GPUs, as in 0,1,2,3;0,2,1,3", true, 0, permutation, "found by the solver"},
}

// kindOfHole is the row of a kind; what is no hole has none.
func kindOfHole(kind string) *holeKind {
	for i := range holeKinds {
		if holeKinds[i].kind == kind {
			return &holeKinds[i]
		}
	}
	return nil
}

// Found says in words where the value of a hole comes from.
func (p Parameter) Found() string { return kindOfHole(p.Hole).found }

// checkLists is an error where the lists are no value of a hole of this kind.
func (k *holeKind) checkLists(lists [][]int) error {
	if k.most > 0 && len(lists) > k.most {
		return fmt.Errorf("%d lists: want %s", len(lists), k.accepts)
	}
	for _, list := range lists {
		if err := k.check(list); err != nil {
			return err
		}
	}
	return nil
}

// misfit says why lists do not fit a machine, if so.
func (k *holeKind) misfit(lists [][]int, m *Machine) string {
	want, of := m.Ranks(), "the machine"
	if k.ofNode {
		want, of = m.gpus(), "every node"
	}
	for _, list := range lists {
		if len(list) != want {
			return fmt.Sprintf("a %s of %d, for %d GPUs of %s", k.list, len(list), want, of)
		}
	}
	return ""
}

// permutation is an error where ring is not some order of 0 … len(ring)-1.
func permutation(ring []int) error {
	seen := make([]bool, len(ring))
	for _, r := range ring {
		if r < 0 || r >= len(ring) {
			return fmt.Errorf("a ring of %d has no %d", len(ring), r)
		}
		if seen[r] {
			return fmt.Errorf("%d is twice in a ring", r)
		}
		seen[r] = true
	}
	return nil
}
