package collective

import (
	"slices"
	"strings"
)

// Naming is who names collectives and element types.
type Naming uint8

// The namings.
const (
	Anyone    Naming = iota // NCCLTests, NumPy, MPI, or as here, in any case
	NCCLTests               // nccl-tests' programs without _perf, and their columns
	PyTorch                 // PyTorch's profiler, where Anyone does not know a type
	NumPy                   // and the short forms fp16, fp32, fp64
	MPI
	MCRDL
	namings
)

// names are what each naming calls something, the newest first.
type names [namings][]string

// collectiveNames are what others call collectives.
var collectiveNames = []struct {
	name  string
	names names
}{
	{"allreduce", names{NCCLTests: {"all_reduce"}, MCRDL: {"all_reduce"}, PyTorch: {"allreduce", "allreduce_coalesced", "all_reduce", "barrier"}}},
	{"allgather", names{NCCLTests: {"all_gather"}, MCRDL: {"all_gather"}, PyTorch: {"allgather", "all_gather", "_allgather_base", "allgather_into_tensor_coalesced"}}},
	{"reducescatter", names{NCCLTests: {"reduce_scatter"}, MCRDL: {"reduce_scatter"}, PyTorch: {"reduce_scatter", "_reduce_scatter_base", "reduce_scatter_tensor_coalesced"}}},
	{"alltoall", names{NCCLTests: {"alltoall"}, MCRDL: {"all_to_all_single"}, PyTorch: {"all_to_all", "all_to_allv", "alltoall", "alltoall_base"}}},
	{"broadcast", names{NCCLTests: {"broadcast"}, MCRDL: {"broadcast"}, MPI: {"bcast"}, PyTorch: {"broadcast", "_broadcast_oop"}}},
	{"reduce", names{NCCLTests: {"reduce"}, MCRDL: {"reduce"}, PyTorch: {"reduce", "_reduce_oop"}}},
	{"gather", names{NCCLTests: {"gather"}, MCRDL: {"gather"}, PyTorch: {"gather"}}},
	{"scatter", names{NCCLTests: {"scatter"}, MCRDL: {"scatter"}, PyTorch: {"scatter"}}},
	{"sendrecv", names{NCCLTests: {"sendrecv"}, PyTorch: {"send", "recv"}}},
}

// Collectives lists the collectives for which n has a name.
func (n Naming) Collectives() (all []string) {
	for _, c := range collectiveNames {
		if len(c.names[n]) > 0 {
			all = append(all, c.name)
		}
	}
	return all
}

// OfCollective is what n calls a collective; "": nothing.
func (n Naming) OfCollective(name string) string {
	for _, c := range collectiveNames {
		if c.name == name && len(c.names[n]) > 0 {
			return c.names[n][0]
		}
	}
	return ""
}

// joined removes what others write within a collective's name.
var joined = strings.NewReplacer("_", "", "-", "", " ", "")

// Joined is a collective's name in lower case, without what others write within it.
func Joined(name string) string { return joined.Replace(strings.ToLower(name)) }

// Collective returns the collective that n calls name; "": none.
func (n Naming) Collective(name string) string {
	by := n
	if n == Anyone {
		name, by = Joined(name), MPI
		if _, ours := kinds[name]; ours {
			return name
		}
	}
	for _, c := range collectiveNames {
		if slices.Contains(c.names[by], name) {
			return c.name
		}
	}
	return ""
}

// OfDType is what n calls an element type; "": nothing.
func (n Naming) OfDType(dtype string) string {
	for _, d := range dtypes {
		if d.name == dtype && len(d.names[n]) > 0 {
			return d.names[n][0]
		}
	}
	return ""
}

// DType returns the element type, one of MeasuredDTypes, that n calls name; "": none.
func (n Naming) DType(name string) string {
	by := []Naming{n}
	switch n {
	case Anyone:
		name, by = strings.ToLower(name), []Naming{NCCLTests, NumPy, MPI}
		if MeasuredBytes(name) > 0 {
			return name
		}
	case PyTorch:
		name = strings.ToLower(name)
	}
	for _, d := range dtypes {
		if slices.ContainsFunc(by, func(n Naming) bool { return slices.Contains(d.names[n], name) }) {
			return d.name
		}
	}
	if n == PyTorch {
		return Anyone.DType(name)
	}
	return ""
}
