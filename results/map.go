package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
)

// A map is the campaigns of one search over several numbers of nodes. Its folder holds a
// campaign's folder for each, and the list of them:
//
//	campaigns/frontier-map-allgather/
//	  map.toml                the numbers of nodes; written first, whole
//	  nodes-1/campaign.toml …
//	  nodes-4/campaign.toml …
//	  lock                    held while a process writes; names it

const mapPrefix = "nodes-"

// MapMember returns the folder of a number of nodes in a map's folder.
func MapMember(dir string, nodes int) string {
	return filepath.Join(dir, mapPrefix+strconv.Itoa(nodes))
}

// MapError reports that a folder is not the map that it is to be: a campaign is missing, is a
// link, or is another's.
type MapError struct{ Dir, Msg string }

// Error names the folder.
func (e *MapError) Error() string { return fmt.Sprintf("map %s: %s", e.Dir, e.Msg) }

// Map is an open map.
type Map struct {
	dir         string
	folder      *os.Root // dir, held open: it may be moved
	lock        *os.File // nil: reading only
	listed      bool     // map.toml is there
	list        mapList
	campaigns   []*Campaign
	remarks     []string
	new         bool     // CreateMap found nothing of a map
	createdDirs []string // folders that it made, innermost first
}

// IsMap reports whether dir holds a map, as a list of campaigns or, of an earlier version, by
// its campaigns.
func IsMap(dir string) bool {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer folder.Close()
	if _, err := folder.Lstat(planFile); err == nil {
		return false
	}
	_, err = folder.Lstat(mapFile)
	return err == nil || len(foundMembers(folder)) > 0
}

// OpenMap opens the map in dir and all its campaigns for writing, and makes those that the
// process which was to make them did not come to. The error is a *MapError if the map is not
// whole, and otherwise Open's.
func OpenMap(dir string) (*Map, error) { return openWholeMap(dir, true) }

// OpenMapReadOnly reads the map in dir as it is now, as OpenReadOnly does a campaign. A
// campaign that is still to be made is a *MapError, too.
func OpenMapReadOnly(dir string) (*Map, error) { return openWholeMap(dir, false) }

func openWholeMap(dir string, write bool) (*Map, error) {
	m, err := openMap(dir, write)
	if err != nil {
		return nil, err
	}
	if err := m.openMembers(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// openMap opens a map's folder and reads its list; of an earlier version's map, the folder.
func openMap(dir string, write bool) (*Map, error) {
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", dir, err)
	}
	m := &Map{dir: dir, folder: folder}
	if write {
		m.lock, err = lock(folder)
	}
	if err == nil {
		m.list, err = readMapList(folder)
		m.listed = err == nil
	}
	found := foundMembers(folder)
	if errors.Is(err, fs.ErrNotExist) {
		m.list, err = mapList{nodes: found}, nil
	}
	if err != nil {
		m.Close()
		if as := (*LockedError)(nil); errors.As(err, &as) {
			return nil, err
		}
		return nil, fmt.Errorf("map %s: %w", dir, err)
	}
	for _, n := range found {
		if !slices.Contains(m.list.nodes, n) {
			m.remark("%s is left out: it is not of the map, which is of %s; a search of its number of nodes besides adds it", MapMember(dir, n), nodesText(m.list.nodes))
		}
	}
	if !m.listed && len(found) > 0 {
		how := "is written now"
		if !write {
			how = "is written by resume, or the same search"
		}
		m.remark("%s: warning: no %s lists its campaigns, as of an earlier version: those of %s are taken for all; the list %s", dir, mapFile, nodesText(found), how)
	}
	return m, nil
}

// openMembers opens all campaigns of the list, and makes those still to be made.
func (m *Map) openMembers() error {
	there := map[int]bool{}
	var lost, unmade []int
	for _, n := range m.list.nodes {
		_, planned := m.list.unmade[n]
		ok, err := m.has(n)
		switch {
		case err != nil:
			return err
		case !ok && !planned:
			lost = append(lost, n)
		case planned && m.lock == nil:
			unmade = append(unmade, n)
		}
		there[n] = ok
	}
	switch {
	case lost != nil:
		return m.lostError(lost)
	case unmade != nil:
		return &MapError{m.dir, fmt.Sprintf("%s: not made yet, since the search was ended before; make it with: colltune resume %s", membersText(unmade), safe.Path(m.dir))}
	}
	for _, n := range m.list.nodes {
		c, err := m.open(n, there[n])
		if err != nil {
			return err
		}
		m.campaigns = append(m.campaigns, c)
	}
	if m.lock == nil || m.listed && len(m.list.unmade) == 0 {
		return nil
	}
	return m.write(mapList{nodes: m.list.nodes})
}

// open opens a campaign of the list, or makes it.
func (m *Map) open(n int, there bool) (*Campaign, error) {
	plan, planned := m.list.unmade[n]
	if !there {
		m.remark("%s is made now: the search was ended before", MapMember(m.dir, n))
		return m.make(plan)
	}
	c, err := m.member(n)
	if err != nil {
		return nil, err
	}
	if planned {
		err = c.adopt(plan)
	} else if has := c.plan.Topology.Nodes; has != n {
		err = &MapError{m.dir, fmt.Sprintf("%s holds the campaign of %s: put its own back", filepath.Base(c.dir), units.Count(has, "node"))}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (m *Map) member(n int) (*Campaign, error) {
	folder, err := m.folder.OpenRoot(MapMember("", n))
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", m.dir, err)
	}
	return openFolder(folder, m.lock != nil)
}

// make makes a campaign of the map, in the folder that is held open.
func (m *Map) make(p Plan) (*Campaign, error) {
	dir := MapMember(m.dir, p.Topology.Nodes)
	name := filepath.Base(dir)
	err := m.folder.Mkdir(name, 0o755)
	made := err == nil
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("map %s: %w", m.dir, err)
	}
	folder, err := m.folder.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", m.dir, err)
	}
	c, err := create(folder, p)
	if made && err != nil {
		_ = m.folder.Remove(name)
	}
	if made && err == nil {
		c.createdDirs = []string{dir}
	}
	return c, err
}

// has reports whether a number of nodes has a campaign in the folder. The error is about what
// stands in its place.
func (m *Map) has(n int) (bool, error) {
	name := MapMember("", n)
	info, err := m.folder.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("map %s: %w", m.dir, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return false, &MapError{m.dir, name + " is a link: a map's campaigns are folders of its own: move the campaign there"}
	case !info.IsDir():
		return false, &MapError{m.dir, name + " is no folder: put the campaign there back"}
	}
	_, err = m.folder.Lstat(filepath.Join(name, planFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// lostError names campaigns that were made and are not there, and what makes them again.
func (m *Map) lostError(lost []int) error {
	text := membersText(lost) + ": missing, and the map is of " + nodesText(m.list.nodes) + ": put it back"
	var plans []Plan // of the others
	entries, _ := list(m.folder, ".")
	for _, e := range entries {
		p, err := m.planIn(e.Name())
		switch n := p.Topology.Nodes; {
		case err != nil:
		case e.Name() != MapMember("", n) && slices.Contains(lost, n):
			text += fmt.Sprintf(" (%s holds the campaign of %s)", safe.Path(filepath.Join(m.dir, e.Name())), units.Count(n, "node"))
		case e.Name() == MapMember("", n) && slices.Contains(m.list.nodes, n):
			plans = append(plans, p)
		}
	}
	for _, n := range lost {
		if _, err := m.folder.Lstat(MapMember("", n)); err == nil {
			text += fmt.Sprintf(", or remove what is left in %s", MapMember(m.dir, n))
		}
	}
	if len(plans) > 0 {
		text += fmt.Sprintf("; the search makes it anew: %s --campaign %s", commandOn(plans, m.list.nodes), safe.Path(m.dir))
	}
	return &MapError{m.dir, text}
}

// planIn reads the plan of the campaign in a folder of the map's.
func (m *Map) planIn(name string) (Plan, error) {
	folder, err := m.folder.OpenRoot(name)
	if err != nil {
		return Plan{}, err
	}
	defer folder.Close()
	text, err := readLimited(folder, planFile)
	if err != nil {
		return Plan{}, err
	}
	return parsePlan(string(text))
}

// write replaces the list.
func (m *Map) write(l mapList) error {
	text := l.encode()
	if len(text) > maxPlan {
		return &MapError{m.dir, fmt.Sprintf("its plans have more than %d bytes together: want shorter files", maxPlan)}
	}
	if err := writeWhole(m.folder, mapFile, text); err != nil {
		return fmt.Errorf("map %s: %w", m.dir, err)
	}
	m.list, m.listed = l, true
	same, err := m.inPlace()
	if err == nil && !same {
		err = &MovedError{m.dir, "the folder", ""}
	}
	return err
}

// inPlace reports whether the map's path still leads to the folder that is held open.
func (m *Map) inPlace() (bool, error) {
	return sameFile(func() (fs.FileInfo, error) { return os.Stat(m.dir) }, func() (fs.FileInfo, error) { return m.folder.Stat(".") })
}

// Campaigns lists the map's campaigns that were opened, by rising number of nodes.
func (m *Map) Campaigns() []*Campaign { return m.campaigns }

// Remarks returns notes on the map and its campaigns, a line each.
func (m *Map) Remarks() []string {
	lines := m.remarks
	for _, c := range m.campaigns {
		lines = append(lines, c.Remarks()...)
	}
	return lines
}

func (m *Map) remark(format string, args ...any) {
	m.remarks = append(m.remarks, fmt.Sprintf(format, args...))
}

// Close closes the campaigns and the folder, and releases its lock. Closing again does nothing.
func (m *Map) Close() (err error) {
	for _, c := range m.campaigns {
		err = errors.Join(err, c.Close())
	}
	if m.lock != nil {
		err = errors.Join(err, m.lock.Close())
		m.lock = nil
	}
	return errors.Join(err, m.folder.Close())
}

// membersText names the folders of numbers of nodes, but no more than anybody would read.
func membersText(nodes []int) string {
	var names []string
	for i, n := range nodes {
		if i == maxNamed {
			names = append(names, fmt.Sprintf("… (%d)", len(nodes)))
			break
		}
		names = append(names, MapMember("", n))
	}
	return strings.Join(names, ", ")
}

func nodesText(nodes []int) string {
	text := joinInts(nodes)
	if len(text) > 80 {
		text = text[:80] + "…"
	}
	if text == "1" {
		return "1 node"
	}
	return text + " nodes"
}

func joinInts(all []int) string {
	return strings.Join(lists.Map(all, strconv.Itoa), ",")
}
