package search

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/topologies/topotest"
)

// What is learned from a campaign is the median of each configuration, as the plan keeps it.
func TestEarlier(t *testing.T) {
	top := topotest.Resolve(t, "ring:4", 0)
	plan := resultstest.Plan(1024, 2048)
	plan.Topology.Hash = top.Hash()
	c := resultstest.Create(t, plan)
	p := &Problem{Topology: top, Call: plan.Call}
	if _, err := EarlierOf(c, "c", p); err == nil || err.Error() != "c has no time to learn from" {
		t.Errorf("of an empty campaign: %v", err)
	}
	slow := resultstest.NativeTrial("ring", "LL", nil, 1, 1024, 12)
	slow.Repeat = 1
	failed := resultstest.NativeTrial("ring", "LL", nil, 1, 2048, 1)
	failed.Outcome, failed.TimesUS = results.Failed, nil
	wrong := resultstest.NativeTrial("tree", "LL", nil, 1, 2048, 1)
	wrong.Outcome = results.Wrong
	resultstest.Append(t, c, resultstest.NativeTrial("ring", "LL", nil, 1, 1024, 10), slow, failed, wrong)
	e, err := EarlierOf(c, "c", p)
	if err != nil {
		t.Fatal(err)
	}
	fingerprint, all, err := e.read()
	if err != nil || fingerprint != resultstest.Executor.Hash() || len(all) != 1 || all[0].TimeUS != 11 || all[0].Bytes != 1024 || all[0].Program != slow.Program {
		t.Errorf("%s: %+v, %v; want the ring's median of 11 us", fingerprint, all, err)
	}
	p.Op = "max"
	if _, err := EarlierOf(c, "c", p); err == nil || err.Error() != "c is of another reduction: sum, want max" {
		t.Errorf("of another reduction: %v", err)
	}
	for _, text := range []string{"", "x", "x\nbytes,time_us\n", e.Text + "1\n", e.Text + "1,in,x,LL,0,-3\n", e.Text + "a,in,x,LL,0,3\n", e.Text + "1,in,x,LL,0,3,9\n"} {
		if _, _, err := (&Earlier{"c", text}).read(); err == nil || !strings.HasPrefix(err.Error(), "campaign.toml: learn-from c: ") {
			t.Errorf("%q: %v, want an error", text, err)
		}
	}
	// It goes into the plan and back.
	o := Options{Earlier: []Earlier{e}, Gain: 0.025, Strategy: "model"}
	problem := Problem{Topology: top, Call: plan.Call, InPlace: true, Sizes: []int64{1024}}
	_, back, err := FromPlan(PlanOf(problem, o, Source{Text: "ring:4"}, Settings{}))
	if err != nil || len(back.Earlier) != 1 || back.Earlier[0] != e || back.Gain != 0.025 || back.Strategy != "model" {
		t.Errorf("%+v, %v", back, err)
	}
}
