package results

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/tomlfile"
)

// MapSchema names the form of map.toml.
const MapSchema = "colltune.map/v1"

// mapFile lists the campaigns of a map. It is written before the first of them is made, with
// the plans of those to make, and again without the plans once all are made. So a campaign
// that is listed and not there is still to be made if its plan is there, and lost if not.
const mapFile = "map.toml"

type mapList struct {
	nodes  []int        // rising: nodes-N for each
	unmade map[int]Plan // of campaigns still to be made, by nodes
}

// mapDocument is its form, with a checksum of all lines after the first.
//
//	sum = "0123456789abcdef"
type mapDocument struct {
	Sum    string       `toml:"sum"`
	Schema string       `toml:"schema"`
	Nodes  []int        `toml:"nodes"`
	Unmade []unmadePlan `toml:"unmade"`
}

type unmadePlan struct {
	Plan string `toml:"plan"` // campaign.toml
}

// with returns the list with the plans' numbers of nodes besides.
func (l mapList) with(plans []Plan) mapList {
	l.nodes, l.unmade = slices.Clone(l.nodes), maps.Clone(l.unmade)
	for _, p := range plans {
		l.nodes = append(l.nodes, p.Topology.Nodes)
	}
	slices.Sort(l.nodes)
	l.nodes = slices.Compact(l.nodes)
	if l.unmade == nil {
		l.unmade = map[int]Plan{}
	}
	return l
}

// without returns the list without a number of nodes.
func (l mapList) without(nodes int) mapList {
	l.nodes, l.unmade = slices.DeleteFunc(slices.Clone(l.nodes), func(n int) bool { return n == nodes }), maps.Clone(l.unmade)
	delete(l.unmade, nodes)
	return l
}

func (l mapList) encode() []byte {
	var b strings.Builder
	b.WriteString("# A colltune map: its numbers of nodes, each a campaign in nodes-N. `colltune resume` goes on with it.\n")
	fmt.Fprintf(&b, "schema = %s\nnodes = %s\n", tomlString(MapSchema), tomlNumbers(l.nodes))
	for _, n := range slices.Sorted(maps.Keys(l.unmade)) {
		fmt.Fprintf(&b, "\n# A campaign that is still to be made.\n[[unmade]]\nplan = %s\n", tomlString(string(l.unmade[n].encode())))
	}
	return append([]byte(sumLine(b.String())), b.String()...)
}

// sumLine is the first line of map.toml, of the text after it.
func sumLine(text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("sum = %q\n", truncatedSum(sum[:]))
}

// readMapList reads map.toml. The error wraps fs.ErrNotExist if there is none, and is a
// *LineError if it was changed.
func readMapList(folder *os.Root) (mapList, error) {
	text, err := readLimited(folder, mapFile)
	if err != nil {
		return mapList{}, err
	}
	l, err := parseMapList(string(text))
	if err != nil {
		return mapList{}, &LineError{mapFile, 0, err.Error()}
	}
	return l, nil
}

// errListChanged says what to do without the list.
var errListChanged = errors.New("line 1: its checksum does not match, so it was changed: put it back, or remove it if the folder has all campaigns of the map")

func parseMapList(text string) (l mapList, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if first+"\n" != sumLine(rest) {
		return l, errListChanged
	}
	var d mapDocument
	meta, lines, err := tomlfile.Decode(text, &d)
	if err != nil {
		return l, err
	}
	if err := lines.CheckSchema(d.Schema, MapSchema); err != nil {
		return l, err
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return l, fmt.Errorf("line %d: unknown key %.80q", lines.Of(pathOf(unknown[0])), unknown[0].String())
	}
	l = mapList{d.Nodes, map[int]Plan{}}
	if len(l.nodes) == 0 || l.nodes[0] < 1 || !slices.IsSorted(l.nodes) || len(slices.Compact(slices.Clone(l.nodes))) < len(l.nodes) {
		return l, fmt.Errorf("line %d: nodes %.80s: want rising numbers from 1", lines.Of("nodes"), fmt.Sprint(l.nodes))
	}
	for i, u := range d.Unmade {
		p, err := parsePlan(u.Plan)
		if err == nil {
			err = p.check()
		}
		if err == nil && !slices.Contains(l.nodes, p.Topology.Nodes) {
			err = fmt.Errorf("of %d nodes: not listed", p.Topology.Nodes)
		}
		if err != nil {
			return l, fmt.Errorf("line %d: plan: %w", lines.Of(fmt.Sprintf("unmade[%d].plan", i)), err)
		}
		l.unmade[p.Topology.Nodes] = p.normal()
	}
	return l, nil
}

// foundMembers lists the numbers of nodes that a map's folder has campaigns for.
func foundMembers(folder *os.Root) (counts []int) {
	entries, _ := list(folder, ".")
	for _, e := range entries {
		text, ok := strings.CutPrefix(e.Name(), mapPrefix)
		n, err := strconv.Atoi(text)
		if !ok || e.Type().IsRegular() || err != nil || n < 1 || strconv.Itoa(n) != text {
			continue
		}
		if _, err := folder.Lstat(e.Name() + "/" + planFile); !errors.Is(err, fs.ErrNotExist) {
			counts = append(counts, n)
		}
	}
	slices.Sort(counts)
	return counts
}
