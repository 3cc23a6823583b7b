package tuning

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// sglang is the environment of SGLang's custom all-reduce (python/sglang/srt/distributed/
// device_communicators/custom_all_reduce_v2.py, srt/environ.py): the size in KiB up to which
// it pushes, that up to which it runs kernels of its own at all, else NCCL. It is read once
// a process, and holds for CUDA graphs and eager calls, and for any number of ranks.
var sglang = Format{
	Name: "sglang", Doc: "the variables of SGLang's custom all-reduce, a file a number of ranks",
	Pattern: `colltune-table-.*-sglang\.env`,
	Load:    "set -a; . ./<file>; the variables hold for a whole process",
	Lacks:   sglangLacks,
	Same:    func(c Config) Config { return Config{Library: "sglang", Kernel: sglangKernels[sglangRung(c)]} },
	Rung:    sglangRung,
	Write:   writeSGLang,
}

// The rungs, in the order in which SGLang tries them. own is SGLang's choice among kernels.
const (
	sglangPush = iota
	sglangOwn
	sglangNCCL
)

var sglangKernels = []string{"1shot_push", "own", "nccl"}

func sglangRung(c Config) int {
	switch {
	case c.Library == "nccl" || c.Kernel == sglangKernels[sglangNCCL]:
		return sglangNCCL
	case strings.Contains(strings.ToLower(c.Kernel), "push"):
		return sglangPush
	}
	return sglangOwn
}

func sglangLacks(s Scope, c Config) string {
	kernel := strings.ToLower(c.Kernel)
	switch {
	case c.Library != "sglang" && c.Library != "nccl":
		return "it is of " + c.Library + ", and SGLang chooses between its own kernels and nccl"
	case s.Collective != "allreduce":
		return "the variables are of all-reduce alone"
	case c.Library == "sglang" && strings.Contains(kernel, "trtllm"):
		return "its kernel is TensorRT-LLM's"
	case c.Library == "sglang" && (strings.Contains(kernel, "1shot_pull") || strings.Contains(kernel, "2shot_push") || strings.Contains(kernel, "lamport")):
		return "no variable says where SGLang begins with that kernel"
	}
	return ""
}

// The variables.
const (
	sglangMost       = "SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB"        // lowers SGLang's own limits
	sglangForcedPush = "SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PUSH_SIZE_KB" // replaces that of pushing
	sglangForcedPull = "SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PULL_SIZE_KB" // and that of all its kernels
)

// sglangDefault is the value of sglangMost where it is not set, and sglangLeast the size in
// bytes to which SGLang pushes however low that is.
const (
	sglangDefault = 16 << 10
	sglangLeast   = 1 << 10
)

func sglangRan(c Config, bytes int64) Config {
	if bytes > sglangDefault<<10 && !namesKernel(c.Kernel, "shot", "push", "pull", "lamport", "symm", "multimem", "trtllm", "flashinfer") {
		return Config{Library: "nccl"}
	}
	return c
}

func writeSGLang(rules []Rule, o Options) (files []File, told []string) {
	for _, of := range scopes(rules) {
		s := of[0].Scope
		var push, own int64 // the last sizes
		for _, r := range of {
			switch sglangRung(r.Config) {
			case sglangPush:
				push = r.Last
				own = r.Last
			case sglangOwn:
				own = r.Last
			}
		}
		for _, last := range slices.Compact([]int64{push, own}) {
			if last%1024 != 0 {
				told = append(told, fmt.Sprintf("%s: the range up to %d bytes ends at %d: the variables are in KiB", s, last, kib(last)<<10))
			}
		}
		var b bytes.Buffer
		comment(&b, o.Head)
		fmt.Fprintf(&b, "# %s\n", s)
		switch {
		case push > 0:
			fmt.Fprintf(&b, "export %s=%d\nexport %s=%d\n", sglangForcedPush, kib(push), sglangForcedPull, kib(own))
			told = append(told, fmt.Sprintf("%s: between %d and %d bytes SGLang may pull in one shot or reduce in the switch, where its own tables say so", s, push, own))
		default:
			fmt.Fprintf(&b, "export %s=%d\n", sglangMost, kib(own))
			if own < sglangLeast {
				told = append(told, fmt.Sprintf("%s: SGLang runs its own kernel up to %d bytes all the same: --disable-custom-all-reduce turns it off", s, sglangLeast))
			}
			told = append(told, fmt.Sprintf("%s: its own limits for the GPU may be lower than %d bytes, and then count", s, own))
		}
		files = append(files, File{"colltune-table-" + scopeWord(s) + "-sglang.env", b.Bytes()})
	}
	return files, told
}

// kib is a size in KiB, rounded down: SGLang's limits are inclusive.
func kib(bytes int64) int64 { return bytes >> 10 }
