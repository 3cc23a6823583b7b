package nccl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/internal/ncclnames"
	"github.com/colltune/colltune/topologies"
)

// algorithm is one that NCCL can be told to use.
type algorithm struct {
	name        string // of the candidate, and in the library's log in lower case
	env         string // in NCCL_ALGO
	collectives []string
	protocols   []string
	rccl        bool // RCCL has it too
}

var (
	allProtocols = []string{"LL", "LL128", "Simple"}
	simpleOnly   = []string{"Simple"}
)

// algorithms are NCCL's. Only the library knows which of them a system supports (sums in
// the network need switches that can do them), so others are refused at their first trial.
var algorithms = []algorithm{
	{"ring", "Ring", []string{"allreduce", "allgather", "reducescatter", "broadcast", "reduce"}, allProtocols, true},
	{"tree", "Tree", []string{"allreduce"}, allProtocols, true},
	{"nvls", "NVLS", []string{"allreduce", "allgather", "reducescatter"}, simpleOnly, false},
	{"nvlstree", "NVLSTree", []string{"allreduce"}, simpleOnly, false},
	{"collnetdirect", "CollnetDirect", []string{"allreduce", "allgather", "reducescatter"}, simpleOnly, false},
	{"collnetchain", "CollnetChain", []string{"allreduce"}, simpleOnly, false},
	{"pat", "PAT", []string{"allgather", "reducescatter"}, simpleOnly, false},
}

// symmetric is the algorithm of NCCL's symmetric kernels: on one host's GPUs, or those of one
// NVLink domain, with buffers that are registered as windows. There NCCL compares neither rings
// nor trees, and no tuner plug-in is asked. The variables that choose among the kernels are no
// stable interface.
const symmetric = "symmetric"

// libraryChoice is the algorithm that leaves algorithm and protocol to the library.
const libraryChoice = "auto"

// defaultValue is the value of a setting that leaves it to the library.
const defaultValue = "default"

// knob is a setting of an algorithm, and the variables by which it is set.
type knob struct {
	name   string
	of     string   // the algorithm that has it; "": all but symmetric
	tries  []string // values to try unless the user's settings list others
	want   string   // the valid values, in words
	valid  func(string) bool
	assign func(string) []string // NAME=VALUE
}

// knobs is the table of settings. Only channels have values to try, because a
// launch takes seconds and the others matter on few systems.
var knobs = []knob{
	{"channels", "", []string{defaultValue, "1", "2", "4", "8", "16", "32"}, "1 to 64", between(1, 64), func(v string) []string {
		return []string{"NCCL_MIN_NCHANNELS=" + v, "NCCL_MAX_NCHANNELS=" + v}
	}},
	{"buffer", "", []string{defaultValue}, "bytes from 4096 to 1073741824", between(4096, 1<<30), func(v string) []string { return []string{"NCCL_BUFFSIZE=" + v} }},
	{"threads", "", []string{defaultValue}, "64, 128, 256 or 512", func(v string) bool {
		return slices.Contains([]string{"64", "128", "256", "512"}, v)
	}, func(v string) []string { return []string{"NCCL_NTHREADS=" + v} }},
	{"kernel", symmetric, append([]string{defaultValue}, allKernels()...), "a kernel of NCCL's, such as AllReduce_AGxLL_R", func(v string) bool {
		return slices.Contains(allKernels(), v)
	}, func(v string) []string {
		if strings.Contains(v, "Tma") {
			return []string{"NCCL_SYM_KERNEL=" + v, "NCCL_SYM_TMA_ENABLE=1"}
		}
		return []string{"NCCL_SYM_KERNEL=" + v}
	}},
	{"ctas", symmetric, []string{defaultValue, "1", "2", "4", "8", "16", "24", "32", "48", "64"}, "1 to 64", between(1, 64), func(v string) []string { return []string{"NCCL_SYM_CTAS=" + v} }},
}

// allKernels lists the symmetric kernels of all collectives.
func allKernels() (all []string) {
	for _, row := range ncclnames.SymmetricKernels {
		all = append(all, row.Kernels...)
	}
	return all
}

// values lists the values of a knob to try, of those given, or of its own if there are none.
func (k *knob) values(given []string) []string {
	if len(given) > 0 {
		return given
	}
	return k.tries
}

// symmetricAlgorithms lists the symmetric kernels for a description, an entry a collective.
func symmetricAlgorithms(tries map[string][]string) (all []executor.NativeAlgorithm) {
	for _, row := range ncclnames.SymmetricKernels {
		settings := map[string][]string{}
		for _, k := range knobs {
			if k.of != symmetric {
				continue
			}
			settings[k.name] = slices.DeleteFunc(slices.Clone(k.values(tries[k.name])), func(v string) bool {
				return k.name == "kernel" && v != defaultValue && !slices.Contains(row.Kernels, v)
			})
		}
		all = append(all, executor.NativeAlgorithm{Algorithm: symmetric, Collectives: []string{row.Collective}, Settings: settings})
	}
	return all
}

func between(least, most int) func(string) bool {
	return func(v string) bool {
		n, err := strconv.Atoi(v)
		return err == nil && n >= least && n <= most && strconv.Itoa(n) == v
	}
}

// check returns an error for a value that the library would change or ignore.
func (k *knob) check(value string) error {
	if value == defaultValue || k.valid(value) {
		return nil
	}
	return fmt.Errorf("%s %q: want %s, or %s", k.name, value, k.want, defaultValue)
}

// nativeAlgorithms lists the algorithms for a description, with the values to try for each
// knob. Without confirmed, which reports that settings can be confirmed, it lists only the
// library's own choice.
func nativeAlgorithms(confirmed, rccl bool, tries map[string][]string) []executor.NativeAlgorithm {
	all := []executor.NativeAlgorithm{{Algorithm: libraryChoice, Collectives: collective.NCCLTests.Collectives()}}
	if !confirmed {
		return all
	}
	for _, a := range algorithms {
		if rccl && !a.rccl {
			continue
		}
		settings := map[string][]string{}
		for _, k := range knobs {
			if k.of == "" {
				settings[k.name] = k.values(tries[k.name])
			}
		}
		all = append(all, executor.NativeAlgorithm{Algorithm: a.name, Collectives: a.collectives, Protocols: a.protocols, Settings: settings})
	}
	return all
}

// environment returns the variables, NAME=VALUE, that make the library use an algorithm, a
// protocol and settings.
func environment(n *executor.Native, proto topologies.Proto) ([]string, error) {
	if n.Algorithm == libraryChoice {
		if len(n.Settings) > 0 {
			return nil, fmt.Errorf("%s takes no settings", libraryChoice)
		}
		return nil, nil
	}
	var env []string
	of := symmetric
	if n.Algorithm != symmetric {
		i := slices.IndexFunc(algorithms, func(a algorithm) bool { return a.name == n.Algorithm })
		if i < 0 {
			return nil, fmt.Errorf("no algorithm %q", n.Algorithm)
		}
		env, of = []string{"NCCL_ALGO=" + algorithms[i].env, "NCCL_PROTO=" + proto.String()}, ""
	}
	for _, k := range knobs {
		value, given := n.Settings[k.name]
		if !given || value == defaultValue || k.of != of {
			continue
		}
		if err := k.check(value); err != nil {
			return nil, err
		}
		env = append(env, k.assign(value)...)
	}
	return env, nil
}

// variableNames returns the names in NAME=VALUE pairs.
func variableNames(env []string) (all []string) {
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		all = append(all, name)
	}
	return all
}
