package results

import "testing"

// TestCalled has a campaign call a program as its last tally does, whatever the
// trials that were journaled before call it, and tallies name no other programs.
func TestCalled(t *testing.T) {
	c := newCampaign(t, testPlan())
	one, two := testRing(4, 1, 0, true), testRing(4, 2, 0, true)
	appendAll(t, c,
		testTrial(t, c, one, "ring", "LL", 32768, 1024, 5),
		testTrial(t, c, two, "ring", "LL", 32768, 1024, 5),
		testTrial(t, c, one, "ring", "LL", 32768, 2048, 6, 8, 7),
	)
	dir := c.Dir()
	first := c.Trials()
	if len(first) == 0 {
		t.Fatal("no trials")
	}
	program := first[0].Program
	kept := ProgramLabel{Algorithm: "chain", Source: "template", Parameters: map[string]any{"pieces": 4}, Channels: 2, Instances: 3}
	names := map[string]ProgramLabel{program: kept}
	for _, one := range first {
		if one.Program != program {
			names[one.Program] = labelOf(&one)
		}
	}
	for range 2 { // saying it again changes nothing
		if err := c.SetTally(Tally{Labels: names}); err != nil {
			t.Fatal(err)
		}
	}
	if tally, _ := c.Tally(); len(tally.Labels) != 1 {
		t.Errorf("the tally names %v", tally.Labels)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i, one := range c.Trials() {
		want := labelOf(&first[i])
		if one.Program == program {
			want = kept
		}
		if got := labelOf(&one); !equalJSON(got, want) {
			t.Errorf("trial %d is called %v, want %v", i, got, want)
		}
	}
}
