package tuning

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// vllm is the limits by which vLLM chooses among its all-reduces (vllm/distributed/
// device_communicators/all_reduce_utils.py), by compute capability and number of ranks: its
// own kernels below one limit, those of symmetric memory up to another, else NCCL.
var vllm = Format{
	Name: "vllm", Doc: "the dictionaries of vLLM's limits for its all-reduces",
	Pattern: `colltune_table_vllm\.py`,
	Load:    "put <file>'s dictionaries into vllm/distributed/device_communicators/all_reduce_utils.py; they count where symmetric memory is enabled (VLLM_ALLREDUCE_USE_SYMM_MEM=1)",
	Lacks:   vllmLacks,
	Same:    func(c Config) Config { return Config{Library: "vllm", Kernel: vllmKernels[vllmRung(c)]} },
	Rung:    vllmRung, System: capabilityOf,
	Write: writeVLLM,
}

// The rungs, in the order in which vLLM tries them, and what it runs there.
const (
	vllmCustom = iota
	vllmSymmetric
	vllmNCCL
)

var vllmKernels = []string{"custom", "symm_mem", "nccl"}

// vllmMost is the size from which vLLM never runs its own kernels, and vllmRanks the numbers
// of ranks for which it has them (custom_all_reduce.py).
const vllmMost = 8 << 20

var vllmRanks = []int{2, 4, 6, 8}

// capabilities are the compute capabilities of GPUs.
var capabilities = generations{
	{"b300", "10.3"}, {"b200", "10.0"}, {"h100", "9.0"}, {"h200", "9.0"}, {"h20", "9.0"}, {"l40", "8.9"}, {"a100", "8.0"}, {"v100", "7.0"},
}

// capabilityOf returns a system's compute capability; "": it is not known.
func capabilityOf(system string) string { return capabilities.of(system) }

// vllmShipped is vLLM's own limits (00d618aab) in KiB, by capability, for vllmRanks: below the
// first its custom kernels run, up to the second those of symmetric memory. GPUs of other
// capabilities have no second.
var vllmShipped = map[string]struct{ custom, symmetric [4]int64 }{
	"9.0":  {[4]int64{65536, 32768, 512, 256}, [4]int64{65536, 32768, 65536, 65536}},
	"10.0": {[4]int64{2048, 2048, 1024, 1024}, [4]int64{8192, 32768, 131072, 131072}},
	"10.3": {[4]int64{4096, 4096, 8192, 4096}, [4]int64{4096, 32768, 32768, 65536}},
}

func vllmRan(s Scope, c Config, bytes int64) Config {
	capability, i := capabilityOf(s.System), slices.Index(vllmRanks, s.Ranks)
	if capability == "" || i < 0 || namesKernel(c.Kernel, "symm", "multimem", "flashinfer", "trtllm", "mnnvl", "quick", "aiter", "nccl") {
		return c
	}
	custom, symmetric := int64(vllmMost), int64(0)
	if own, ok := vllmShipped[capability]; ok {
		custom, symmetric = min(custom, own.custom[i]<<10), own.symmetric[i]<<10
	}
	switch {
	case bytes < custom:
	case bytes <= symmetric:
		c.Kernel = vllmKernels[vllmSymmetric]
	default:
		return Config{Library: "nccl"}
	}
	return c
}

func vllmRung(c Config) int {
	kernel := strings.ToLower(c.Kernel)
	switch {
	case c.Library == "nccl" || kernel == vllmKernels[vllmNCCL]:
		return vllmNCCL
	case strings.Contains(kernel, "symm") || strings.Contains(kernel, "multimem"):
		return vllmSymmetric
	default:
		return vllmCustom
	}
}

func vllmLacks(s Scope, c Config) string {
	switch {
	case c.Library != "vllm" && c.Library != "nccl":
		return "it is of " + c.Library + ", and vLLM chooses between its own kernels and nccl"
	case s.Collective != "allreduce":
		return "vLLM has kernels of its own for all-reduce alone"
	case !slices.Contains(vllmRanks, s.Ranks):
		return "vLLM has kernels of its own for 2, 4, 6 and 8 ranks alone"
	case capabilityOf(s.System) == "":
		return "system names no GPU whose compute capability is known, and vLLM's limits are by that: state it, as in --library NAME=FILE,system=h200"
	}
	return ""
}

// limits are in bytes by capability and ranks.
type limits map[string]map[int]int64

func (l limits) set(capability string, ranks int, bytes int64) {
	if l[capability] == nil {
		l[capability] = map[int]int64{}
	}
	l[capability][ranks] = bytes
}

const (
	vllmCustomName    = "CUSTOM_ALL_REDUCE_MAX_SIZES"
	vllmSymmetricName = "SYMM_MEM_ALL_REDUCE_MAX_SIZES"
)

func writeVLLM(rules []Rule, o Options) (_ []File, told []string) {
	custom, symmetric := limits{}, limits{}
	for _, of := range scopes(rules) {
		s := of[0].Scope
		capability := capabilityOf(s.System)
		var own int64 // the first size that is not the custom kernels'
		for _, r := range of {
			switch vllmRung(r.Config) {
			case vllmCustom:
				own = r.Last + 1
			case vllmSymmetric:
				symmetric.set(capability, s.Ranks, r.Last)
			}
		}
		if own > vllmMost {
			told = append(told, fmt.Sprintf("%s: vLLM's own kernels are faster up to %d bytes, and vLLM uses them below %d alone", s, own-1, vllmMost))
			own = vllmMost
		}
		custom.set(capability, s.Ranks, own)
		if _, ok := symmetric[capability][s.Ranks]; !ok {
			told = append(told, fmt.Sprintf("%s: no times of vLLM's kernels of symmetric memory make them the fastest anywhere: from %d bytes on vLLM runs them all the same, up to its own limit", s, own))
		}
	}
	var b bytes.Buffer
	comment(&b, o.Head)
	b.WriteString("# A size is in bytes: below it vLLM's own kernels run (custom), up to it those of symmetric memory.\n")
	for _, d := range []struct {
		name string
		of   limits
	}{{vllmCustomName, custom}, {vllmSymmetricName, symmetric}} {
		if len(d.of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s = {\n", d.name)
		for _, capability := range slices.Sorted(maps.Keys(d.of)) {
			fmt.Fprintf(&b, "    %q: {\n", capability)
			for _, ranks := range slices.Sorted(maps.Keys(d.of[capability])) {
				fmt.Fprintf(&b, "        %d: %d,\n", ranks, d.of[capability][ranks])
			}
			b.WriteString("    },\n")
		}
		b.WriteString("}\n")
	}
	return []File{{"colltune_table_vllm.py", b.Bytes()}}, told
}
