package host

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
)

// inherited are the environment variables that an executor gets: those that find programs,
// libraries and devices, that tune the measured libraries, and that a launcher needs to
// reach its far end. A name that ends in * is a prefix. The list is short and explicit, so
// that a measurement depends on nothing else in the user's shell.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_*", "TZ",
	"LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH",
	"CUDA_*", "NVIDIA_*", "NCCL_*", "MSCCL_*", "MSCCLPP_*",
	"ROCR_*", "HIP_*", "HSA_*", "RCCL_*",
	"OMPI_*", "PRTE_*", "PMIX_*", "PMI_*", "MPICH_*", "HYDRA_*", "UCX_*", "FI_*",
	"SLURM_*", "PBS_*", "LSB_*", "FLUX_*", // the batch system's job, for a launcher
	"SSH_AUTH_SOCK", "KRB5CCNAME", // and our credentials
	"GODEBUG", "GOTRACEBACK", "GOMAXPROCS", "GOMEMLIMIT", "GOCOVERDIR",
	"COLLTUNE_EXECUTOR_*",
}

// environment returns the environment of an executor, sorted: the inherited part of ours,
// overridden by add.
func environment(add []string) []string {
	seen := map[string]string{}
	for _, kv := range os.Environ() {
		if k, v, ok := strings.Cut(kv, "="); ok && isInherited(k) {
			seen[k] = v
		}
	}
	for _, kv := range add {
		if k, v, ok := strings.Cut(kv, "="); ok {
			seen[k] = v
		}
	}
	env := lists.Map(slices.Collect(maps.Keys(seen)), func(k string) string { return k + "=" + seen[k] })
	slices.Sort(env)
	return env
}

func isInherited(name string) bool {
	return slices.ContainsFunc(inherited, func(p string) bool {
		prefix, ok := strings.CutSuffix(p, "*")
		return ok && strings.HasPrefix(name, prefix) || p == name
	})
}
