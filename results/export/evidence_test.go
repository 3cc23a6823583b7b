package export

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

// Every format says that its measurements were not checked. Times of ranks that shared a
// GPU are exported only on request, and marked too.
func TestExportsMarkUncheckedTimes(t *testing.T) {
	for _, to := range Formats() {
		for _, checked := range []bool{true, false} {
			for _, devices := range []int{0, 1, 2, 4} {
				c := resultstest.Create(t, resultstest.Plan(4096))
				e := resultstest.Executor
				e.Devices = devices
				if _, err := c.SetExecutor(e); err != nil {
					t.Fatal(err)
				}
				one := resultstest.Trial(t, c, irtest.Ring(4, 1, 0, true), "ring", "LL", 32768, 4096, 5)
				own := resultstest.LibraryTrial("ring", 4096, 4)
				own.Fingerprint, own.Channels = e.Hash(), 8
				if to == "nccl-tuner-csv" {
					own.Protocol, own.Parameters = "LL", map[string]any{"channels": 8}
					one = own
				}
				if one.Data = results.Checked; !checked {
					one.Data = results.Unchecked
				}
				resultstest.Append(t, c, one)
				o := Options{To: to, Out: t.TempDir()}
				place := map[int]string{1: "4 ranks on one GPU: times of its memory", 2: "4 ranks on 2 GPUs: times of their memory and the links between them"}[devices]
				if place != "" {
					if _, err := Write(c, o); !errors.Is(err, ErrSharedGPU) || !strings.Contains(err.Error(), place) {
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
			}
		}
	}
}
