package synth

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// Replay runs a schedule on the topology and checks the collective's postcondition. It
// shares no code with the search: the links of a send are those of the topology's path. It
// checks that
//
//   - each step has at least one round, all of them no more than q.Rounds
//   - a rank sends only items that it has before the step
//   - a link carries at most ⌊bandwidth ÷ unit⌋ chunks a round
//   - values that are combined have no contribution in common
//   - in the end every rank has what it wants
//
// unit is the bandwidth that carries one chunk a round. items[i] is what Send.Item = i
// refers to. The error names the step and rank.
func Replay(q Query, unit units.Bandwidth, items []Item, s Schedule) error {
	c, t := q.Collective, q.Topology
	n := c.Ranks
	if n != len(t.Ranks) {
		return fmt.Errorf("%d ranks on %s of %d: want as many", n, t.Name, len(t.Ranks))
	}
	if len(s) > q.Steps {
		return fmt.Errorf("%d steps: want at most %d", len(s), q.Steps)
	}
	if unit <= 0 {
		return fmt.Errorf("unit %v: want more than 0", unit)
	}
	held := initialContents(c, items)
	rounds := 0
	for i, step := range s {
		if step.Rounds < 1 {
			return fmt.Errorf("step %d has %d rounds: want at least 1", i, step.Rounds)
		}
		if rounds += step.Rounds; rounds > q.Rounds {
			return fmt.Errorf("more than %d rounds in %d steps", q.Rounds, i+1)
		}
		if err := checkCapacities(t, unit, i, step); err != nil {
			return err
		}
		if err := applyStep(held, n, len(items), i, step); err != nil {
			return err
		}
	}
	return checkPostcondition(c, items, held)
}

// Item is what a Send moves: input chunk Index of rank Source or, if Source is -1,
// the sum of input chunk Index over the ranks.
type Item struct{ Source, Index int }

// contents is a rank's value of an item: by rank, whether its contribution is included; nil
// if the rank has no value.
type contents []bool

func initialContents(c collective.Collective, items []Item) [][]contents {
	held := make([][]contents, c.Ranks)
	for r := range held {
		held[r] = make([]contents, len(items))
		for x, it := range items {
			if (it.Source == r || it.Source < 0) && it.Index >= 0 && it.Index < c.InChunks(r) {
				held[r][x] = make(contents, c.Ranks)
				held[r][x][r] = true
			}
		}
	}
	return held
}

// checkCapacities checks that every link's load is within its capacity.
func checkCapacities(t *topologies.Topology, unit units.Bandwidth, i int, step Step) error {
	load := map[int]int64{}
	for _, m := range step.Sends {
		path, ok := t.Path(m.From, m.To)
		if !ok {
			return fmt.Errorf("step %d: no link from rank %d to rank %d", i, m.From, m.To)
		}
		for _, e := range path.Edges {
			load[e]++
			if room := int64(t.Edges[e].Bandwidth) / int64(unit) * int64(step.Rounds); load[e] > room {
				return fmt.Errorf("step %d: more than %d chunks over the link on the way from rank %d to rank %d", i, room, m.From, m.To)
			}
		}
	}
	return nil
}

// applyStep moves a step's chunks. It reads everything before it writes anything.
func applyStep(held [][]contents, ranks, items, i int, step Step) error {
	read := make([]contents, len(step.Sends))
	for j, m := range step.Sends {
		if m.Item < 0 || m.Item >= items {
			return fmt.Errorf("step %d: chunk %d: want 0 to %d", i, m.Item, items-1)
		}
		if read[j] = held[m.From][m.Item]; read[j] == nil {
			return fmt.Errorf("step %d: rank %d sends chunk %d, which it does not have", i, m.From, m.Item)
		}
	}
	type place struct{ rank, item int }
	replaced := map[place]bool{}
	for j, m := range step.Sends {
		if !m.Reduce {
			if replaced[place{m.To, m.Item}] {
				return fmt.Errorf("step %d: rank %d gets chunk %d twice", i, m.To, m.Item)
			}
			replaced[place{m.To, m.Item}] = true
			held[m.To][m.Item] = read[j]
		}
	}
	for j, m := range step.Sends {
		if !m.Reduce {
			continue
		}
		if replaced[place{m.To, m.Item}] {
			return fmt.Errorf("step %d: rank %d has chunk %d both replaced and combined", i, m.To, m.Item)
		}
		old := held[m.To][m.Item]
		sum := make(contents, ranks)
		copy(sum, old)
		for r, in := range read[j] {
			if in && sum[r] {
				return fmt.Errorf("step %d: rank %d adds what rank %d contributes to chunk %d twice", i, m.To, r, m.Item)
			}
			sum[r] = sum[r] || in
		}
		held[m.To][m.Item] = sum
	}
	return nil
}

func checkPostcondition(c collective.Collective, items []Item, held [][]contents) error {
	number := map[Item]int{}
	for x, it := range items {
		number[it] = x
	}
	for r := range c.Ranks {
		for i := range c.OutChunks(r) {
			want := c.Want(r, i)
			it := Item{want.Rank, want.Index}
			switch want.Kind {
			case collective.WantNothing:
				continue
			case collective.WantReduction:
				it.Source = -1
			case collective.WantSum:
				return fmt.Errorf("%s: sums of some ranks are not replayed", c.Name)
			}
			x, ok := number[it]
			if !ok || held[r][x] == nil {
				return fmt.Errorf("output %d of rank %d is not there", i, r)
			}
			for from, in := range held[r][x] {
				if in != (it.Source < 0 || from == it.Source) {
					return fmt.Errorf("output %d of rank %d has not the right contribution of rank %d", i, r, from)
				}
			}
		}
	}
	return nil
}
