package tuning_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/results/tuning/tuningtest"
)

// A file of WithLeft has a row for every call over the ranks of its rules: theirs, and else
// what the library runs by itself, to the byte.
func TestEveryCallHasARow(t *testing.T) {
	f, _ := tuning.Named("nccl-tuner-csv")
	rapid.Check(t, func(t *rapid.T) {
		// What the library runs changes at some sizes, as by fewer channels and at powers of two.
		changes := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<30), 0, 5, rapid.ID[int64]).Draw(t, "changes")
		slices.Sort(changes)
		configs := tunerConfigs("nccl", 1, 7, 64)
		picks := rapid.SliceOfN(rapid.SampledFrom(configs), len(changes)+1, len(changes)+1).Draw(t, "configs")
		own := func(bytes int64) tuning.Config {
			n, there := slices.BinarySearch(changes, bytes)
			if there {
				n++
			}
			return picks[n]
		}
		ring := tuning.Config{Library: "nccl", Kernel: "ring", Protocol: "Simple", Channels: 64}
		left := func(call tuning.Scope, bytes int64) ([]tuning.Config, error) {
			if bytes < 1 {
				t.Fatalf("asked for %d bytes", bytes)
			}
			return []tuning.Config{own(bytes), ring}, nil
		}
		rules := drawRules(t, f)
		rules = slices.DeleteFunc(rules, func(r tuning.Rule) bool { return r.Nodes == 0 })
		all, err := tuning.WithLeft(rules, left)
		if err != nil {
			t.Fatal(err)
		}
		reader, err := tuningtest.Read(f.Name, "f", tuning.TunerText(all, []string{"made by a test"}))
		if err != nil {
			t.Fatal(err)
		}
		sizes := []int64{0, 1, 1 << 40, math.MaxInt64}
		for _, at := range changes {
			if near(changes, at) { // found only by luck
				continue
			}
			sizes = append(sizes, at-1, at, at+1)
		}
		for _, r := range rules {
			sizes = append(sizes, r.First-1, r.First, r.Last, r.Last+1)
		}
		for _, r := range rules {
			for _, collective := range tuning.TunerCollectives {
				call := tuning.Scope{Collective: collective, Ranks: r.Ranks, Nodes: r.Nodes}
				for _, bytes := range sizes {
					want, ok := expected(f, rules, call, bytes)
					if !ok && slices.ContainsFunc(changes, func(c int64) bool { return near(changes, c) }) {
						continue
					}
					if !ok {
						want = f.Same(own(max(bytes, 1)))
					}
					if got, ok := reader.Choose(call, bytes); !ok || got != want {
						t.Fatalf("%s of %d: %+v %v, want %+v", call, bytes, got, ok, want)
					}
				}
			}
		}
	})
}

// near reports whether another change is within an octave.
func near(changes []int64, at int64) bool {
	return slices.ContainsFunc(changes, func(c int64) bool { return c != at && c/2 <= at && at/2 <= c })
}

// What rows can't be for is refused.
func TestWhatRowsCannotCover(t *testing.T) {
	here := tuning.Scope{Collective: "allreduce", Ranks: 8, Nodes: 1}
	config := tuning.Config{Library: "nccl", Kernel: "ring", Protocol: "LL", Channels: 4}
	for want, c := range map[string]struct {
		scope tuning.Scope
		left  tuning.Left
	}{
		"is not known":                      {here, nil},
		"the number of nodes is not stated": {tuning.Scope{Collective: "allreduce", Ranks: 8}, func(tuning.Scope, int64) ([]tuning.Config, error) { return []tuning.Config{config}, nil }},
		"no model of it":                    {here, func(tuning.Scope, int64) ([]tuning.Config, error) { return nil, errors.New("no model of it") }},
		"the library runs symmetric auto, which": {here, func(tuning.Scope, int64) ([]tuning.Config, error) {
			return []tuning.Config{{Library: "nccl", Kernel: "symmetric", Protocol: "auto", Channels: 4}}, nil
		}},
	} {
		if _, err := tuning.WithLeft([]tuning.Rule{{Scope: c.scope, First: 1, Last: 2, Config: config}}, c.left); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
