package tuning

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
)

// mscclppTuning is MSCCL++'s tuned configuration (python/mscclpp_benchmark/tuning_config.py
// at 1f5f065d): by GPU and number of ranks, for the size of a rank's input. The entry of the
// largest size that is not above the call's counts, below the first entry the first.
var mscclppTuning = Format{
	Name: "mscclpp-tuning", Doc: "MSCCL++'s tuned configuration",
	Pattern: `colltune-table-mscclpp\.json`,
	Load:    "python3 -m mscclpp_benchmark.bench_collective --config-path <file>, or TunedConfigStore.load_path(<file>) for a Comm",
	Lacks: func(s Scope, c Config) string {
		switch {
		case c.Library != "mscclpp":
			return "it is of " + c.Library + ", and the file is mscclpp's"
		case s.Collective != "allreduce" && s.Collective != "allgather":
			return "MSCCL++ has kernels of its own for all-reduce and all-gather alone"
		case c.Kernel == "":
			return "its rows do not state the kernel"
		}
		return ""
	},
	Same: func(c Config) Config {
		return Config{Library: c.Library, Kernel: c.Kernel, Channels: c.Channels, Threads: c.Threads, Registered: c.Registered}
	},
	System: skuOf,
	Write:  writeMSCCLPP,
}

// knownSKUs are the names of GPUs that MSCCL++ finds within others.
var knownSKUs = []string{"GB300", "GB200", "MI300X", "H100", "A100"}

var noSKU = lazyregexp.New(`[^A-Z0-9]+`)

// skuOf is MSCCL++'s name of a GPU.
func skuOf(system string) string {
	upper := strings.ToUpper(system)
	for _, known := range knownSKUs {
		if strings.Contains(upper, known) {
			return known
		}
	}
	if s := strings.Trim(noSKU().ReplaceAllString(upper, "_"), "_"); s != "" {
		return s
	}
	return "UNKNOWN"
}

// inputs is how many ranks' inputs the size of a call counts.
func inputs(s Scope) int64 {
	if s.Collective == "allgather" {
		return int64(max(s.Ranks, 1))
	}
	return 1
}

type mscclppEntry struct {
	Size       int64  `json:"message_size"`
	Algorithm  string `json:"algorithm"`
	Blocks     int    `json:"nblocks,omitempty"`
	Threads    int    `json:"nthreads,omitempty"`
	Registered bool   `json:"symmetric_memory,omitempty"`
}

type mscclppProfile struct {
	SKU         string                    `json:"sku,omitempty"`
	Scale       int                       `json:"scale,omitempty"`
	Collectives map[string][]mscclppEntry `json:"collectives"`
}

type mscclppFile struct {
	Provenance []string         `json:"provenance"`
	Version    int              `json:"version"`
	Profiles   []mscclppProfile `json:"profiles"`
}

func writeMSCCLPP(rules []Rule, o Options) (_ []File, told []string) {
	d := mscclppFile{o.Head, 1, []mscclppProfile{}}
	for _, of := range scopes(rules) {
		s := of[0].Scope
		sku := ""
		if s.System != "" {
			sku = skuOf(s.System)
		}
		at := slices.IndexFunc(d.Profiles, func(p mscclppProfile) bool { return p.SKU == sku && p.Scale == s.Ranks })
		if at < 0 {
			at = len(d.Profiles)
			d.Profiles = append(d.Profiles, mscclppProfile{sku, s.Ranks, map[string][]mscclppEntry{}})
			switch {
			case sku == "":
				told = append(told, fmt.Sprintf("system is not stated: the entries over %d ranks are for any GPU", s.Ranks))
			case !slices.Contains(knownSKUs, sku):
				told = append(told, fmt.Sprintf("sku %s is of the system stated: MSCCL++ compares it with the GPU's own name, such as NVIDIA_H200", sku))
			}
		}
		for i, r := range of {
			size := (r.First + inputs(s) - 1) / inputs(s)
			d.Profiles[at].Collectives[s.Collective] = append(d.Profiles[at].Collectives[s.Collective], mscclppEntry{size, r.Kernel, r.Channels, r.Threads, r.Registered})
			if i > 0 && r.First > of[i-1].Last+1 {
				told = append(told, fmt.Sprintf("%s: from %d to %d bytes the file goes on with %s", s, of[i-1].Last+1, r.First-1, of[i-1].Kernel))
			}
			if size*inputs(s) != r.First {
				told = append(told, fmt.Sprintf("%s: the range from %d bytes begins at %d: the file has only sizes of a rank's input", s, r.First, size*inputs(s)))
			}
		}
		told = append(told, fmt.Sprintf("%s: the file goes on below %d bytes with %s, and beyond %d with %s", s, of[0].First, of[0].Kernel, of[len(of)-1].Last, of[len(of)-1].Kernel))
	}
	return []File{{"colltune-table-mscclpp.json", indented(d)}}, told
}
