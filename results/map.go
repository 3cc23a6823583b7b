package results

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// A map is the campaigns of one search over several numbers of nodes. Its folder holds a
// campaign's folder for each, and nothing of its own:
//
//	campaigns/frontier-map-allgather/
//	  nodes-1/campaign.toml …
//	  nodes-4/campaign.toml …

const mapPrefix = "nodes-"

// MapMember returns the folder of a number of nodes in a map's folder.
func MapMember(dir string, nodes int) string {
	return filepath.Join(dir, mapPrefix+strconv.Itoa(nodes))
}

// MapMembers lists the folders of the campaigns of the map in dir, by rising number of
// nodes; none if dir is a campaign or holds none. Opening it says what it is instead.
func MapMembers(dir string) (dirs []string) {
	if _, err := os.Lstat(filepath.Join(dir, planFile)); err == nil {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	var counts []int
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), mapPrefix)
		n, err := strconv.Atoi(text)
		if !ok || err != nil || n < 1 || strconv.Itoa(n) != text {
			continue
		}
		if _, err := os.Lstat(filepath.Join(dir, e.Name(), planFile)); err == nil {
			counts = append(counts, n)
		}
	}
	slices.Sort(counts)
	for _, n := range counts {
		dirs = append(dirs, MapMember(dir, n))
	}
	return dirs
}

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
	all := plans[0]
	var nodes []string
	for _, p := range plans {
		nodes = append(nodes, strconv.Itoa(p.Topology.Nodes))
		all.Sizes = slices.Concat(all.Sizes, p.Sizes)
	}
	return all.command(strings.Join(nodes, ","))
}
