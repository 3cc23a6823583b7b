package results

import (
	"testing"
)

func TestSharedGPUs(t *testing.T) {
	for _, tc := range []struct {
		e     Executor
		ranks int
		want  int
	}{
		{Executor{}, 8, 0},
		{Executor{Devices: 1}, 8, 1},
		{Executor{Devices: 1}, 1, 0},
		{Executor{Devices: 8}, 8, 0},
		{Executor{Devices: 9}, 8, 0},
		{Executor{Devices: 3}, 8, 3},
		{Executor{Fingerprint: map[string]string{"devices": "2"}}, 8, 2}, // a journal from before there were Devices
		{Executor{Fingerprint: map[string]string{"devices": "8"}}, 8, 0},
		{Executor{Fingerprint: map[string]string{"devices": "8 × H100"}}, 16, 0},
		{Executor{Fingerprint: map[string]string{"devices": "-3"}}, 8, 0},
	} {
		if got := tc.e.SharedGPUs(tc.ranks); got != tc.want {
			t.Errorf("%+v, %d ranks: %d, want %d", tc.e, tc.ranks, got, tc.want)
		}
	}
}

// A new line of the same executor is kept, and its trials stay.
func TestSetExecutorKeepsTrials(t *testing.T) {
	c := newCampaign(t, testPlan(4096))
	appendAll(t, c, testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 4096, 5))
	more := testExecutor
	more.Devices = 1
	if before, err := c.SetExecutor(more); before != nil || err != nil {
		t.Fatal(before, err)
	}
	if e, _ := c.Executor(); e.Devices != 1 || len(c.Trials()) != 1 {
		t.Errorf("%+v, %d trials", e, len(c.Trials()))
	}
}
