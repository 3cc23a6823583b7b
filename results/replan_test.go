package results

import (
	"errors"
	"testing"
)

// A campaign without measurements accepts another plan; one with a trial or a program
// does not.
func TestEmptyCampaignTakesAnotherPlan(t *testing.T) {
	asked := testPlan()
	asked.Seed = 2
	for _, tc := range []struct {
		name  string
		fill  func(*Campaign)
		stays bool
	}{
		{"nothing", func(*Campaign) {}, false},
		{"an executor and a tally", func(c *Campaign) {
			if _, err := c.SetExecutor(testExecutor); err != nil {
				t.Fatal(err)
			}
			if err := c.SetTally(Tally{Enumerated: 3}); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a program", func(c *Campaign) {
			p := testRing(4, 1, 0, true)
			if err := c.SaveProgram(p.Hash(), p); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"a trial", func(c *Campaign) {
			if _, err := c.SetExecutor(testExecutor); err != nil {
				t.Fatal(err)
			}
			appendAll(t, c, testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 5))
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			c, err := Create(dir, testPlan())
			if err != nil {
				t.Fatal(err)
			}
			tc.fill(c)
			c.Close()
			c, err = Create(dir, asked)
			var other *OtherPlanError
			if tc.stays {
				if !errors.As(err, &other) {
					t.Fatalf("%v, want an OtherPlanError", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, told := c.Executor(); told || c.Plan().Seed != 2 {
				t.Errorf("plan of seed %d, executor known: %v", c.Plan().Seed, told)
			}
			if _, err := c.SetExecutor(testExecutor); err != nil {
				t.Fatal(err)
			}
			appendAll(t, c, testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 5))
			c.Close()
			// As the folder has it now.
			if c, err = Open(dir); err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, tally := c.Tally(); tally || len(c.Trials()) != 1 || c.Plan().Seed != 2 {
				t.Errorf("a tally: %v, %d trials, seed %d", tally, len(c.Trials()), c.Plan().Seed)
			}
		})
	}
}

// The order and repetition of families do not change the search.
func TestFamiliesAreASet(t *testing.T) {
	flags := func(names ...string) Plan {
		p := testPlan()
		p.Flags = nil
		for _, n := range names {
			p.Flags = append(p.Flags, Flag{"family", n})
		}
		return p
	}
	a, b := flags("ring", "all-pairs"), flags("all-pairs", "ring", "all-pairs")
	if diff := a.Diff(b); diff != nil || a.Command() != b.Command() || string(a.encode()) != string(b.encode()) {
		t.Errorf("%v; %s and %s", diff, a.Command(), b.Command())
	}
	if diff := a.Diff(flags("ring")); diff == nil {
		t.Error("one family is the same as two")
	}
}
