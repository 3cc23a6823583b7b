package tuningtest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/ncclnames"
	"github.com/colltune/colltune/results/tuning"
)

// maxCTAs is the most threadblocks of a symmetric kernel; more are cut.
const maxCTAs = 64

func readSymmetric(name string, text []byte) (Reader, error) {
	v, err := variables(name, text)
	if err != nil {
		return nil, err
	}
	value, set := v["NCCL_SYM_KERNEL"]
	collective, kernel, prefixed := strings.Cut(value, ":")
	if !prefixed {
		collective, kernel = "", value
	}
	ctas, _ := strconv.Atoi(v["NCCL_SYM_CTAS"])
	c := tuning.Config{Library: "nccl", Kernel: kernel, Channels: min(max(ctas, 0), maxCTAs)}
	if !set || kernel == "^" || prefixed && !slices.Contains(symmetricKernels(collective), kernel) || strings.Contains(kernel, "Tma") && v["NCCL_SYM_TMA_ENABLE"] != "1" {
		c.Kernel = ""
	}
	return symmetricEnv(c), nil
}

// symmetricKernels lists those of a collective.
func symmetricKernels(collective string) []string {
	for _, row := range ncclnames.SymmetricKernels {
		if row.Collective == collective {
			return row.Kernels
		}
	}
	return nil
}

type symmetricEnv tuning.Config

// Choose returns the kernel, for calls of its collective.
func (e symmetricEnv) Choose(call tuning.Scope, _ int64) (tuning.Config, bool) {
	if !slices.Contains(symmetricKernels(call.Collective), e.Kernel) {
		return tuning.Config{}, false
	}
	return tuning.Config(e), true
}
