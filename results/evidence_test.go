package results

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A row says what held for all the measurements behind its time, and for no others.
func TestRowsSayWhatWasChecked(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := rapid.SliceOfN(rapid.SampledFrom(append([]Data{""}, allData...)), 1, 4).Draw(rt, "data")
		c := &Campaign{plan: testPlan(1024), executor: &testExecutor}
		took := func(repeat int, d Data, outcome Outcome) {
			x := libraryTrial("a", 1024, 5)
			x.Repeat, x.Data, x.Outcome = repeat, d, outcome
			x.Key = Key{Program: x.Program, Repeat: repeat}.Hash()
			c.order = append(c.order, &x)
		}
		for i, d := range data {
			took(i, d, OK)
		}
		took(len(data), Unchecked, Crashed) // is behind no time
		slower := libraryTrial("bb", 1024, 9)
		slower.Data = Unchecked
		c.order = append(c.order, &slower)
		table, err := Build(c)
		if err != nil {
			rt.Fatal(err)
		}
		n := func(which Data) (n int) {
			for _, d := range data {
				if d == which {
					n++
				}
			}
			return n
		}
		want, mark := "", ""
		switch {
		case n(Unchecked) > 0:
			want, mark = "false", fmt.Sprintf("%d of %d", n(Unchecked), len(data))
		case n(Checked) == len(data):
			want = "true"
		}
		row := &table.Rows[0]
		if got := boolText(row.Checked); got != want || row.evidence.mark() != mark || boolText(table.Ranges[0].Checked) != want {
			rt.Fatalf("%q: row %q, mark %q, range %q: want %q and %q", data, got, row.evidence.mark(), boolText(table.Ranges[0].Checked), want, mark)
		}
	})
}

// Every format says that its measurements were not checked, and refuses ranks that
// shared a GPU until it is asked for them; then it says so, too.
func TestExportsSayWhatTheirTimesAre(t *testing.T) {
	for _, to := range ExportFormats() {
		for _, checked := range []bool{true, false} {
			for _, devices := range []int{0, 1, 2, 4} {
				c := newCampaign(t, testPlan(4096))
				e := testExecutor
				e.Devices = devices
				if _, err := c.SetExecutor(e); err != nil {
					t.Fatal(err)
				}
				one := testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 4096, 5)
				own := libraryTrial("ring", 4096, 4)
				own.Fingerprint, own.Channels = e.Hash(), 8
				if to == "nccl-tuner-csv" {
					own.Protocol, own.Parameters = "LL", map[string]any{"channels": 8}
					one = own
				}
				if one.Data = Checked; !checked {
					one.Data = Unchecked
				}
				appendAll(t, c, one)
				o := ExportOptions{To: to, Out: t.TempDir()}
				place := map[int]string{1: "4 ranks on one GPU: times of its memory", 2: "4 ranks on 2 GPUs: times of their memory and the links between them"}[devices]
				if place != "" {
					if _, err := Export(c, o); !errors.Is(err, ErrSharedGPU) || !strings.Contains(err.Error(), place) {
						t.Fatalf("%s on %d devices: %v", to, devices, err)
					}
					o.SharedGPU = true
				}
				report, files := exported(t, c, o)
				says := func(what string) (n int) {
					for _, text := range files {
						if strings.Contains(text, what) {
							n++
						}
					}
					return n
				}
				if n := says("unchecked: the data of 1 of 1 measurements behind this file"); (n == len(files)) == checked || n > 0 == checked {
					t.Errorf("%s, checked %v: %d of %d files say unchecked", to, checked, n, len(files))
				}
				if place != "" && (says(place) != len(files) || !slices.Contains(report.Warnings, place)) {
					t.Errorf("%s on %d devices: %d of %d files say so, warnings %q", to, devices, says(place), len(files), report.Warnings)
				}
				if told := slices.ContainsFunc(report.Warnings, func(w string) bool { return strings.HasPrefix(w, "unchecked: ") }); told == checked {
					t.Errorf("%s, checked %v: warnings %q", to, checked, report.Warnings)
				}
				if devices > 0 && says(`"busbw"`) > 0 != (to == "t4" && place == "") {
					t.Errorf("%s on %d devices: busbw in %d files", to, devices, says(`"busbw"`))
				}
			}
		}
	}
}

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

// What a journal newly says of the same executor is kept, and its trials stay.
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
