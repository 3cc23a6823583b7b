package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/memory"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search"
)

// mapSearch is a map's search under way: a campaign for each number of nodes, searched one
// after another.
type mapSearch struct {
	dir     string
	opened  *results.Map
	members []*mapMember // by rising number of nodes
	schema  string       // NAME in colltune.NAME/v1
}

// mapMember is the campaign of a number of nodes.
type mapMember struct {
	request  *searchRequest
	campaign *results.Campaign
	done     bool // nothing is left to search
}

func (m *mapMember) nodes() int { return m.campaign.Plan().Topology.Nodes }

// searchMap makes all campaigns of a map, so that its folder knows their numbers of nodes
// from the beginning, and searches.
func searchMap(cmd *cobra.Command, all []*searchRequest) error {
	m := &mapSearch{dir: filepath.Dir(all[0].dir), schema: "search"}
	var err error
	if m.opened, err = results.CreateMap(m.dir, plansOf(all)); err != nil {
		sayResumable(cmd, m.dir, "")
		return err
	}
	defer m.opened.Close()
	printRemarks(cmd, m.opened)
	for i, c := range m.opened.Campaigns() {
		m.members = append(m.members, &mapMember{request: all[i], campaign: c})
	}
	return m.run(cmd)
}

func mapCommand(all []*searchRequest) string { return results.MapCommand(plansOf(all)) }

func plansOf(all []*searchRequest) []results.Plan {
	return lists.Map(all, func(r *searchRequest) results.Plan { return r.plan })
}

func (m *mapSearch) campaigns() []*results.Campaign {
	return lists.Map(m.members, func(one *mapMember) *results.Campaign { return one.campaign })
}

// sayResumable says how to go on with a map that an error has left behind, if it has.
func sayResumable(cmd *cobra.Command, dir, flags string) {
	if results.IsMap(dir) {
		fmt.Fprintf(cmd.ErrOrStderr(), "the map is kept; continue with: colltune resume %s%s\n", safe.Path(dir), flags)
	}
}

// run searches to the end, a limit of the whole map or an interrupt, and prints the joined
// table of the measurements so far.
func (m *mapSearch) run(cmd *cobra.Command) error {
	remembered := true
	for _, one := range m.members {
		remembered = rememberExecutor(cmd, one.campaign) && remembered
	}
	flags := executorFlagsAgain(cmd, remembered)
	err := m.search(cmd)
	if err != nil && !leavesResults(err) {
		err = errors.Join(err, m.opened.Discard())
		sayResumable(cmd, m.dir, flags)
		return err
	}
	rows, printed := printTable(cmd, m.schema, m.campaigns()...)
	if err != nil {
		return errors.Join(sayEnd(cmd, err, rows, "colltune resume "+safe.Path(m.dir)+flags), printed)
	}
	if printed == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "map: %s\n", m.dir)
	}
	return printed
}

// search searches the members in turn. Of a limit, each has an equal share of what those
// before it left, and those that need more go on as long as something is left. A number of
// nodes for which there is nothing leaves the map; if all are such, that is the error.
func (m *mapSearch) search(cmd *cobra.Command) error {
	var nothing, unanswered error
	given, err := runOptions(cmd)
	if err != nil {
		return err
	}
	left := search.NewShares(given)
	open := slices.DeleteFunc(slices.Clone(m.members), func(one *mapMember) bool { return one.done })
	for {
		var limited []*mapMember
		for i, one := range open {
			effort, err := runOptions(cmd) // executors of its own, which know one system
			if err != nil {
				return err
			}
			if !left.Share(&effort, len(open)-i) {
				limited = append(limited, one)
				continue
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s:\n", units.Count(one.nodes(), "node"))
			summary, err := searchCampaign(cmd, one.request, one.campaign, effort)
			left.Spent(summary.Trials)
			if err == nil {
				continue
			}
			if leavesResults(err) {
				sayUnfinished(cmd, one.request, summary)
			}
			switch {
			case cmd.Context().Err() != nil || as[*memory.Exceeded](err) || errors.Is(err, executor.ErrLost):
				return err
			case errors.Is(err, autotune.ErrLimit):
				limited = append(limited, one)
			case as[*autotune.UnansweredError](err):
				unanswered = cmp.Or(unanswered, ofNodes(true, one.nodes(), err))
			case as[*search.NothingFound](err):
				fmt.Fprintln(cmd.ErrOrStderr(), ofNodes(true, one.nodes(), err))
				nothing = cmp.Or(nothing, ofNodes(true, one.nodes(), err))
				if err := m.opened.Leave(one.campaign); err != nil {
					return err
				}
				m.members = slices.DeleteFunc(m.members, func(left *mapMember) bool { return !slices.Contains(m.opened.Campaigns(), left.campaign) })
			default:
				return ofNodes(true, one.nodes(), err)
			}
		}
		switch {
		case len(m.members) == 0:
			return nothing
		case len(limited) == 0:
			return unanswered
		}
		if err := left.Reached(); err != nil {
			return err
		}
		open = limited
	}
}
