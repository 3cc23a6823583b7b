package tuning

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/ncclnames"
)

// maxSymmetricCTAs is the most threadblocks of a symmetric kernel; more are cut.
const maxSymmetricCTAs = 64

// symmetricReleases are those of NCCL that have NCCL_SYM_KERNEL. Up to 2.30 (src/sym_kernels.cc)
// it is a kernel's name, and one of no kernel leaves all calls to the general ones. From
// symmetricByCollective on (src/tuning/cost_model.cc) it is a list of COLLECTIVE:NAME: a bare
// name takes all other kernels from all collectives, whose calls then fail.
var symmetricReleases = []string{"2.27", "2.28", "2.29", "2.30", "2.31", "2.32"}

const symmetricByCollective = "2.31"

// ncclSymmetric is NCCL's environment for its symmetric kernels. It is read once a process:
// one kernel, with one number of threadblocks, for all sizes, and up to 2.30 no symmetric
// kernel for the collectives that the kernel is not of. The newest form is the default, since
// the older releases find no kernel in it, and run.
var ncclSymmetric = Format{
	Name: "nccl-sym-env", Doc: "the variables that make NCCL run one of its symmetric kernels, for measurements, a file a collective and number of ranks",
	Pattern: `colltune-table-.*-nccl-sym\.env`,
	Load:    "set -a; . ./<file>; for measurements, not for production: the variables hold for a whole process, are no stable interface, and need buffers registered as windows",
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
	One: true, Releases: symmetricReleases,
	Write: func(rules []Rule, o Options) (files []File, told []string) {
		release := cmp.Or(o.Release, symmetricReleases[len(symmetricReleases)-1])
		byCollective := slices.Index(symmetricReleases, release) >= slices.Index(symmetricReleases, symmetricByCollective)
		for _, of := range scopes(rules) {
			r := of[0]
			var b bytes.Buffer
			comment(&b, o.Head)
			value, warning := r.Kernel, "For NCCL "+symmetricReleases[0]+" to 2.30. From "+symmetricByCollective+" on this value takes every kernel from the other collectives, and their calls fail: --release "+symmetricByCollective
			if byCollective {
				value, warning = r.Collective+":"+r.Kernel, "For NCCL "+symmetricByCollective+" and later. Calls of "+r.Collective+" whose buffers are not registered as windows fail. NCCL before "+symmetricByCollective+" finds no such kernel, and runs none that is symmetric"
			}
			comment(&b, []string{warning, "For measurements: start nothing in production with it"})
			told = append(told, r.Scope.String()+": "+warning+"; start nothing in production with it")
			fmt.Fprintf(&b, "# %s\nexport NCCL_SYM_KERNEL=%s\n", r.Scope, value)
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
}

func symmetricKernels(collective string) []string {
	for _, row := range ncclnames.SymmetricKernels {
		if row.Collective == collective {
			return row.Kernels
		}
	}
	return nil
}
