package sim

import (
	"math"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// ncclRing is the equivalent of NCCL's ring (GC3 section 7.1.1): one logical ring, an
// instance for each channel that NCCL uses at that size, with the best protocol there.
func ncclRing(t testing.TB, top *topologies.Topology, cache map[int]*Prepared, collective string, bytes int64) float64 {
	t.Helper()
	n := len(top.Ranks)
	best := math.Inf(1)
	for _, proto := range topologies.AllProtocols {
		// A channel for every n bytes (enqueue.cc's thresholds).
		threshold := int64(512 * 64)
		if proto != topologies.Simple {
			threshold = int64(512 * 8 * n)
		}
		channels := int(min(max(bytes/threshold, 1), 24))
		p := cache[channels]
		if p == nil {
			program := ringAllReduce(order(n), channels)
			if collective == "all_gather" {
				program = railAllGather(n, channels)
			}
			var err error
			if p, err = Prepare(program, top); err != nil {
				t.Fatal(err)
			}
			cache[channels] = p
		}
		r, err := p.Run(Knobs{Bytes: bytes, Protocol: proto})
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, r.TimeUS)
	}
	return best
}

func TestA100AsMeasured(t *testing.T) {
	var errs []float64
	for _, c := range []struct {
		file, collective string
		nodes, gpus      int
		from             int64
	}{
		{"msccl_leaderboard_1xndv4_allreduce", "all_reduce", 1, 8, 0},
		{"abci2_a100_nccl", "all_reduce", 1, 8, 0},
		{"a100_sxm4_80g_2to8gpu_abhivijay", "all_reduce", 1, 8, 0},
		{"a100_sxm4_80g_2to8gpu_abhivijay", "all_gather", 1, 8, 16 << 20}, // below, the host's launches
		{"sophia_dgxa100_2node_set1", "all_gather", 2, 8, 0},
	} {
		top := system(t, "dgx-a100", c.nodes)
		cache := map[int]*Prepared{}
		var these []float64
		seen := map[int64]bool{}
		for _, r := range measured(t, c.file) {
			if r.collective != c.collective || r.nodes != c.nodes || r.gpus != c.gpus || r.algo != "auto" || !r.inPlace || r.bytes < c.from || r.bytes < 64 || seen[r.bytes] {
				continue
			}
			seen[r.bytes] = true
			got := ncclRing(t, top, cache, c.collective, r.bytes)
			these = append(these, got/r.time-1)
			t.Logf("%-12.12s %s %dx%d %10d: measured %8.1f simulated %8.1f (%+.0f %%)", c.file, c.collective, c.nodes, c.gpus, r.bytes, r.time, got, 100*(got/r.time-1))
		}
		median, p95 := spread(these)
		t.Logf("%s %s %dx%d: median %.1f %%, p95 %.1f %% of %d", c.file, c.collective, c.nodes, c.gpus, 100*median, 100*p95, len(these))
		errs = append(errs, these...)
	}
	if median, p95 := spread(errs); median > 0.13 || p95 > 0.45 {
		t.Errorf("median error %.1f %%, p95 %.1f %%", 100*median, 100*p95)
	} else {
		t.Logf("all: median %.1f %%, p95 %.1f %%", 100*median, 100*p95)
	}
}

// The best of MSCCL's programs on one NDv4 machine, against the best of ours.
func TestMSCCLOnA100(t *testing.T) {
	top := system(t, "dgx-a100", 1)
	programs := map[string]*ir.Program{
		"all-pairs 1": allPairsAllReduce(8, 1),
		"all-pairs 2": allPairsAllReduce(8, 2),
		"all-pairs 4": allPairsAllReduce(8, 4),
		"ring 4x8":    ringOverChannels(8, 4, 8),
		"ring 1x24":   ringAllReduce(order(8), 24),
	}
	var errs []float64
	for _, r := range measured(t, "msccl_leaderboard_1xndv4_allreduce") {
		if r.algo != "msccl:leaderboard" || r.bytes < 1024 {
			continue
		}
		best, which := math.Inf(1), ""
		for _, name := range []string{"all-pairs 1", "all-pairs 2", "all-pairs 4", "ring 4x8", "ring 1x24"} {
			for _, proto := range topologies.AllProtocols {
				if got := timeOf(t, programs[name], top, Knobs{Bytes: r.bytes, Protocol: proto}); got < best {
					best, which = got, name+" "+proto.String()
				}
			}
		}
		errs = append(errs, best/r.time-1)
		t.Logf("%10d: measured %8.1f simulated %8.1f (%+.0f %%) %s", r.bytes, r.time, best, 100*(best/r.time-1), which)
	}
	if median, p95 := spread(errs); median > 0.06 || p95 > 0.14 {
		t.Errorf("median %.1f %%, p95 %.1f %%", 100*median, 100*p95)
	} else {
		t.Logf("median %.1f %%, p95 %.1f %%", 100*median, 100*p95)
	}
}

// railAllGather is a ring on each channel; over nodes of 8 each one enters and
// leaves at other GPUs, so that each channel uses another NIC.
func railAllGather(n, channels int) *ir.Program {
	b := build("allgather", n, channels, true)
	ops := []ir.Op{ir.Send}
	for range n - 2 {
		ops = append(ops, ir.RecvCopySend)
	}
	ops = append(ops, ir.Recv)
	for ch := range channels {
		ring := order(n)
		for i := range ring {
			ring[i] = i/8*8 + (i+ch)%8
		}
		for i, r := range ring {
			b.tb(r, ring[(i+1)%n], ring[(i+n-1)%n], ch, ops...)
		}
	}
	return b.p
}

// ringOverChannels is GC3's ring: chunk i of the ring on channel i mod channels.
func ringOverChannels(n, channels, instances int) *ir.Program {
	b := build("allreduce", n, n*instances, true)
	for r := range n {
		for inst := range instances {
			for ch := range channels {
				var ops []ir.Op
				for i := range n - 1 { // first round: the chunk that has come i hops
					if (r-i+n)%n%channels != ch {
						continue
					}
					if i == 0 {
						ops = append(ops, ir.Send)
					} else {
						ops = append(ops, ir.RecvReduceSend)
					}
				}
				for i := range n { // second round
					if (r+1-i+n)%n%channels != ch {
						continue
					}
					switch i {
					case 0:
						ops = append(ops, ir.RecvReduceCopySend)
					case n - 1:
						ops = append(ops, ir.Recv)
					default:
						ops = append(ops, ir.RecvCopySend)
					}
				}
				b.tb(r, (r+1)%n, (r+n-1)%n, inst*channels+ch, ops...)
			}
		}
	}
	return b.p
}

// dgx1Rings are the rings that NCCL uses on 8 V100: over the double links and over
// the single ones, both ways, two channels for each link.
func dgx1Rings() *ir.Program {
	double := []int{0, 1, 3, 2, 6, 7, 5, 4}
	single := []int{0, 2, 1, 5, 6, 4, 7, 3}
	back := func(r []int) []int {
		b := slices.Clone(r)
		slices.Reverse(b)
		return b
	}
	b := build("allreduce", 8, 8*12, true)
	channel := 0
	for _, ring := range [][]int{double, double, double, double, single, single} {
		for _, ranks := range [][]int{ring, back(ring)} {
			for r, g := range ringAllReduce(ranks, 1).GPUs {
				tb := g.Threadblocks[0]
				tb.Channel = channel
				b.p.GPUs[r].Threadblocks = append(b.p.GPUs[r].Threadblocks, tb)
			}
			channel++
		}
	}
	return b.p
}

func TestV100AsMeasured(t *testing.T) {
	top := system(t, "dgx-1", 1)
	p, err := Prepare(dgx1Rings(), top)
	if err != nil {
		t.Fatal(err)
	}
	var errs []float64
	for _, r := range measured(t, "v100_sxm2_8gpu_occl") {
		// Below, the host's launches are what was measured.
		if r.collective != "all_reduce" || r.gpus != 8 || r.bytes < 8<<20 {
			continue
		}
		best := math.Inf(1)
		for _, proto := range topologies.AllProtocols {
			got, err := p.Run(Knobs{Bytes: r.bytes, Protocol: proto})
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, got.TimeUS)
		}
		errs = append(errs, best/r.time-1)
		t.Logf("%10d: measured %8.1f simulated %8.1f (%+.0f %%)", r.bytes, r.time, best, 100*(best/r.time-1))
	}
	if len(errs) == 0 {
		t.Fatal("no row to compare with")
	}
	if median, p95 := spread(errs); median > 0.15 {
		t.Errorf("median %.1f %%, p95 %.1f %%", 100*median, 100*p95)
	}
}
