package program

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// What is too large, and what is taken all the same because it was asked for.
func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		operations, instances int
		o                     Options
		compared              bool
		want                  string
	}{
		{1 << 18, 1, Options{}, false, ""},
		{1 << 18, 2, Options{}, false, "524288 operations, 262144 in each of 2 instances: want at most 262144, or --instances 2"},
		{1 << 17, 2, Options{}, false, ""},
		{1 << 13, 32, Options{}, false, ""},
		{1 << 18, 2, Options{Instances: 2}, false, ""},
		{1 << 18, 2, Options{}, true, ""},
		{1 << 18, 16, Options{}, true, "want at most 2097152, or --family ring"},
		{1<<18 + 1, 8, Options{Instances: 8}, false, "want at most 2097152, or --family ring"},
		{1 << 21, 1, Options{}, false, ""},
		{1<<21 + 1, 1, Options{}, false, "2097153 operations, 2097153 in each of 1 instances: want at most 2097152, or --family ring"},
		{1<<21 + 1, 1, Options{Families: []string{"bruck"}}, false, "--family ring"},
		{1<<21 + 1, 1, Options{Families: []string{"bruck", "ring"}}, false, ""},
		{1<<21 + 1, 2, Options{Families: []string{"ring"}}, false, "--instances 2"},
	} {
		b := New(Target{Topology: &topologies.Topology{Ranks: make([]topologies.Rank, 16)}}, c.o)
		d := &Draft{Name: "ring", Instances: c.instances, Compared: c.compared,
			Routing: &Routing{program: &lang.Program{Ops: make([]lang.Op, c.operations)}}}
		r := b.tooLarge(d)
		if (r == nil) != (c.want == "") || r != nil && (r.Reason != TooLarge || !strings.Contains(r.Detail, c.want)) {
			t.Errorf("%d operations × %d of %+v, compared %v: %v, want %q", c.operations, c.instances, c.o.Families, c.compared, r, c.want)
		}
	}
}

// On many ranks, a program of few operations on each has any number of instances.
func TestManyRanksOfFewOperations(t *testing.T) {
	for _, c := range []struct{ ranks, instances int }{{512, 8}, {1024, 16}, {2048, 32}} {
		b := New(Target{Topology: &topologies.Topology{Ranks: make([]topologies.Rank, c.ranks)}}, Options{})
		all := b.draft(&Draft{Name: "multi-level", Routing: &Routing{size: 1 << 15}})
		if n := len(all.Drafts); n == 0 || all.Drafts[n-1].Instances != c.instances {
			t.Errorf("%d ranks: %d drafts, want up to %d instances", c.ranks, n, c.instances)
		}
	}
}

// Of a large routing the few instances that fit are drafted, and every other is
// refused, by name.
func TestLargeRoutingIsDraftedOnce(t *testing.T) {
	b := New(Target{Topology: &topologies.Topology{Ranks: make([]topologies.Rank, 512)}}, Options{})
	all := b.draft(&Draft{Name: "ring", Routing: &Routing{program: &lang.Program{Ops: make([]lang.Op, 1<<16)}}})
	if n := len(all.Drafts); n != 3 || all.Drafts[n-1].Instances != 4 {
		t.Errorf("%d drafts: want 1, 2 and 4 instances", n)
	}
	if n := len(all.Refusals); n != len(instances)-3 {
		t.Errorf("%d refused: want the other %d", n, len(instances)-3)
	}
}

// Drafts are afforded in their order, those for comparison first, and never more than
// there is room for.
func TestAfford(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, placements := Memory(rapid.IntRange(256, 4096).Draw(t, "MB"))<<20, rapid.IntRange(1, 2).Draw(t, "placements")
		var drafts []*Draft
		for i := range rapid.IntRange(1, 20).Draw(t, "drafts") {
			n := rapid.IntRange(1, 1<<21).Draw(t, fmt.Sprint("operations of ", i))
			drafts = append(drafts, &Draft{Name: "ring", Instances: 1, Routing: &Routing{size: n}, Compared: rapid.Bool().Draw(t, "compared")})
		}
		all := m.Unaffordable(drafts, placements)
		room := m.Programs() / int64(placements)
		kept, largest := int64(0), int64(0)
		for i, d := range drafts {
			if all[i] == nil {
				kept, largest = kept+int64(d.Operations())*keptBytes, max(largest, int64(d.Operations())*compiledBytes)
			} else if all[i].Reason != NoMemory {
				t.Fatalf("refused: %v", all[i])
			}
		}
		if kept+largest > room || 2*kept > room {
			t.Fatalf("%d bytes for programs and %d for the largest: there are %d", kept, largest, room)
		}
		at := max(slices.IndexFunc(drafts, func(d *Draft) bool { return d.Compared }), 0)
		first := drafts[at]
		if fits := int64(first.Operations())*(compiledBytes+keptBytes) <= room; fits != (all[at] == nil) {
			t.Fatalf("the first, of %d operations, is refused: %v", first.Operations(), all[at] != nil)
		}
	})
}

// What is foreseen grows with the operations, and says the limit that it would need.
func TestMostOperations(t *testing.T) {
	last := int64(0)
	for _, limit := range []Memory{256 << 20, 1 << 30, 12 << 30, 1 << 40} {
		n := limit.Operations()
		if n <= last {
			t.Errorf("%d operations in %d bytes, %d in fewer", n, limit, last)
		}
		last = n
	}
	if n := Memory(0).Operations(); n < lang.MaxOps {
		t.Errorf("%d operations without a limit", n)
	}
	if got, want := Memory(4<<30).NoRoom(1<<24), "about 11G of memory for 16777216 operations: want a limit of 15G, and it is 4G (--memory)"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
