package results

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Whatever a map's folder holds, it opens with just the campaigns of its list, none of them
// elsewhere, or there is an error; and what was opened for writing can be read.
func FuzzMapFolder(f *testing.F) {
	onNodes := func(n int) Plan {
		p := testPlan()
		p.Topology.Nodes, p.Topology.Ranks = n, 4*n
		return p
	}
	made := f.TempDir()
	for _, n := range []int{1, 2, 3, 4, 5, 8, 9} { // once, since each waits for the disk
		c, err := Create(MapMember(made, n), onNodes(n))
		if err == nil {
			err = c.Close()
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	whole := string(mapList{nodes: []int{1, 4}}.encode())
	pending := string(mapList{[]int{1, 2, 4}, map[int]Plan{2: onNodes(2), 4: onNodes(4)}}.encode())
	_, head, _ := strings.Cut(whole, "\n")
	_, tail, _ := strings.Cut(pending, "\n")
	f.Add(whole, true, true, uint16(0))
	f.Add(pending, true, true, uint16(4<<6|6<<3))
	f.Add(whole, false, true, uint16(2<<6|3<<3))
	f.Add(head, true, false, uint16(3<<6))
	f.Add(tail, true, false, uint16(6<<6|6<<3|6))
	f.Add("schema = \"colltune.map/v1\"\nnodes = [1, 8]\n", true, false, uint16(5<<9))
	f.Fuzz(func(t *testing.T, text string, listed, summed bool, layout uint16) {
		if !summed { // most texts would fall at the checksum
			text = sumLine(text) + text
		}
		dir := t.TempDir()
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		if listed {
			check(os.WriteFile(filepath.Join(dir, mapFile), []byte(text), 0o644))
		}
		links := map[int]bool{}
		for i, n := range []int{1, 2, 4, 8} {
			member := MapMember(dir, n)
			switch layout >> (3 * i) & 7 {
			case 0, 1:
				check(os.CopyFS(member, os.DirFS(MapMember(made, n))))
			case 2: // another's
				check(os.CopyFS(member, os.DirFS(MapMember(made, n+1))))
			case 3:
				check(os.Symlink("nodes-1", member))
				links[n] = true
			case 4:
				check(os.Mkdir(member, 0o755))
			case 5:
				check(os.WriteFile(member, nil, 0o644))
			}
		}
		numbers := func(m *Map) (all []int) {
			for _, c := range m.Campaigns() {
				n := c.plan.Topology.Nodes
				if all = append(all, n); c.dir != MapMember(dir, n) || links[n] {
					t.Errorf("%s was opened for %d nodes", c.dir, n)
				}
			}
			check(m.Close())
			return all
		}
		list, listErr := parseMapList(text)
		if listErr == nil {
			if again, err := parseMapList(string(list.encode())); err != nil || !slices.Equal(again.nodes, list.nodes) || len(again.unmade) != len(list.unmade) {
				t.Fatalf("a list written again: %v, %v", again, err)
			}
		}
		read, err := OpenMapReadOnly(dir)
		if err == nil {
			if got := numbers(read); listed && !slices.Equal(got, list.nodes) {
				t.Errorf("opened %v of the list %v", got, list.nodes)
			}
		}
		written, writeErr := OpenMap(dir)
		switch {
		case err == nil && writeErr != nil:
			t.Fatalf("opened for reading; for writing: %v", writeErr)
		case writeErr != nil:
			return
		case listed && listErr != nil:
			t.Fatalf("opened in spite of %v", listErr)
		}
		want := numbers(written)
		again, err := OpenMapReadOnly(dir)
		check(err)
		if got := numbers(again); !slices.Equal(got, want) || listed && !slices.Equal(got, list.nodes) {
			t.Errorf("%v were opened for writing, and then %v for reading", want, got)
		}
	})
}
