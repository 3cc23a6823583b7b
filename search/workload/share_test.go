package workload

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/search/libraries"
)

// Calls of one communicator or stream take their sum. Of others that overlap, the step takes
// between the longest and the sum: their latencies overlap, and what they move adds up.
func TestConcurrentCalls(t *testing.T) {
	op := func(name, rest string) string { return "[[block.op]]\nname = \"" + name + "\"\n" + rest + "\n" }
	// With 10 bytes a call takes 3 us, of which 2 are latency, and from 2.7 to 3.6; with 40, 6 us.
	reduce := func(name, rest string) string {
		if !strings.Contains(rest, "bytes") {
			rest += "\nbytes = 10"
		}
		if !strings.Contains(rest, "after") {
			rest += "\nafter = []"
		}
		return op(name, "call = \"allreduce\"\n"+rest)
	}
	groups := head + "[groups.data]\nranks = 8\n[groups.tensor]\nranks = 8\n"
	for _, c := range []struct {
		name, text       string
		total, low, high float64
	}{
		{"one stream", "[[block]]\n" + reduce("x", "group = \"data\"") + reduce("y", "group = \"tensor\""), 6, 5.4, 7.2},
		{"one communicator", "[[block]]\n" + reduce("x", "") + reduce("y", "stream = \"other\""), 6, 5.4, 7.2},
		{"two communicators", "[[block]]\n" + reduce("x", "group = \"data\"") + reduce("y", "stream = \"other\"\ngroup = \"tensor\""), 4, 2.7, 7.2},
		{"three calls of two communicators", "[[block]]\n" + reduce("x", "group = \"data\"") + reduce("y", "stream = \"other\"\ngroup = \"tensor\"") + reduce("z", "stream = \"third\"\ngroup = \"tensor\""), 7, 5.4, 10.8},
		{"pairs have no communicator", "[[block]]\n" + op("x", "call = \"sendrecv\"\nbytes = 10\nafter = []") + op("y", "call = \"sendrecv\"\nbytes = 10\nafter = []\nstream = \"other\""), 4, 2.7, 7.2},
		{"programs share no links", "[[block]]\non = [\"0\"]\n" + reduce("x", "") + "[[block]]\non = [\"1\"]\n" + reduce("y", "stream = \"other\""), 3, 2.7, 3.6},
		// x moves alone from 2 to 4 us, then beside y, which began at 2: it ends at 8, when y has
		// moved for 2 us and has 2 left. At most, it is x alone for 2 us of 7.2, and both to 12.4.
		{"a part of the time", "[[block]]\n" + op("a", "compute_us = 2\nafter = []") + reduce("x", "group = \"data\"\nbytes = 40") + reduce("y", "stream = \"other\"\ngroup = \"tensor\"\nbytes = 40\nafter = [\"a\"]") + op("b", "compute_us = 1\nafter = [\"x\"]"), 10, 7.4, 14.4},
		// A call does not slow computes, nor these it.
		{"a compute beside a call", "[[block]]\n" + reduce("x", "") + op("a", "compute_us = 3\nafter = []"), 3, 3, 3.6},
	} {
		r, err := Compare(parse(t, groups+c.text), fixed{"mpi": two["mpi"]}, Libraries{})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		f := &r.Fine
		if got := [3]float64{f.TotalUS, f.LowUS, f.HighUS}; !near3(got, [3]float64{c.total, c.low, c.high}) {
			t.Errorf("%s: %g us, want %g from %g to %g", c.name, got, c.total, c.low, c.high)
		}
	}
}

func near3(a, b [3]float64) bool {
	return math.Abs(a[0]-b[0]) < 1e-9 && math.Abs(a[1]-b[1]) < 1e-9 && math.Abs(a[2]-b[2]) < 1e-9
}

// Whatever a step does, its calls that share links take at least as long as those that share
// nothing, and at most as long as all calls of a program and the computes one after another.
func TestSharingIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := randomStep(t)
		for i := range s.Calls {
			s.Calls[i].Communicator = rapid.SampledFrom([]string{"", "data", "tensor"}).Draw(t, "communicator")
		}
		r, err := Compare(s, two, Libraries{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := r.Fine.graph()
		if err != nil {
			t.Fatal(err)
		}
		us := r.Fine.callUS(timeUS)
		free, shared, all := g.run(us).total, r.Fine.run(g).total, g.runShared(us, noLatency).total
		sum := 0.0
		for call := range s.Calls {
			sum += us(call)
		}
		if most := sum + g.run(func(int) float64 { return 0 }).total; min(shared, all) < free-1e-9 || max(shared, all) > most+1e-9 {
			t.Fatalf("%g and %g us: want %g to %g", shared, all, free, most)
		}
		if g.overlap = false; r.Fine.run(g).total != free {
			t.Fatal("calls of one stream share their links")
		}
	})
}

// modelled is a source that adds a library whose times nothing supports.
type modelled struct {
	fixed
	name string
	us   float64
}

func (m modelled) Times(k Kind) ([]libraries.Time, error) {
	times, err := m.fixed.Times(k)
	if k.Collective == "broadcast" {
		times = nil
	}
	return merged(times, []libraries.Time{simulated(k, m.name, "", "", m.us)}), err
}

// A library that is only modelled wins no call of another; where it is the only one, it
// stands in, and the step has no interval.
func TestModelledNeverWins(t *testing.T) {
	call := func(name string) string {
		return "[[block.op]]\nname = \"" + name + "\"\ncall = \"" + name + "\"\nbytes = 40\n"
	}
	source := modelled{fixed{"nccl": two["nccl"]}, "mpi", 1} // nccl: 10 us
	r, err := Compare(parse(t, head+"[[block]]\n"+call("allreduce")), source, Libraries{Fallback: "nccl"})
	if err != nil {
		t.Fatal(err)
	}
	mpi := r.Singles[0]
	if r.Best.Name != "nccl" || r.Fine.TotalUS != 10 || r.Coarse.TotalUS != 10 || r.Fine.Modelled != 0 || mpi.Name != "mpi" || mpi.TotalUS != 1 || mpi.Modelled != 1 || !mpi.LeftOut || mpi.HighUS != 0 {
		t.Errorf("%s is the best, fine %g us, %+v", r.Best.Name, r.Fine.TotalUS, mpi)
	}
	if _, low, _ := r.Gain(&mpi); low != 0 {
		t.Error("the gain over modelled times has an interval")
	}
	alone := parse(t, head+"[[block]]\n"+call("allreduce")+call("broadcast"))
	if r, err = Compare(alone, source, Libraries{Fallback: "nccl"}); err != nil {
		t.Fatal(err)
	}
	if r.Fine.TotalUS != 11 || r.Fine.Modelled != 1 || r.Fine.HighUS != 0 || r.Best != nil {
		t.Errorf("%+v", r.Fine)
	}
	// Of two that are modelled, the fallback stands in.
	both := Sources{modelled{fixed{}, "mpi", 1}, modelled{fixed{}, "nccl", 10}}
	if r, err = Compare(alone, both, Libraries{Fallback: "nccl"}); err != nil || r.Fine.TotalUS != 20 || r.Best.Name != "nccl" {
		t.Errorf("%v, %+v", err, r)
	}
	if _, err = Compare(alone, both, Libraries{}); err == nil || !strings.Contains(err.Error(), "s.toml:4: allreduce of 40 over 8 ranks: the times of mpi and nccl are only modelled") {
		t.Error(err)
	}
	if r, err = Compare(alone, both, Libraries{Use: []string{"mpi"}}); err != nil || fmt.Sprint(r.Fine.TotalUS, r.Fine.Modelled) != "2 2" {
		t.Errorf("%v, %+v", err, r)
	}
}
