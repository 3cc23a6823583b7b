package tuningtest

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/results/tuning"
)

// limits are in bytes by compute capability and number of ranks.
type limits map[string]map[int]int64

type vllmLimits struct{ custom, symmetric limits }

// Lines of the dictionaries.
var (
	vllmOpens      = lazyregexp.New(`^(CUSTOM_ALL_REDUCE_MAX_SIZES|SYMM_MEM_ALL_REDUCE_MAX_SIZES) = \{$`)
	vllmCapability = lazyregexp.New(`^"(\d+\.\d+)": \{$`)
	vllmLimit      = lazyregexp.New(`^(\d+): ([^,#]+),(?: *#.*)?$`)
	vllmProduct    = lazyregexp.New(`^(\d+)(?: (\*|//) (\d+|KiB|MiB))?$|^(KiB|MiB)(?: (//) (\d+))?$`)
)

// readVLLM reads the two dictionaries as Python would, in the form in which vLLM's source has
// them, a line a limit: no more of Python is known.
func readVLLM(name string, text []byte) (Reader, error) {
	l := vllmLimits{limits{}, limits{}}
	var into limits
	capability := ""
	limits := 0
	for n, line := range entries(text) {
		switch {
		case into == nil && vllmOpens().MatchString(line):
			into = l.custom
			if strings.HasPrefix(line, "SYMM_MEM_ALL_REDUCE_MAX_SIZES") {
				into = l.symmetric
			}
		case into != nil && capability == "" && vllmCapability().MatchString(line):
			capability = vllmCapability().FindStringSubmatch(line)[1]
		case capability != "" && vllmLimit().MatchString(line):
			m := vllmLimit().FindStringSubmatch(line)
			ranks, err := strconv.Atoi(m[1])
			bytes, ok := pythonSize(strings.TrimSpace(m[2]))
			if err != nil || !ok {
				return nil, lineError(name, n, "%.60q: want RANKS: BYTES,", line)
			}
			if into[capability] == nil {
				into[capability] = map[int]int64{}
			}
			into[capability][ranks] = bytes
			if limits++; limits > maxEntries {
				return nil, lineError(name, n, "more than %d limits", maxEntries)
			}
		case line == "}," && capability != "":
			capability = ""
		case line == "}" && into != nil && capability == "":
			into = nil
		default:
			return nil, lineError(name, n, "%.60q: want a dictionary of vLLM's limits, a line a limit", line)
		}
	}
	if into != nil {
		return nil, lineError(name, bytes.Count(text, []byte("\n"))+1, "the last dictionary does not end")
	}
	return l, nil
}

// pythonSize reads 65536, 64 * MiB or MiB // 2.
func pythonSize(text string) (int64, bool) {
	m := vllmProduct().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	unit := map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20}
	value := func(s string) int64 {
		if u, ok := unit[s]; ok {
			return u
		}
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return -1
		}
		return n
	}
	left, operator, right := value(m[1]+m[4]), m[2]+m[5], value(m[3]+m[6])
	switch {
	case left < 0 || operator != "" && right < 0 || operator == "//" && right == 0:
		return 0, false
	case operator == "*":
		return left * right, true
	case operator == "//":
		return left / right, true
	}
	return left, true
}

// Choose goes down the rungs, where symmetric memory is enabled and the GPUs are joined by
// NVLink: the tensor is of bfloat16, and its size a multiple of 16 bytes for the custom
// kernels, of 4 for those of symmetric memory.
func (l vllmLimits) Choose(call tuning.Scope, bytes int64) (tuning.Config, bool) {
	if call.Collective != "allreduce" {
		return tuning.Config{}, false
	}
	capability := system("vllm", call.System)
	most := int64(8 << 20) // its own kernels never run from there on
	if of, ok := l.custom[capability]; ok {
		if _, ok := of[call.Ranks]; ok {
			most = min(most, of[call.Ranks])
		}
	}
	kernel := "nccl"
	if limit, ok := l.symmetric[capability][call.Ranks]; ok && bytes%4 == 0 && bytes <= limit {
		kernel = "symm_mem"
	}
	if slices.Contains([]int{2, 4, 6, 8}, call.Ranks) && bytes%16 == 0 && bytes < most {
		kernel = "custom"
	}
	return tuning.Config{Library: "vllm", Kernel: kernel}, true
}

type sglangEnv struct{ push, most, pull int64 } // in bytes; −1: not set

func readSGLang(name string, text []byte) (Reader, error) {
	v, err := variables(name, text)
	if err != nil {
		return nil, err
	}
	e := sglangEnv{-1, 16 << 20, -1}
	for key, into := range map[string]*int64{
		"SGLANG_CUSTOM_ALL_REDUCE_V2_MAX_SIZE_KB":        &e.most,
		"SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PUSH_SIZE_KB": &e.push,
		"SGLANG_FORCE_CUSTOM_ALL_REDUCE_V2_PULL_SIZE_KB": &e.pull,
	} {
		if value, ok := v[key]; ok {
			n, err := strconv.ParseInt(value, 10, 40)
			if err != nil {
				return nil, lineError(name, 1, "%s=%.20q: want a whole number", key, value)
			}
			*into = n << 10
		}
	}
	return e, nil
}

// Choose goes down the rungs. Tables of SGLang's own for a GPU, which can lower limits that
// are not forced, are not known here.
func (e sglangEnv) Choose(call tuning.Scope, bytes int64) (tuning.Config, bool) {
	if call.Collective != "allreduce" {
		return tuning.Config{}, false
	}
	most := max(e.most, 1<<10)
	if e.pull >= 0 {
		most = e.pull
	}
	kernel := "nccl"
	switch {
	case bytes%16 != 0:
	case bytes <= e.push:
		kernel = "1shot_push"
	case bytes <= most:
		kernel = "own"
	}
	return tuning.Config{Library: "sglang", Kernel: kernel}, true
}
