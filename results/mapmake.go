package results

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// CreateMap makes in dir the campaigns of a map, one for each plan, or goes on with those that
// are there, as Create does; a map that is there may have others besides, which are not opened.
// The list is on disk before the first is made, and says that all are made before CreateMap
// returns. Errors are Create's, with an *OtherPlanError also for the map's other campaigns, and
// a *MapError about what is in dir; after an error nothing that CreateMap made is left, or all
// that OpenMap needs to go on.
func CreateMap(dir string, plans []Plan) (*Map, error) {
	for _, p := range plans {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("plan of campaign %s: %w", MapMember(dir, p.Topology.Nodes), err)
		}
	}
	made := missingDirs(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("map's folder: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, planFile)); err == nil {
		return nil, &MapError{dir, "it is a campaign of one number of nodes: give another folder with --campaign"}
	}
	m, err := openMap(dir, true)
	if err != nil {
		removeDirs(made)
		return nil, err
	}
	m.createdDirs, m.new = made, len(m.list.nodes) == 0
	if err := m.create(plans); err != nil {
		return nil, errors.Join(err, m.Discard())
	}
	return m, nil
}

// create makes or opens the campaigns of plans. All that may be refused is, before anything is
// written.
func (m *Map) create(plans []Plan) error {
	next := m.list.with(plans)
	var absent []Plan
	asked := map[int]Plan{}
	for _, p := range plans {
		asked[p.Topology.Nodes] = p
		c, err := m.present(p)
		switch {
		case err != nil:
			return err
		case c == nil:
			absent = append(absent, p)
		default:
			m.campaigns = append(m.campaigns, c)
		}
		if c == nil || c.plan.Diff(p) != nil {
			next.unmade[p.Topology.Nodes] = p
		}
	}
	if err := m.checkOthers(plans); err != nil {
		return err
	}
	whole := m.listed && len(next.unmade) == 0 && slices.Equal(next.nodes, m.list.nodes)
	if !whole {
		if err := m.write(next); err != nil {
			return err
		}
	}
	for _, c := range m.campaigns {
		if err := c.adopt(asked[c.plan.Topology.Nodes]); err != nil {
			return err
		}
	}
	if whole {
		return nil
	}
	for _, p := range absent {
		c, err := m.make(p)
		if err != nil {
			return err
		}
		m.campaigns = append(m.campaigns, c)
	}
	slices.SortFunc(m.campaigns, func(a, b *Campaign) int { return a.plan.Topology.Nodes - b.plan.Topology.Nodes })
	made := mapList{next.nodes, maps.Clone(next.unmade)}
	for _, p := range plans {
		delete(made.unmade, p.Topology.Nodes)
	}
	return m.write(made)
}

// present opens a plan's campaign if it is there; nil: it is not. What stands in its place may
// be refused.
func (m *Map) present(p Plan) (*Campaign, error) {
	n := p.Topology.Nodes
	has, err := m.has(n)
	if err != nil {
		return nil, err
	}
	if has {
		c, err := m.member(n)
		if err != nil {
			return nil, err
		}
		if diff := c.plan.Diff(p); diff != nil && !c.empty() {
			c.Close()
			return nil, &OtherPlanError{c.dir, diff}
		}
		return c, nil
	}
	if folder, err := m.folder.OpenRoot(MapMember("", n)); err == nil {
		defer folder.Close()
		if err := refuseForeign(folder); err != nil {
			return nil, err
		}
	}
	if _, planned := m.list.unmade[n]; slices.Contains(m.list.nodes, n) && !planned {
		m.remark("%s was missing, and is made anew", MapMember(m.dir, n))
	}
	return nil, nil
}

// checkOthers returns an error if the plans are not of the search of the map's other campaigns.
func (m *Map) checkOthers(plans []Plan) error {
	for _, n := range m.list.nodes {
		if slices.ContainsFunc(plans, func(p Plan) bool { return p.Topology.Nodes == n }) {
			continue
		}
		other, err := m.planIn(MapMember("", n))
		if err != nil {
			continue // whoever opens it says so
		}
		if diff := other.anyNodes().differ(plans[0].anyNodes(), "there", "asked for"); diff != nil {
			return &OtherPlanError{MapMember(m.dir, n), diff}
		}
		return nil
	}
	return nil
}

// Leave takes a campaign in which nothing was measured out of the map, for whose number of
// nodes there is nothing to search. The last takes the map along. One with trials stays.
func (m *Map) Leave(c *Campaign) error {
	if !c.empty() {
		return nil
	}
	rest := m.list.without(c.plan.Topology.Nodes)
	if len(rest.nodes) > 0 {
		if err := m.write(rest); err != nil {
			return err
		}
	} else if err := removeFiles(m.folder, mapFile); err != nil {
		return err
	}
	m.campaigns = slices.DeleteFunc(m.campaigns, func(other *Campaign) bool { return other == c })
	err := c.Remove()
	if len(rest.nodes) == 0 {
		err = errors.Join(err, m.removeFolder())
	}
	return err
}

// Discard closes a map. If CreateMap has just made all of it and no candidates are known nor
// anything measured in any of its campaigns, all go, and so do the folders made for them;
// otherwise all stay. The error is that of closing or removing them.
func (m *Map) Discard() error {
	if !m.new || slices.ContainsFunc(m.campaigns, func(c *Campaign) bool { return !c.new || c.enumerated || !c.empty() }) {
		return m.Close()
	}
	if m.listed {
		// Until the last has gone, the list says that those which have are to be made.
		unmade := m.list.with(nil)
		for _, c := range m.campaigns {
			unmade.unmade[c.plan.Topology.Nodes] = c.plan
		}
		if len(unmade.unmade) > len(m.list.unmade) {
			if err := m.write(unmade); err != nil {
				return errors.Join(err, m.Close())
			}
		}
	}
	var err error
	for _, c := range slices.Backward(m.campaigns) {
		err = errors.Join(err, c.Remove())
	}
	if err == nil {
		err = removeFiles(m.folder, mapFile)
	}
	if err != nil {
		return errors.Join(err, m.Close())
	}
	return errors.Join(m.removeFolder(), m.Close())
}

// removeFolder removes what is left of a map without a list.
func (m *Map) removeFolder() error {
	made := m.createdDirs
	if len(made) == 0 {
		made = []string{m.dir}
	}
	same, _ := m.inPlace()
	err := removeFiles(m.folder, lockFile)
	if same {
		removeDirs(made)
	}
	return err
}
