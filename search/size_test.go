package search

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/topologies"
)

// What is too large, and what is taken all the same because it was asked for.
func TestTooLarge(t *testing.T) {
	for _, c := range []struct {
		operations, instances int
		o                     Options
		points                int // of a baseline
		want                  string
	}{
		{1 << 18, 1, Options{}, 0, ""},
		{1 << 18, 2, Options{}, 0, "524288 operations, 262144 in each of 2 instances: want at most 262144, or --instances 2"},
		{1 << 17, 2, Options{}, 0, ""},
		{1 << 13, 32, Options{}, 0, ""},
		{1 << 18, 2, Options{Instances: 2}, 0, ""},
		{1 << 18, 2, Options{}, 1, ""},
		{1 << 18, 16, Options{}, 1, "want at most 2097152, or --family ring"},
		{1<<18 + 1, 8, Options{Instances: 8}, 0, "want at most 2097152, or --family ring"},
		{1 << 21, 1, Options{}, 0, ""},
		{1<<21 + 1, 1, Options{}, 0, "2097153 operations, 2097153 in each of 1 instances: want at most 2097152, or --family ring"},
		{1<<21 + 1, 1, Options{Families: []string{"bruck"}}, 0, "--family ring"},
		{1<<21 + 1, 1, Options{Families: []string{"bruck", "ring"}}, 0, ""},
		{1<<21 + 1, 2, Options{Families: []string{"ring"}}, 0, "--instances 2"},
	} {
		e := &enumeration{options: &c.o, problem: &Problem{Topology: &topologies.Topology{Ranks: make([]topologies.Rank, 16)}}}
		d := &draft{name: "ring", instances: c.instances, points: make([]baselinePoint, c.points),
			routing: &routing{program: &lang.Program{Ops: make([]lang.Op, c.operations)}}}
		r := e.tooLarge(d)
		if (r == nil) != (c.want == "") || r != nil && (r.Reason != TooLarge || !strings.Contains(r.Detail, c.want)) {
			t.Errorf("%d operations × %d of %+v, %d baseline points: %v, want %q", c.operations, c.instances, c.o.Families, c.points, r, c.want)
		}
	}
}

// On many ranks, a program of few operations on each has any number of instances.
func TestManyRanksOfFewOperations(t *testing.T) {
	for _, c := range []struct{ ranks, instances int }{{512, 8}, {1024, 16}, {2048, 32}} {
		e := &enumeration{options: &Options{}, problem: &Problem{Topology: &topologies.Topology{Ranks: make([]topologies.Rank, c.ranks)}}}
		all := e.draft(&draft{name: "multi-level", routing: &routing{size: 1 << 15}})
		if n := len(all.drafts); n == 0 || all.drafts[n-1].instances != c.instances {
			t.Errorf("%d ranks: %d drafts, want up to %d instances", c.ranks, n, c.instances)
		}
	}
}

// Of a large routing the few instances that fit are drafted, and every other is
// refused, by name.
func TestLargeRoutingIsDraftedOnce(t *testing.T) {
	e := &enumeration{options: &Options{}, problem: &Problem{Topology: &topologies.Topology{Ranks: make([]topologies.Rank, 512)}}}
	all := e.draft(&draft{name: "ring", routing: &routing{program: &lang.Program{Ops: make([]lang.Op, 1<<16)}}})
	if n := len(all.drafts); n != 3 || all.drafts[n-1].instances != 4 {
		t.Errorf("%d drafts: want 1, 2 and 4 instances", n)
	}
	if n := len(all.refusals); n != len(instances)-3 {
		t.Errorf("%d refused: want the other %d", n, len(instances)-3)
	}
}
