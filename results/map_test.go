package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/colltune/colltune/internal/filetest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// onNodes is a small plan on a number of nodes.
func onNodes(nodes int) results.Plan {
	p := resultstest.Plan()
	p.Topology.Nodes, p.Topology.Ranks = nodes, 4*nodes
	return p
}

// planned are small plans on numbers of nodes.
func planned(nodes ...int) (plans []results.Plan) {
	for _, n := range nodes {
		plans = append(plans, onNodes(n))
	}
	return plans
}

// mapIn makes a map of 1, 2 and 4 nodes, and returns its folder.
func mapIn(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "maps", "m")
	m, err := results.CreateMap(dir, planned(1, 2, 4))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// numbersOf are the numbers of nodes that a map was opened with.
func numbersOf(m *results.Map) (nodes []int) {
	for _, c := range m.Campaigns() {
		nodes = append(nodes, c.Plan().Topology.Nodes)
	}
	return nodes
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A map opens with all of its campaigns, or the error names what is wrong with it, and nothing
// in the folder was changed.
func TestMapIsWhole(t *testing.T) {
	for _, tc := range []struct {
		name string
		harm func(t *testing.T, dir string)
		says string // the error
		told string // a remark
	}{
		{"as it was", func(*testing.T, string) {}, "", ""},
		{"other files", func(t *testing.T, dir string) {
			filetest.Plant(t, filepath.Join(dir, "nodes-3"), "mine")
			filetest.Plant(t, filepath.Join(dir, "nodes-5", "notes"), "mine")
			filetest.Plant(t, filepath.Join(dir, "nodes-x", "campaign.toml"), "mine")
		}, "", ""},
		{"a folder is missing", func(t *testing.T, dir string) { must(t, os.RemoveAll(filepath.Join(dir, "nodes-2"))) },
			"nodes-2: missing, and the map is of 1,2,4 nodes: put it back; the search makes it anew: colltune search -t ring:4 -c allreduce --nodes 1,2,4 ", ""},
		{"two are", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "nodes-2")))
			must(t, os.RemoveAll(filepath.Join(dir, "nodes-1")))
		}, "nodes-1, nodes-2: missing", ""},
		{"all are", func(t *testing.T, dir string) {
			for _, n := range []int{1, 2, 4} {
				must(t, os.RemoveAll(results.MapMember(dir, n)))
			}
		}, "nodes-1, nodes-2, nodes-4: missing", ""},
		{"a plan is missing", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "nodes-4", "campaign.toml"))) }, "nodes-4: missing, and the map is of 1,2,4 nodes: put it back, or remove what is left in ", ""},
		{"renamed", func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "nodes-2"), filepath.Join(dir, "nodes-02")))
		}, "nodes-02 holds the campaign of 2 nodes", ""},
		{"renamed to another number", func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "nodes-2"), filepath.Join(dir, "nodes-7")))
		}, "nodes-7 holds the campaign of 2 nodes", ""},
		{"renamed over another", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "nodes-2")))
			must(t, os.CopyFS(filepath.Join(dir, "nodes-2"), os.DirFS(filepath.Join(dir, "nodes-4"))))
		}, "nodes-2 holds the campaign of 4 nodes", ""},
		{"a link out of the folder", func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "nodes-2"), filepath.Join(dir, "..", "elsewhere")))
			must(t, os.Symlink(filepath.Join("..", "elsewhere"), filepath.Join(dir, "nodes-2")))
		}, "nodes-2 is a link", ""},
		{"a link within it", func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "nodes-2"), filepath.Join(dir, "elsewhere")))
			must(t, os.Symlink("elsewhere", filepath.Join(dir, "nodes-2")))
		}, "nodes-2 is a link", ""},
		{"a file", func(t *testing.T, dir string) {
			must(t, os.RemoveAll(filepath.Join(dir, "nodes-2")))
			must(t, os.WriteFile(filepath.Join(dir, "nodes-2"), nil, 0o644))
		}, "nodes-2 is no folder", ""},
		{"the list is a link", func(t *testing.T, dir string) {
			must(t, os.Rename(filepath.Join(dir, "map.toml"), filepath.Join(dir, "..", "map.toml")))
			must(t, os.Symlink(filepath.Join("..", "map.toml"), filepath.Join(dir, "map.toml")))
		}, "map.toml: want a regular file", ""},
		{"a campaign besides", func(t *testing.T, dir string) {
			resultsIn(t, results.MapMember(dir, 8), onNodes(8))
		}, "", "nodes-8 is left out: it is not of the map, which is of 1,2,4 nodes"},
		{"a number of the list changed", func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "map.toml"), "4]", "8]") }, "map.toml: line 1: its checksum does not match", ""},
		{"a number of the list removed", func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "map.toml"), ", 4]", "]") }, "map.toml: line 1: its checksum does not match", ""},
		{"an empty list", func(t *testing.T, dir string) { must(t, os.Truncate(filepath.Join(dir, "map.toml"), 0)) }, "map.toml: line 1: its checksum does not match", ""},
	} {
		for how, open := range map[string]func(string) (*results.Map, error){"for reading": results.OpenMapReadOnly, "for writing": results.OpenMap} {
			t.Run(tc.name+" "+how, func(t *testing.T) {
				dir := mapIn(t)
				tc.harm(t, dir)
				if !results.IsMap(dir) {
					t.Fatal("it is no map")
				}
				before := filetest.Tree(t, dir)
				m, err := open(dir)
				switch {
				case tc.says == "" && err != nil:
					t.Fatal(err)
				case tc.says == "":
					if got := numbersOf(m); !slices.Equal(got, []int{1, 2, 4}) {
						t.Errorf("opened %v", got)
					}
					if told := strings.Join(m.Remarks(), "\n"); (told == "") != (tc.told == "") || !strings.Contains(told, tc.told) {
						t.Errorf("remarks %q; want %q", told, tc.told)
					}
					m.Close()
				case err == nil || !strings.Contains(err.Error(), tc.says):
					t.Errorf("%v; want %q", err, tc.says)
				}
				for path := range before {
					if strings.HasSuffix(path, "/lock") {
						delete(before, path)
					}
				}
				after := filetest.Tree(t, dir)
				for path := range after {
					if _, there := before[path]; !there && strings.HasSuffix(path, "/lock") {
						delete(after, path)
					}
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("changed: %s", diff)
				}
			})
		}
	}
}

// resultsIn makes a campaign in a folder.
func resultsIn(t testing.TB, dir string, p results.Plan) {
	t.Helper()
	c, err := results.Create(dir, p)
	must(t, err)
	must(t, c.Close())
}

func edit(t testing.TB, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644))
}

// A map of an earlier version is its campaigns, and gets a list once something may be written.
func TestMapWithoutList(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []int{16, 4} {
		resultsIn(t, results.MapMember(dir, n), onNodes(n))
	}
	list := filepath.Join(dir, "map.toml")
	for _, tc := range []struct {
		open   func(string) (*results.Map, error)
		remark string
		listed bool
	}{
		{results.OpenMapReadOnly, "as of an earlier version: those of 4,16 nodes are taken for all; the list is written by resume", false},
		{results.OpenMap, "as of an earlier version: those of 4,16 nodes are taken for all; the list is written now", true},
		{results.OpenMapReadOnly, "", true},
	} {
		m, err := tc.open(dir)
		must(t, err)
		if got := numbersOf(m); !slices.Equal(got, []int{4, 16}) {
			t.Errorf("opened %v", got)
		}
		if told := strings.Join(m.Remarks(), "\n"); (told == "") != (tc.remark == "") || !strings.Contains(told, tc.remark) {
			t.Errorf("remarks %q; want %q", told, tc.remark)
		}
		m.Close()
		if _, err := os.Lstat(list); (err == nil) != tc.listed {
			t.Errorf("after %q the list: %v", tc.remark, err)
		}
	}
	must(t, os.RemoveAll(results.MapMember(dir, 4)))
	if _, err := results.OpenMap(dir); err == nil || !strings.Contains(err.Error(), "nodes-4: missing") {
		t.Errorf("%v", err)
	}
}

// What holds no map is none.
func TestIsMap(t *testing.T) {
	dir := mapIn(t)
	file := filepath.Join(dir, "nodes-9")
	must(t, os.WriteFile(file, nil, 0o644))
	for path, want := range map[string]bool{
		dir: true, filepath.Join(dir, "nodes-1"): false, file: false, filepath.Dir(dir): false, filepath.Join(dir, "missing"): false,
	} {
		if got := results.IsMap(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// A map grows, and its lost campaigns are made again by a search; one of another search, or in
// the place of a campaign, is refused, and nothing is written.
func TestCreateMapAgain(t *testing.T) {
	other := onNodes(8)
	other.Flags = nil
	for _, tc := range []struct {
		name  string
		harm  func(t *testing.T, dir string)
		plans []results.Plan
		want  []int  // of the whole map afterwards
		says  string // the error
		told  string
	}{
		{"the same", nil, planned(1, 2, 4), []int{1, 2, 4}, "", ""},
		{"fewer", nil, planned(2), []int{1, 2, 4}, "", ""},
		{"more", nil, planned(2, 8), []int{1, 2, 4, 8}, "", ""},
		{"lost", func(t *testing.T, dir string) { must(t, os.RemoveAll(results.MapMember(dir, 2))) }, planned(1, 2, 4), []int{1, 2, 4}, "", "nodes-2 was missing, and is made anew"},
		{"no list", func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "map.toml"))) }, planned(8), []int{1, 2, 4, 8}, "", "the list is written now"},
		{"of another search", nil, []results.Plan{other}, nil, "is of another search", ""},
		{"a link", func(t *testing.T, dir string) { must(t, os.Symlink("nodes-4", results.MapMember(dir, 8))) }, planned(1, 8), nil, "nodes-8 is a link", ""},
		{"a foreign folder", func(t *testing.T, dir string) {
			filetest.Plant(t, filepath.Join(results.MapMember(dir, 8), "mine"), "mine")
		}, planned(1, 8, 16), nil, "nodes-8: holds mine and no campaign.toml", ""},
		{"a campaign", func(t *testing.T, dir string) { filetest.Plant(t, filepath.Join(dir, "campaign.toml"), "mine") }, planned(1, 8), nil, "it is a campaign of one number of nodes", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := mapIn(t)
			if tc.harm != nil {
				tc.harm(t, dir)
			}
			before := filetest.Tree(t, dir)
			m, err := results.CreateMap(dir, tc.plans)
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("%v; want %q", err, tc.says)
				}
				if diff := cmp.Diff(before, filetest.Tree(t, dir)); diff != "" {
					t.Errorf("changed: %s", diff)
				}
				return
			}
			must(t, err)
			if got := numbersOf(m); len(got) != len(tc.plans) {
				t.Errorf("made %v", got)
			}
			if told := strings.Join(m.Remarks(), "\n"); !strings.Contains(told, tc.told) {
				t.Errorf("remarks %q; want %q", told, tc.told)
			}
			must(t, m.Close())
			m, err = results.OpenMap(dir)
			must(t, err)
			defer m.Close()
			if got := numbersOf(m); !slices.Equal(got, tc.want) {
				t.Errorf("opened %v; want %v", got, tc.want)
			}
		})
	}
}

// One process writes to a map.
func TestMapIsLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "m")
	m, err := results.CreateMap(dir, planned(1, 2))
	must(t, err)
	defer m.Close()
	for _, open := range []func() (*results.Map, error){
		func() (*results.Map, error) { return results.OpenMap(dir) },
		func() (*results.Map, error) { return results.CreateMap(dir, planned(4, 8)) },
	} {
		if _, err := open(); !errors.As(err, new(*results.LockedError)) {
			t.Errorf("%v; want it in use", err)
		}
	}
	reading, err := results.OpenMapReadOnly(dir)
	must(t, err)
	reading.Close()
}

// Discard removes all that CreateMap has made, unless there is something to go on with in any
// campaign: then all stay.
func TestDiscardMap(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, dir string, m *results.Map)
		kept bool
	}{
		{"nothing", func(*testing.T, string, *results.Map) {}, false},
		{"foreign files", func(t *testing.T, dir string, _ *results.Map) { filetest.Plant(t, filepath.Join(dir, "mine"), "mine") }, false},
		{"candidates", func(t *testing.T, _ string, m *results.Map) { must(t, m.Campaigns()[0].Enumerated(nil)) }, true},
		{"a trial", func(t *testing.T, _ string, m *results.Map) { measure(t, m.Campaigns()[1]) }, true},
		{"one left", func(t *testing.T, _ string, m *results.Map) { must(t, m.Leave(m.Campaigns()[0])) }, false},
		{"the list can't be written", func(t *testing.T, dir string, _ *results.Map) {
			must(t, os.Remove(filepath.Join(dir, "map.toml")))
			filetest.Plant(t, filepath.Join(dir, "map.toml", "x"), "a folder is no file")
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "maps", "m")
			m, err := results.CreateMap(dir, planned(1, 2, 4))
			must(t, err)
			tc.do(t, dir, m)
			left := numbersOf(m)
			if err := m.Discard(); err != nil && tc.name != "the list can't be written" {
				t.Error(err)
			}
			there, _ := filepath.Glob(filepath.Join(dir, "nodes-*", "campaign.toml"))
			if want := len(left); tc.kept && len(there) != want || !tc.kept && len(there) != 0 {
				t.Errorf("%q are there", there)
			}
			if files := filetest.Tree(t, top); !tc.kept && tc.name != "foreign files" && len(files) > 1 {
				t.Errorf("left: %v", files)
			}
		})
	}
}

// measure adds a trial to a campaign.
func measure(t testing.TB, c *results.Campaign) {
	t.Helper()
	_, err := c.SetExecutor(resultstest.Executor)
	must(t, err)
	resultstest.Append(t, c, resultstest.LibraryTrial("tree", c.Plan().Sizes[0], 5))
}

// A campaign with nothing to search leaves the map; the last takes it along.
func TestLeaveMap(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "m")
	m, err := results.CreateMap(dir, planned(1, 2))
	must(t, err)
	must(t, m.Leave(m.Campaigns()[0]))
	must(t, m.Close())
	m, err = results.OpenMap(dir)
	must(t, err)
	if got := numbersOf(m); !slices.Equal(got, []int{2}) {
		t.Errorf("opened %v", got)
	}
	must(t, m.Leave(m.Campaigns()[0]))
	m.Close()
	if files := filetest.Tree(t, top); len(files) > 1 {
		t.Errorf("left: %v", files)
	}
}
