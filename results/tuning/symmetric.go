package tuning

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/ncclnames"
)

// maxSymmetricCTAs is the most threadblocks of a symmetric kernel; more are cut.
const maxSymmetricCTAs = 64

// ncclSymmetric is NCCL's environment for its symmetric kernels. It is read once a process:
// one kernel, with one number of threadblocks, for all sizes, and no symmetric kernel for
// the collectives that the kernel is not of.
var ncclSymmetric = Format{
	Name: "nccl-sym-env", Doc: "the variables that make NCCL run one of its symmetric kernels, a file a collective and number of ranks",
	Pattern: `colltune-table-.*-nccl-sym\.env`,
	Load:    "set -a; . ./<file>; the variables hold for a whole process, are no stable interface, and need buffers registered as windows",
	Lacks: func(s Scope, c Config) string {
		switch {
		case c.Library != "nccl":
			return "it is of " + c.Library + ", and the variables are nccl's"
		case !slices.Contains(symmetricKernels(s.Collective), c.Kernel):
			return "its kernel is none of NCCL's symmetric kernels of " + s.Collective
		}
		return ""
	},
	Same: func(c Config) Config {
		return Config{Library: c.Library, Kernel: c.Kernel, Channels: min(c.Channels, maxSymmetricCTAs)}
	},
	One: true,
	Write: func(rules []Rule, head []string) (files []File, told []string) {
		for _, of := range scopes(rules) {
			r := of[0]
			var b bytes.Buffer
			comment(&b, head)
			fmt.Fprintf(&b, "# %s\nexport NCCL_SYM_KERNEL=%s\n", r.Scope, r.Kernel)
			if r.Channels > 0 {
				fmt.Fprintf(&b, "export NCCL_SYM_CTAS=%d\n", min(r.Channels, maxSymmetricCTAs))
			}
			if strings.Contains(r.Kernel, "Tma") {
				b.WriteString("export NCCL_SYM_TMA_ENABLE=1\n")
			}
			files = append(files, File{"colltune-table-" + scopeWord(r.Scope) + "-nccl-sym.env", b.Bytes()})
			told = append(told, fmt.Sprintf("%s: %s is for all sizes, those beyond %d to %d bytes too", r.Scope, r.Kernel, r.First, of[len(of)-1].Last))
		}
		return files, told
	},
	Read: func(name string, text []byte) (Reader, error) {
		v, err := variables(name, text)
		if err != nil {
			return nil, err
		}
		kernel, set := v["NCCL_SYM_KERNEL"]
		ctas, _ := strconv.Atoi(v["NCCL_SYM_CTAS"])
		c := Config{Library: "nccl", Kernel: kernel, Channels: min(max(ctas, 0), maxSymmetricCTAs)}
		if !set || kernel == "^" || strings.Contains(kernel, "Tma") && v["NCCL_SYM_TMA_ENABLE"] != "1" {
			c.Kernel = ""
		}
		return symmetricEnv(c), nil
	},
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

type symmetricEnv Config

// Choose returns the kernel, for calls of its collective.
func (e symmetricEnv) Choose(call Scope, _ int64) (Config, bool) {
	if !slices.Contains(symmetricKernels(call.Collective), e.Kernel) {
		return Config{}, false
	}
	return Config(e), true
}
