package rings

import (
	"fmt"
	"math"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// CheckOrder returns an error unless an order is a ring over existing links: it contains
// every rank once, each is linked to the next, and the last to the first. It uses only
// the order and the topology.
func CheckOrder(t *topologies.Topology, order []int) error {
	if len(order) != len(t.Ranks) {
		return fmt.Errorf("ring of %d ranks: %s has %d", len(order), t.Name, len(t.Ranks))
	}
	seen := make([]bool, len(order))
	for _, r := range order {
		switch {
		case r < 0 || r >= len(seen):
			return fmt.Errorf("ring through rank %d: %s has ranks 0 to %d", r, t.Name, len(seen)-1)
		case seen[r]:
			return fmt.Errorf("ring through rank %d twice", r)
		}
		seen[r] = true
	}
	for i, r := range order {
		next := order[(i+1)%len(order)]
		if r != next && !t.Linked(r, next) {
			return fmt.Errorf("ring from rank %d to rank %d: %s has no link between them", r, next, t.Name)
		}
	}
	return nil
}

// Check checks each order as CheckOrder does. It also returns an error if together
// they use a link between two GPUs more often than it has physical links.
func Check(t *topologies.Topology, orders [][]int) error {
	taken := make([]int, len(t.Edges))
	for k, order := range orders {
		if err := CheckOrder(t, order); err != nil {
			return fmt.Errorf("ring %d: %w", k, err)
		}
		for i, r := range order {
			path, _ := t.Path(r, order[(i+1)%len(order)])
			if len(path.Edges) != 1 {
				continue // it goes through a switch or NIC, which rings share
			}
			e := path.Edges[0]
			if taken[e]++; taken[e] > t.Edges[e].Count {
				return fmt.Errorf("ring %d takes the link from rank %d to rank %d, which %d others have: it is %d",
					k, t.Edges[e].From, t.Edges[e].To, taken[e]-1, t.Edges[e].Count)
			}
		}
	}
	return nil
}

// Width returns the bandwidth of the narrowest step of some rings, if all of them
// are used at once and every link is shared evenly by the steps that use it. It is 0
// if Check rejects them.
func Width(t *topologies.Topology, orders [][]int) units.Bandwidth {
	if len(orders) == 0 || Check(t, orders) != nil {
		return 0
	}
	taken := make([]int, len(t.Edges))
	for _, order := range orders {
		for i, r := range order {
			if path, ok := t.Path(r, order[(i+1)%len(order)]); ok {
				for _, e := range path.Edges {
					taken[e]++
				}
			}
		}
	}
	width := units.Bandwidth(math.MaxInt64)
	for e, n := range taken {
		if n > 0 {
			width = min(width, t.Edges[e].Bandwidth/units.Bandwidth(n))
		}
	}
	return width
}
