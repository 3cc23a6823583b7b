package script

import "fmt"

// The kinds of hole, each filled for the topology at hand. A value is some lists
// of numbers:
//
//	rings       0,1,2,3;0,2,1,3    cyclic orders of all ranks of the machine
//	node-rings  0,1,2,3            cyclic orders of the GPUs 0 … of a node
//	trees       -1,0,0,1;1,3,0,-1  the parent of every rank, -1 for the root
//	nics        1,1,3,3;0,0,2,2    by which GPU of a node each GPU sends to other
//	                               nodes, and by which it receives, if by another
const (
	HoleRings     = "rings"
	HoleNodeRings = "node-rings"
	HoleTrees     = "trees"
	HoleNICs      = "nics"
)

// holeKind is a row of the table of kinds.
type holeKind struct {
	kind    string
	declare string // the function by which a template declares one
	list    string // name for one list of a value
	accepts string
	counted string                 // the parameter that gives the number of lists
	ofNode  bool                   // lists are over the GPUs of a node, not of the machine
	most    int                    // limit on the number of lists; 0 means none
	check   func(list []int) error // judges a single list
	source  string                 // where values come from, in words
}

var holeKinds = []holeKind{
	{HoleRings, "ring_order", "ring", "rings of all ranks, as in 0,1,2,3;0,2,1,3", "rings", false, 0, permutation, "found for the topology"},
	{HoleNodeRings, "node_ring_order", "ring", "rings of a node's GPUs, as in 0,1,2,3;0,2,1,3", "rings", true, 0, permutation, "found for the topology"},
	{HoleTrees, "tree_parents", "tree", "trees of all ranks, each rank's parent or -1, as in -1,0,0,1;1,3,0,-1", "trees", false, 0, tree, "found for the topology"},
	{HoleNICs, "nic_choice", "choice", "by which GPU of its node each GPU sends, as in 0,0,2,2, and after a ; by which it receives, if by another", "", true, 2, choice, "found for the topology"},
}

// maxLists limits the number of lists that a parameter can ask for.
const maxLists = 64

// checkCounted reports a template that has a hole, and next to it a parameter
// which should give the number of lists but can't.
func checkCounted(parameters []Parameter) error {
	for _, hole := range parameters {
		k := kindOfHole(hole.Hole)
		if k == nil {
			continue
		}
		for _, p := range parameters {
			if p.Name == k.counted && !p.numbers(1, maxLists) {
				return fmt.Errorf("family: parameter %s says how many %ss are looked for as %s: want numbers from 1 to %d", p.Name, k.list, hole.Name, maxLists)
			}
		}
	}
	return nil
}

func (p Parameter) numbers(least, most int) bool {
	if p.Hole != "" {
		return false
	}
	if p.Values == nil {
		return p.Min >= least && p.Max <= most
	}
	for _, v := range p.Values {
		if n, ok := v.(int); !ok || n < least || n > most {
			return false
		}
	}
	return true
}

// kindOfHole returns the row of a kind; nil for a parameter that is not a hole.
func kindOfHole(kind string) *holeKind {
	for i := range holeKinds {
		if holeKinds[i].kind == kind {
			return &holeKinds[i]
		}
	}
	return nil
}

// Source says in words where the value of a hole comes from.
func (p Parameter) Source() string { return kindOfHole(p.Hole).source }

// checkLists returns an error if lists are not a valid value for a hole of this
// kind.
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

// Mismatch says why a parameter's value does not fit a machine, if it does not:
// lists for more or fewer GPUs than there are.
func (p Parameter) Mismatch(value any, m Machine) string {
	lists, ok := value.([][]int)
	if !ok || p.Hole == "" {
		return ""
	}
	k, want, of := kindOfHole(p.Hole), m.Ranks(), "the machine"
	if k.ofNode {
		want, of = m.gpus(), "every node"
	}
	for _, list := range lists {
		if len(list) != want {
			return fmt.Sprintf("parameter %s has a %s of %d, for %d GPUs of %s", p.Name, k.list, len(list), want, of)
		}
	}
	return ""
}

// permutation returns an error if ring is not an order of 0 … len(ring)-1.
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

// tree returns an error if parents do not form a tree of 0 … len(parents)-1: each
// number's parent, or -1 for the one root.
func tree(parents []int) error {
	root := -1
	for r, above := range parents {
		switch {
		case above < -1 || above >= len(parents):
			return fmt.Errorf("a tree of %d has no %d", len(parents), above)
		case above == -1 && root >= 0:
			return fmt.Errorf("a tree has one root, -1, and both %d and %d are", root, r)
		case above == -1:
			root = r
		}
	}
	if root < 0 {
		return fmt.Errorf("a tree has a root, -1, and none is there")
	}
	for r := range parents {
		at := r
		for steps := 0; at != root; steps++ {
			if steps == len(parents) {
				return fmt.Errorf("%d hangs from itself in a tree", at)
			}
			at = parents[at]
		}
	}
	return nil
}

// choice returns an error if a list does not consist of GPUs 0 … len(carriers)-1.
func choice(carriers []int) error {
	for _, c := range carriers {
		if c < 0 || c >= len(carriers) {
			return fmt.Errorf("a node of %d GPUs has no %d", len(carriers), c)
		}
	}
	return nil
}
