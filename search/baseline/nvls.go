package baseline

import (
	"math"
	"slices"

	"github.com/colltune/colltune/topologies"
)

// nvls reports whether the switches of a node reduce what GPUs send: NVSwitch of the
// third generation, which came with Hopper.
func (s *system) nvls() bool {
	return s.arch.generation >= hopper && s.nvlink && s.switched() && s.n/s.nodes > 1
}

// nvlsBandwidth is the bus bandwidth that the library expects of NVLS, and of its
// trees from two nodes on. Each GPU is the head of a channel, as far as there are
// heads and, between nodes, NICs.
func (s *system) nvlsBandwidth() float64 {
	gpus := s.n / s.nodes
	heads, speeds := min(gpus, nvlsHeads), s.arch.speeds.intra
	most := s.graph.egress * float64(gpus) / float64(gpus-1) // a head need not send to itself
	if s.nodes > 1 {
		heads, speeds = min(heads, s.graph.ways), s.arch.speeds.inter
		most = math.Min(most, s.graph.network)
	}
	inside := 0.0
	for _, speed := range speeds {
		if speed*float64(heads) <= most {
			inside = speed
			break
		}
	}
	// Reduced data comes up while other data goes down.
	up := 2 * inside * nvlsEfficiency[s.arch.generation] * float64(heads-1) / float64(heads)
	switch {
	case heads < 2:
		return 0
	case s.nodes == 1: // nothing crosses: the fastest speed there is
		return float64(heads) * math.Min(up, speeds[0])
	case s.nodes == 2:
		inside *= 2
	}
	return float64(heads) * min(up, inside, nvlsTreePerCh[s.arch.generation][s.column()])
}

// nvlsRate is what the switches of a generation reach: each of n GPUs sends S + S/n and
// receives as much, at limit + share/n GB/s.
type nvlsRate struct{ limit, share float64 }

// nvlsRates by generation. Hopper: one constant for n from 4 to 8 (NVIDIA/nccl#1455).
// Blackwell: fitted to 548 GB/s at n = 4 and 486 at n = 8, the slopes from 256 to 512 MiB
// of NCCL 2.29 on B200 (ai-dynamo/aiconfigurator), and 435 at n = 72
// (coreweave/nccl-tests#43).
var nvlsRates = [...]nvlsRate{hopper: {305, 0}, blackwell: {425, 490}}

// What a call of NVLS takes beyond its bytes, for each GPU of a node: pulling and pushing
// start after one another, and the pipeline fills with chunks that grow with the size.
// Fitted to NCCL 2.29 on 4 and 8 H200 and B200 from 1 MiB.
const (
	nvlsEachUS = 1.5              // us a GPU
	nvlsFillUS = 8                // us a GPU more, once the pipeline is full
	nvlsFill   = float64(8 << 20) // bytes at which it is half of that
)

// nvlsClock returns the time of an all-reduce by the switches, in microseconds: the
// launch, the start, and the bytes. Over nodes the switches' trees are as fast as the
// library itself counts, and each level adds its latency.
func (s *system) nvlsClock(bytes int64) float64 {
	size, gpus := float64(bytes), float64(s.n/s.nodes)
	rate := nvlsRates[s.arch.generation]
	moving := size * (1 + 1/gpus) / (1000 * (rate.limit + rate.share/gpus))
	if s.nodes > 1 {
		across := s.nvlsBandwidth() * float64(s.n) / s.ringSteps("allreduce")
		moving = math.Max(moving, size/(1000*across))
	}
	start := math.Min(gpus, nvlsHeads) * (nvlsEachUS + nvlsFillUS*size/(size+nvlsFill))
	launch := float64(s.t.Protocols[topologies.Simple].Launch)
	return launch + start + moving + 2*math.Log2(float64(s.nodes))*nvlsTreeAcross
}

// SwitchesReduce reports whether NVLS has a reduction (NCCL 2.29, ncclNvlsSupported): sums
// of words and floats, and the least and greatest of all but f32 and f64.
func SwitchesReduce(op, dtype string) bool {
	switch op {
	case "sum":
		return slices.Contains([]string{"f16", "bf16", "f32", "f64", "i32", "u32", "i64", "u64"}, dtype)
	case "min", "max":
		return slices.Contains([]string{"f16", "bf16", "i32", "u32", "i64", "u64"}, dtype)
	}
	return false
}
