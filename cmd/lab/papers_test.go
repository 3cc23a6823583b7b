package main

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/cmd/lab/papers"
)

func TestCompareVerdicts(t *testing.T) {
	judged := []papers.Judged{
		{Claim: papers.Claim{ID: "lost"}, Verdict: papers.SameDirection},
		{Claim: papers.Claim{ID: "won"}, Verdict: papers.Agrees},
		{Claim: papers.Claim{ID: "new"}, Verdict: papers.Disagrees},
	}
	recorded := map[string]papers.Verdict{"lost": papers.Agrees, "won": papers.Disagrees}
	err := compareVerdicts(recorded, judged, false)
	if err == nil || !strings.Contains(err.Error(), "worse now: lost (make papers UPDATE=1") {
		t.Errorf("a verdict that is worse: %v", err)
	}
	if err := compareVerdicts(recorded, judged, true); err != nil {
		t.Errorf("a verdict that is recorded: %v", err)
	}
	recorded["lost"] = papers.SameDirection
	if err := compareVerdicts(recorded, judged, false); err != nil {
		t.Errorf("nothing is worse: %v", err)
	}
}
