package papers

import (
	"math"

	"github.com/colltune/colltune/search/workload"
)

// GC3 (arXiv 2201.11840v3), whose figure 7 has A100 nodes on the left and DGX-2 on the right.
// NCCL is the library as its cost model chooses; the paper's is 2.8.4.
var (
	ring         = Program{Name: "ring", Family: "ring", Fixed: map[string]string{"rings": "1"}}
	ringX24      = Program{Name: "ring ×24", Family: "ring", Fixed: map[string]string{"rings": "1", "channels": "1"}, Instances: []int{24}}
	ringX1       = Program{Name: "ring ×1", Family: "ring", Fixed: map[string]string{"rings": "1", "channels": "1"}, Instances: []int{1}}
	allPairs     = Program{Name: "all pairs", Family: "all-pairs", Fixed: map[string]string{"phases": "2"}}
	hierarchical = Program{Name: "hierarchical", Family: "hierarchical", Fixed: map[string]string{"apart": "phase"}}
	twoStep      = Program{Name: "two-step", Family: "two-step", Instances: []int{1}}
	allToNext    = Program{Name: "multi-NIC", Family: "multi-nic"}
	allToNextX1  = Program{Name: "multi-NIC ×1", Family: "multi-nic", Instances: []int{1}}
	allToNextX8  = Program{Name: "multi-NIC ×8", Family: "multi-nic", Instances: []int{8}}
)

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// powers lists the sizes from low to high, each some times the one before.
func powers(low, high, factor int64) (all []int64) {
	for n := low; n <= high; n *= factor {
		all = append(all, n)
	}
	return all
}

// The duels of figure 7, each over NCCL.
var (
	a100         = Setting{"dgx-a100", 1, "allreduce"}
	ringA100     = Duel{a100, ring, Library, powers(kib, gib, 2)}
	allPairsA100 = Duel{a100, allPairs, Library, powers(kib, gib, 2)}
	v100         = Setting{"dgx-2", 1, "allreduce"}
	ringV100     = Duel{v100, ring, Library, powers(kib, gib, 4)}
	allPairsV100 = Duel{v100, allPairs, Library, powers(kib, gib, 4)}
	nodesA100    = Duel{Setting{"dgx-a100", 2, "allreduce"}, hierarchical, Library, powers(kib, 4*gib, 4)}
	nodesV100    = Duel{Setting{"dgx-2", 2, "allreduce"}, hierarchical, Library, powers(kib, 4*gib, 4)}
	twoStepA100  = Duel{Setting{"dgx-a100", 32, "alltoall"}, twoStep, Library, append(powers(mib, gib, 4), 2*gib)}
	twoStepV100  = Duel{Setting{"dgx-2", 4, "alltoall"}, twoStep, Library, powers(mib, gib, 4)}
	toNextA100   = Duel{Setting{"dgx-a100", 3, "alltonext"}, allToNext, Library, powers(kib, gib, 4)}
	toNextV100   = Duel{Setting{"dgx-2", 4, "alltonext"}, allToNext, Library, powers(kib, gib, 4)}
)

var gc3 = []Claim{
	{"gc3-1-nccl-ring", "section 7.1.1", "NCCL's ring is about one ring in one channel, 24 times in parallel, with a protocol by size",
		alike, mean(Duel{a100, ringX24, Library, powers(mib, gib, 4)}, mib, gib), "By construction: the modelled NCCL is that of NCCL's source, where the authors found the same."},
	{"gc3-1-threadblock", "section 5.1", "a single threadblock of an A100 cannot fill its NVLinks",
		ahead, speedupAt(Duel{a100, ringX24, ringX1, []int64{gib}}, gib), ""},
	{"gc3-7a-ring", "figure 7a, 7.1.1", "the ring is faster than NCCL from 32 KB to 3 MB",
		number("up to 1.9", 1.9), most(ringA100, 32*kib, 2*mib), "The paper's. On a node of 8 A100 a program of MSCCL, which grew from GC3, was measured 1.81, 1.73 and 1.89 times as fast as NCCL at 64 KiB, 256 KiB and 1 MiB (NDv4, github.com/microsoft/msccl-leaderboard, which does not name the program). The modelled NCCL is newer than the paper's 2.8.4."},
	{"gc3-7a-ring-large", "figure 7a, 7.1.1", "the ring is as fast as NCCL above 32 MB",
		alike.as("matches"), mean(ringA100, 64*mib, gib), ""},
	{"gc3-7a-all-pairs", "figure 7a, 7.1.2", "all pairs is faster than NCCL from 1 KB to 1 MB",
		number("up to 1.8", 1.8), most(allPairsA100, kib, mib), ""},
	{"gc3-7b-ring", "figure 7b, 7", "V100 as A100: the ring is faster than NCCL at middle sizes",
		ahead.as("similar"), most(ringV100, 64*kib, 4*mib), ""},
	{"gc3-7b-all-pairs", "figure 7b, 7", "V100 as A100: all pairs is faster than NCCL at small sizes",
		ahead.as("similar"), most(allPairsV100, kib, mib), ""},
	{"gc3-7c-small", "figure 7c, 7.2", "hierarchical is faster than NCCL at small sizes",
		number("up to 1.4", 1.4), most(nodesA100, kib, mib), ""},
	{"gc3-7c-large", "figure 7c, 7.2", "hierarchical is faster than NCCL above 1 GB",
		number("up to 1.11", 1.11), most(nodesA100, 2*gib, 4*gib), "The paper's, of what ran; the links allow more. At 1 GiB each NIC of 25 GB/s carries 15/8 of an eighth of the buffer in NCCL's rings, 10.1 ms, and an eighth in the hierarchical program, 5.4 ms, which then waits for its NVLinks: 7/4 of the buffer at 240 GB/s, 7.8 ms. So at most 1.29 is to be gained over rings that fill their NICs, and more over those that do not."},
	{"gc3-7c-range", "figure 7c, 7.2", "hierarchical is faster than NCCL over a large range of sizes",
		ahead.as("faster"), mean(nodesA100, kib, 4*gib), "Open: from 4M to 256M the simulated program is behind."},
	{"gc3-7c-kernels", "figure 7c, 7.2", "hierarchical in one kernel is much faster than as a series of NCCL's collectives",
		ahead.as("significantly"), inKernels{nodesA100, hierarchical}, ""},
	{"gc3-7c-kernels-nccl", "figure 7c, 7.2", "NCCL itself is much faster than that series",
		ahead.as("significantly"), inKernels{nodesA100, Library}, ""},
	{"gc3-7d-small", "figure 7d, 7", "V100 as A100: hierarchical is faster than NCCL at small sizes",
		ahead.as("similar"), most(nodesV100, kib, mib), ""},
	{"gc3-7d-large", "figure 7d, 7", "V100 as A100: hierarchical is faster than NCCL above 1 GB",
		ahead.as("similar"), most(nodesV100, 2*gib, 4*gib), "Open: the text has no figure for V100. Two GPUs of a DGX-2 share a NIC, and with a channel for each phase, as the paper schedules it, threadblocks and not NICs are what the simulated program waits for."},
	{"gc3-7e-nccl", "figure 7e, 7.3", "two-step on 256 A100 is significantly faster than NCCL in general",
		ahead.as("significantly"), mean(twoStepA100, mib, 256*mib), ""},
	{"gc3-7e-large", "figure 7e, 7.3", "two-step on 256 A100 is faster than NCCL above 512 MB",
		number("1.2", 1.2), mean(twoStepA100, gib, 2*gib), "The paper's. The simulated fabric loses nothing however many messages cross it: NCCL's all-to-all sends 248 messages to other nodes from each GPU, two-step 31. The authors saw large fluctuations by other tenants' traffic. In the order of the paper's Figure 8, in which all nodes send to node 0 first, two-step was 1.08 times as fast (to 0e5cbe6); the family sends by distance."},
	{"gc3-7e-by-hand", "figure 7e, 7.3", "two-step compiled is faster than two-step written by hand of NCCL's sends and receives",
		number("up to 1.3", 1.3), nil, "Not judged: a series of kernels with copies and synchronisation between them is not simulated."},
	{"gc3-7f", "figure 7f, 7", "V100 as A100: two-step on 64 V100 is faster than NCCL",
		ahead.as("similar"), mean(twoStepV100, mib, 64*mib), ""},
	{"gc3-7g-small", "figure 7g, 7.4", "AllToNext is slower than sends of whole buffers at small sizes",
		behind, speedupAt(toNextA100, kib), ""},
	{"gc3-7g-large", "figure 7g, 7.4", "AllToNext is faster than sends of whole buffers at large sizes",
		number("up to 14.5", 14.5), most(toNextA100, kib, gib), "The arithmetic's, at most 8: a node has 8 NICs of 25 GB/s and the baseline uses one, so that AllToNext is at most 8 times as fast as a baseline that fills its NIC. 14.5 times need a baseline that gets 55 % of a NIC or less (8 / 14.5); the simulated one gets nearly all of it."},
	{"gc3-7g-few", "figure 7g, 7.4", "less parallelism is better at small sizes",
		ahead.as("×1 ahead"), speedupAt(Duel{toNextA100.Setting, allToNextX1, allToNextX8, []int64{kib, gib}}, kib), ""},
	{"gc3-7g-many", "figure 7g, 7.4", "more parallelism is better at large sizes",
		ahead.as("more ahead"), speedupAt(Duel{toNextA100.Setting, allToNextX8, allToNextX1, []int64{kib, gib}}, gib), ""},
	{"gc3-7h-small", "figure 7h, 7", "V100 as A100: AllToNext is slower at small sizes",
		behind.as("similar"), speedupAt(toNextV100, kib), ""},
	{"gc3-7h-large", "figure 7h, 7", "V100 as A100: AllToNext is faster at large sizes",
		ahead.as("similar"), most(toNextV100, kib, gib), ""},
	{"gc3-8-inference", "section 7.5", "inference on 8 A100 takes less GPU time",
		between("1.22 to 1.29", 1.22, 1.29), nil, "Not judged: the models, and the sizes of their calls, are not named."},
	{"gc3-8-training", "section 7.5", "training of a mixture of experts on 256 A100 is faster",
		between("1.10 to 1.89", 1.10, 1.89), nil, "Not judged: the models, and the sizes of their calls, are not named."},
}

// inKernels is evidence by the speedup of a program over GC3's hierarchical allreduce as a
// series of NCCL's collectives: a reduce-scatter in each node, an allreduce between the GPUs
// of each local number, and an allgather in each node.
type inKernels struct {
	Duel
	of Program
}

func (e inKernels) How() string {
	return "geometric mean of the speedups: " + e.name(e.of) + " over NCCL's reduce-scatter in each node, allreduce between nodes and allgather in each node, one after the other; " + e.Setting.String()
}

func (e inKernels) Find(l *Lab) (Found, error) {
	d := Duel{e.Setting, e.of, e.of, e.Sizes}
	c, err := d.Run(l)
	if err != nil {
		return Found{}, err
	}
	sum := 0.0
	for i, n := range e.Sizes {
		c.OverUS[i] = 0
		for _, k := range []workload.Kind{
			{Collective: "reducescatter", Bytes: n, Ranks: 8, Nodes: 1},
			{Collective: "allreduce", Bytes: n / 8, Ranks: e.Nodes, Nodes: e.Nodes},
			{Collective: "allgather", Bytes: n, Ranks: 8, Nodes: 1},
		} {
			us, err := l.Library(e.System, k)
			if err != nil {
				return Found{}, err
			}
			c.OverUS[i] += us
		}
		sum += math.Log(c.speedup(i))
	}
	v := math.Exp(sum / float64(len(e.Sizes)))
	return Found{v, ratioText(v), c.ahead()}, nil
}
