package constraints

import (
	"fmt"

	"github.com/colltune/colltune/topologies"
)

// CheckTree returns an error unless parents, by rank, form a spanning tree over existing links:
// there is one root, whose parent is -1, every rank is below it, and parent and
// child are linked in each direction in which data flow, down and up. It uses only
// the parents and the topology.
func CheckTree(t *topologies.Topology, parents []int, down, up bool) error {
	if len(parents) != len(t.Ranks) {
		return fmt.Errorf("tree of %d ranks: %s has %d", len(parents), t.Name, len(t.Ranks))
	}
	root := -1
	for r, parent := range parents {
		switch {
		case parent < -1 || parent >= len(parents):
			return fmt.Errorf("tree with rank %d below rank %d: %s has ranks 0 to %d", r, parent, t.Name, len(parents)-1)
		case parent == -1 && root >= 0:
			return fmt.Errorf("tree with two roots, ranks %d and %d", root, r)
		case parent == -1:
			root = r
		case down && !t.Linked(parent, r):
			return fmt.Errorf("tree from rank %d to rank %d: %s has no link between them", parent, r, t.Name)
		case up && !t.Linked(r, parent):
			return fmt.Errorf("tree from rank %d up to rank %d: %s has no link between them", r, parent, t.Name)
		}
	}
	for r := range parents {
		at := r
		for range parents {
			if at >= 0 {
				at = parents[at]
			}
		}
		if at >= 0 {
			return fmt.Errorf("tree in which rank %d hangs from no root", r)
		}
	}
	return nil
}

// CheckTrees checks each tree (parents by tree and rank) as CheckTree does. It also
// returns an error if together the trees use a link between two GPUs more often than it
// has physical links. Down and up are counted separately, because they are separate
// phases.
func CheckTrees(t *topologies.Topology, trees [][]int, down, up bool) error {
	for k, parents := range trees {
		if err := CheckTree(t, parents, down, up); err != nil {
			return fmt.Errorf("tree %d: %w", k, err)
		}
	}
	for _, way := range []struct{ asked, up bool }{{down, false}, {up, true}} {
		if !way.asked {
			continue
		}
		taken := make([]int, len(t.Edges))
		for k, parents := range trees {
			for child, parent := range parents {
				if parent < 0 {
					continue
				}
				from, to := parent, child
				if way.up {
					from, to = child, parent
				}
				path, _ := t.Path(from, to)
				if len(path.Edges) != 1 {
					continue // it goes through a switch or NIC, which trees share
				}
				e := path.Edges[0]
				if taken[e]++; taken[e] > t.Edges[e].Count {
					return fmt.Errorf("tree %d takes the link from rank %d to rank %d, which %d others have: it is %d",
						k, from, to, taken[e]-1, t.Edges[e].Count)
				}
			}
		}
	}
	return nil
}
