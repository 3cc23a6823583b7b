package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
)

// NotOneMapError reports two campaigns that differ in more than their numbers of nodes.
type NotOneMapError struct {
	First, Other string   // folders
	Diff         []string // a line for each difference but the nodes
}

// Error lists the differences, a line each.
func (e *NotOneMapError) Error() string {
	return fmt.Sprintf("%s and %s differ in more than their nodes:\n  %s", e.First, e.Other, strings.Join(e.Diff, "\n  "))
}

// SortMap sorts campaigns by their numbers of nodes. The error is a *NotOneMapError if two
// have the same number, or differ in more than that and their sizes.
func SortMap(campaigns []*Campaign) error {
	slices.SortStableFunc(campaigns, func(a, b *Campaign) int {
		return cmp.Compare(a.plan.Topology.Nodes, b.plan.Topology.Nodes)
	})
	for i := 1; i < len(campaigns); i++ {
		first, before, c := campaigns[0], campaigns[i-1], campaigns[i]
		if n := c.plan.Topology.Nodes; n == before.plan.Topology.Nodes {
			return &NotOneMapError{before.dir, c.dir, []string{fmt.Sprintf("nodes: %d in both", n)}}
		}
		if diff := first.plan.anyNodes().differ(c.plan.anyNodes(), "in the first", "in the other"); diff != nil {
			return &NotOneMapError{first.dir, c.dir, diff}
		}
	}
	return nil
}

// anyNodes returns the plan without what depends on the number of nodes: nodes, ranks, the
// topology's hash, sizes, and the text of files of measured times. Counts are replaced by the
// name of their traffic.
func (p Plan) anyNodes() Plan {
	ranks := p.Topology.Ranks
	p.Topology.Nodes, p.Topology.Ranks, p.Topology.Hash, p.Sizes = 0, 0, "", nil
	p.Files = slices.Clone(p.Files)
	for i := range p.Files {
		switch f := &p.Files[i]; f.Kind {
		case "counts":
			if counts, err := collective.ParseCounts(f.Name, []byte(f.Text)); err == nil && len(counts) == collective.CountsOf(p.Collective, ranks) {
				f.Text = collective.TrafficName(p.Collective, counts)
			}
		case "baseline", "library", "learn-from":
			f.Text = ""
		}
	}
	return p
}

// MapCommand returns the command line that makes the plans, as Plan.Command does for one.
func MapCommand(plans []Plan) string {
	return commandOn(plans, lists.Map(plans, func(p Plan) int { return p.Topology.Nodes }))
}

// commandOn is the command line of a map of numbers of nodes, some of whose plans these are.
func commandOn(plans []Plan, nodes []int) string {
	all := plans[0]
	for _, p := range plans {
		all.Sizes = slices.Concat(all.Sizes, p.Sizes)
	}
	return all.command(joinInts(nodes))
}
