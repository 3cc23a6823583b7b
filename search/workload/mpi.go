package workload

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/search/libraries"
)

// pointToPoint is what messages between GPUs cost with a CUDA-aware MPI, of which its
// collectives are made in the model here.
type pointToPoint struct {
	latencyUS float64 // of a small message between nodes
	localUS   float64 // and within a node
	pairGBps  float64 // of one pair of GPUs of two nodes
	nodeGBps  float64 // of a node, all its GPUs together
	localGBps float64 // of one pair of a node
	source    string
}

// mpiSystems are the systems of which point-to-point costs are known. MCR-DL's tables of
// MVAPICH2-GDR are not published; its text gives ratios of steps alone.
var mpiSystems = map[string]pointToPoint{
	"lassen":   {2.4, 2.4, 10.2, 20.5, 60, "OSU latency and bandwidth of 4 V100 with two EDR a node (ABCI): 2.4 us, 10.2 GB/s a pair, 20.5 GB/s a node; NVLink 2 at 80 % of 75 GB/s"},
	"thetagpu": {3.3, 3.3, 15.3, 122.4, 200, "OSU latency and bandwidth of A100 with HDR (ABCI): 3.3 us, 15.3 GB/s a pair, here of 8 NICs a node; NVSwitch at 2/3 of 300 GB/s"},
}

// MPISystems lists the systems that ModelMPI knows.
func MPISystems() []string { return slices.Sorted(maps.Keys(mpiSystems)) }

// mpi supplies the times of the model.
type mpi struct {
	system string
	pointToPoint
}

// ModelMPI supplies times of an MPI library, named mpi, on a system, made of messages: of
// each collective the fastest of its textbook algorithms (Thakur and Gropp, 2005), with
// latency and bandwidth of a message and no more. They are simulated times without intervals.
func ModelMPI(system string) (Source, error) {
	m, known := mpiSystems[system]
	if !known {
		return nil, fmt.Errorf("no point-to-point costs of MPI on %s are known: want one of %s", system, strings.Join(MPISystems(), ", "))
	}
	return mpi{system, m}, nil
}

// mpiAlgorithm is the time of an algorithm over n ranks, g of them a node, of a size in bytes.
type mpiAlgorithm struct {
	name string
	us   func(m *pointToPoint, n, g, bytes float64) float64
}

// moved is the time in which each rank moves bytes out of its node, and local bytes within it.
func (m *pointToPoint) moved(n, g, bytes float64) float64 {
	if n <= g {
		return bytes / m.localGBps / 1e3
	}
	return bytes / min(m.pairGBps, m.nodeGBps/g) / 1e3
}

// step is the latency of a message of a collective.
func (m *pointToPoint) step(n, g float64) float64 {
	if n <= g {
		return m.localUS
	}
	return m.latencyUS
}

// mpiAlgorithms are the algorithms by collective. Steps that double the distance cross nodes
// at all but the first log2 g distances.
var mpiAlgorithms = map[string][]mpiAlgorithm{
	"allreduce": {
		{"recursive doubling", func(m *pointToPoint, n, g, b float64) float64 {
			return m.doubling(n, g, func(float64) float64 { return b })
		}},
		{"halving and doubling", func(m *pointToPoint, n, g, b float64) float64 {
			return 2 * m.gathering(n, g, b)
		}},
		{"two-level", func(m *pointToPoint, n, g, b float64) float64 { return 2 * m.twoLevel(n, g, b) }},
	},
	"allgather":     {{"recursive doubling", (*pointToPoint).gathering}, {"two-level", (*pointToPoint).twoLevel}},
	"reducescatter": {{"recursive halving", (*pointToPoint).gathering}, {"two-level", (*pointToPoint).twoLevel}},
	"broadcast": {{"binomial", func(m *pointToPoint, n, g, b float64) float64 {
		return m.doubling(n, g, func(float64) float64 { return b })
	}}},
	"reduce": {{"binomial", func(m *pointToPoint, n, g, b float64) float64 {
		return m.doubling(n, g, func(float64) float64 { return b })
	}}},
	"alltoall": {
		{"bruck", func(m *pointToPoint, n, g, b float64) float64 {
			return math.Ceil(math.Log2(n)) * (m.step(n, g) + m.moved(n, g, b/2))
		}},
		{"pairwise", func(m *pointToPoint, n, g, b float64) float64 {
			g = min(g, n)
			return (g-1)*(m.localUS+m.moved(1, g, b/n)) + (n-g)*(m.latencyUS+m.moved(n, g, b/n))
		}},
	},
	"sendrecv": {{"one message", func(m *pointToPoint, n, g, b float64) float64 {
		return m.step(n, g) + m.moved(n, g, b)
	}}},
}

// gathering is the time of an allgather over n ranks of a number of bytes in all, whose steps double the
// distance and the size; a reducescatter is the same backwards.
func (m *pointToPoint) gathering(n, g, bytes float64) float64 {
	return m.doubling(n, g, func(distance float64) float64 { return bytes * distance / n })
}

// twoLevel is gathering between the nodes, each GPU its part, then within them.
func (m *pointToPoint) twoLevel(n, g, bytes float64) (us float64) {
	nodes := n / g
	for d := 1.0; d < nodes; d *= 2 {
		us += m.latencyUS + m.moved(n, g, bytes/g*d/nodes)
	}
	return us + m.gathering(g, g, bytes)
}

// doubling is the time of log2 n steps over distances 1, 2, 4, …, each of a size of its own.
func (m *pointToPoint) doubling(n, g float64, size func(distance float64) float64) (us float64) {
	for d := 1.0; d < n; d *= 2 {
		within := min(n, g)
		if d >= g {
			within = n
		}
		us += m.step(within, g) + m.moved(within, g, size(d))
	}
	return us
}

// Times are those of the fastest algorithm; none of collectives that the model lacks.
func (s mpi) Times(k Kind) ([]libraries.Time, error) {
	n, g := float64(k.Ranks), float64(k.Ranks)
	if k.Nodes > 0 {
		g = math.Ceil(n / float64(k.Nodes))
	}
	name, bytes := k.Collective, float64(k.Bytes)
	if name == "alltoallv" && isBalanced(k.Traffic) {
		name, bytes = "alltoall", bytes/n
	}
	var best *mpiAlgorithm
	least := math.Inf(1)
	for i := range mpiAlgorithms[name] {
		if us := mpiAlgorithms[name][i].us(&s.pointToPoint, n, g, bytes); us < least {
			least, best = us, &mpiAlgorithms[name][i]
		}
	}
	if best == nil || n < 2 {
		return nil, nil
	}
	return []libraries.Time{simulated(k, "mpi", s.system, best.name, least)}, nil
}

func simulated(k Kind, library, system, kernel string, us float64) libraries.Time {
	r := measured.Row{Collective: k.Collective, Ranks: k.Ranks, Bytes: k.Bytes, Library: library, TimeUS: us, LowUS: us, HighUS: us, Runs: 1}
	r.Conditions[measured.System], r.Conditions[measured.Kernel], r.Conditions[measured.Evidence] = system, kernel, "simulated"
	r.Conditions[measured.Nodes] = strconv.Itoa(cmp.Or(k.Nodes, 1))
	r.Conditions[measured.DType], r.Conditions[measured.Traffic] = k.DType, k.Traffic
	return libraries.Time{Row: r, Between: [2]int64{k.Bytes, k.Bytes}}
}

// isBalanced reports whether a traffic sends the same to everybody, so that an alltoallv is
// an all-to-all.
func isBalanced(traffic string) bool {
	return traffic == "" || traffic == "balanced" || traffic == "dispatch" || traffic == "combine"
}
