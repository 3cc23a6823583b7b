package papers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/search/workload"
)

// Whose side the evidence is on, where several claims have the same answer.
const (
	slowAllToAll = "The paper's. The all-to-alls decide: at the 4 MiB of DeepSpeed's experts, in groups of 32 and 64 GPUs, simulated NCCL is still ahead of the model of MPI, and no call is better made by MPI. To gain 1.35 its all-to-alls would have to take five times as long as here; all-to-alls over several nodes are where simulated NCCL is least sure: the interval over NCCL holds the published gain, that over MPI does not."
	hidden       = "The paper's. Most of DLRM's simulated calls hide behind its MLPs, whose time the step's file assumes, and the model of MPI is too fast at allreduces, so that it makes every call. The interval over NCCL holds the published gain."
	ninePercent  = "Open: the figures of the paper do not fit each other. 1.25 to 1.35 times the throughput are 20 to 26 % less time of a step; 7 or 9 % less communication give at most 1.1 times. What the per cent are of, the text does not say."
)

// MCR-DL (arXiv 2303.08374). MPI is a model of messages (workload.ModelMPI), since the times
// of MVAPICH2-GDR on these systems are not published; the paper's is 2.3.7, its NCCL 2.14.3.
var mcrdl = []Claim{
	{"mcrdl-2a", "figure 2a, I-C", "NCCL's allreduce is faster than MVAPICH2-GDR's on 64 V100 of Lassen",
		ahead, calls{"allreduce", false}, "The paper's: it is a measurement, and the model of MPI is made of messages alone, without the copies, registrations and kernels of a GPU-aware MPI, so that its allreduce is too fast."},
	{"mcrdl-2b", "figure 2b, I-C", "MVAPICH2-GDR's all-to-all is faster than NCCL's on 64 V100 of Lassen",
		ahead, calls{"alltoall", true}, ""},
	{"mcrdl-table2", "table II, V-F", "an allgather is best made by MPI to 2 KB, by NCCL to 8 KB and by SCCL to 32 KB",
		number("8 of 8 sizes", 1), tuning{}, "The paper's, for the same reason: the model of MPI wins at every size. The paper names neither system nor scale."},
	{"mcrdl-7", "figure 7, VI-A", "MCR-DL's own overhead over OMB is small",
		between("5 % to 1 %", 1.01, 1.05), nil, "Not judged: colltune makes no calls, and has no such overhead."},
	{"mcrdl-8-mpi", "figure 8a, VI-B", "DS-MoE on 256 V100: the mix is faster than MVAPICH2-GDR alone",
		number("1.31", 1.31), mix{dsMoE, 256, "mpi"}, slowAllToAll},
	{"mcrdl-8-nccl", "figure 8a, VI-B", "DS-MoE on 256 V100: the mix is faster than NCCL alone",
		number("1.35", 1.35), mix{dsMoE, 256, "nccl"}, slowAllToAll},
	{"mcrdl-8-efficiency", "figure 8b, VI-B", "DS-MoE scales to 256 V100",
		number("81 %", 0.81), efficiency{dsMoE, 8, 256}, "By coincidence: the text does not name the GPUs that the efficiency is of, 8 here, and each library alone scales as well."},
	{"mcrdl-8-efficiency-gain", "contribution C4, figure 8b", "DS-MoE scales better with the mix than with one library",
		number("1.12", 1.12), scalesBetter{dsMoE, 8, 256}, slowAllToAll},
	{"mcrdl-8-small", "figure 8a, VI-B", "DS-MoE: NCCL alone is faster than MVAPICH2-GDR alone at small scales",
		ahead.as("NCCL ahead"), crossing{dsMoE, []int{8}}, ""},
	{"mcrdl-8-crossover", "figure 8a, VI-B", "DS-MoE: MVAPICH2-GDR alone is ahead of NCCL alone beyond some GPUs",
		number("around 32", 32), crossing{dsMoE, []int{8, 16, 32, 64, 128, 256}}, slowAllToAll},
	{"mcrdl-9-mpi", "figure 9a, VI-B", "DLRM on 32 A100: the mix is faster than MVAPICH2-GDR alone",
		number("1.25", 1.25), mix{dlrm, 32, "mpi"}, hidden},
	{"mcrdl-9-nccl", "figure 9a, VI-B", "DLRM on 32 A100: the mix is faster than NCCL alone",
		number("1.30", 1.30), mix{dlrm, 32, "nccl"}, hidden},
	{"mcrdl-9-efficiency", "figure 9b, VI-B", "DLRM scales to 32 A100",
		number("75 %", 0.75), efficiency{dlrm, 8, 32}, hidden},
	{"mcrdl-9-efficiency-gain", "contribution C4, figure 9b", "DLRM scales better with the mix than with one library",
		number("1.14", 1.14), scalesBetter{dlrm, 8, 32}, hidden},
	{"mcrdl-9-small", "figure 9a, VI-B", "DLRM: NCCL alone is faster than MVAPICH2-GDR alone at small scales",
		ahead.as("NCCL ahead"), crossing{dlrm, []int{8}}, hidden},
	{"mcrdl-10", "abstract, figure 10", "dense Megatron-DeepSpeed on 32 A100: the mix is faster than MVAPICH2-GDR or SCCL alone",
		number("1.20", 1.20), mix{megatron, 32, best}, "The paper's, which mixes MSCCL with MVAPICH2-GDR; here NCCL and the model of MPI are mixed. Over which of the two the 20 % are, the text does not say."},
	{"mcrdl-1-resnet", "figure 1, I-C", "ResNet-50 on 64 V100 gains little from a mix",
		alike.as("marginal"), mix{resNet, 64, "mpi"}, ""},
	{"mcrdl-11", "figure 11, VI-B", "MCR-DL is ahead of Horovod, mpi4py and PyTorch's distributed module",
		ahead, nil, "Not judged: frameworks are not simulated."},
	{"mcrdl-12-moe", "figure 12, VI-B", "the mix takes less communication time in DS-MoE on 256 V100",
		number("9 % less, 1.10", 1/(1-0.09)), communication{dsMoE, 256}, ninePercent},
	{"mcrdl-12-dlrm", "figure 12, VI-B", "the mix takes less communication time in DLRM on 32 A100",
		number("7 % less, 1.08", 1/(1-0.07)), communication{dlrm, 32}, ninePercent},
}

// model is a step that comes with colltune, on a system.
type model struct{ step, system string }

var (
	dsMoE    = model{"ds-moe", "lassen"}
	dlrm     = model{"dlrm", "thetagpu"}
	megatron = model{"megatron-dense", "thetagpu"}
	resNet   = model{"resnet-50", "lassen"}
)

func (m model) String() string { return m.step + " on " + m.system }

// at compares MPI, NCCL and their mixes in the step over some ranks.
func (m model) at(l *Lab, ranks int) (*workload.Result, error) {
	mpi, err := workload.ModelMPI(m.system)
	if err != nil {
		return nil, err
	}
	return step(m.step, "nccl", workload.Sources{librarySource{l, m.system}, mpi}, ranks, nil)
}

// best stands for the library with which alone a step takes the least time.
const best = "the best single library"

// mix is evidence by how many times as long a step takes with one library as with the finest
// mix. Where one library makes every call of that, nothing is mixed, and the figure is 1.
type mix struct {
	model
	ranks   int
	library string
}

func (e mix) How() string {
	return fmt.Sprintf("time of the step %s, %d GPUs, with %s ÷ with the fastest library for each call", e.model, e.ranks, e.library)
}

func (e mix) Find(l *Lab) (Found, error) {
	r, err := e.at(l, e.ranks)
	if err != nil {
		return Found{}, err
	}
	c := r.Best
	if e.library != best {
		if c, err = alone(r, e.library); err != nil {
			return Found{}, err
		}
	}
	v := c.TotalUS / r.Fine.TotalUS
	_, low, high := r.Gain(c)
	text := fmt.Sprintf("%.3f (interval %.2f to %.2f)", v, low, high)
	if !slices.ContainsFunc(r.Calls, func(k workload.CallRow) bool { return k.Changed }) {
		return Found{1, text + ", but " + r.Best.Name + " makes every call", ""}, nil
	}
	return Found{v, text, ""}, nil
}

// communication is evidence by how many times as long the calls of a step take with the best
// single library as with the finest mix.
type communication struct {
	model
	ranks int
}

func (e communication) How() string {
	return fmt.Sprintf("time of the calls of the step %s, %d GPUs, with the best single library ÷ with the fastest for each call", e.model, e.ranks)
}

func (e communication) Find(l *Lab) (Found, error) {
	r, err := e.at(l, e.ranks)
	if err != nil {
		return Found{}, err
	}
	v := r.Best.CommunicationUS / r.Fine.CommunicationUS
	return Found{v, fmt.Sprintf("%.3f over %s", v, r.Best.Name), ""}, nil
}

// efficiency is evidence by a step's throughput a GPU with the finest mix, relative to fewer.
type efficiency struct {
	model
	from, to int
}

func (e efficiency) How() string {
	return fmt.Sprintf("time of the step %s with the fastest library for each call, %d ÷ %d GPUs", e.model, e.from, e.to)
}

func (e efficiency) Find(l *Lab) (Found, error) {
	few, err := e.at(l, e.from)
	if err != nil {
		return Found{}, err
	}
	many, err := e.at(l, e.to)
	if err != nil {
		return Found{}, err
	}
	v := few.Fine.TotalUS / many.Fine.TotalUS
	return Found{v, fmt.Sprintf("%.0f %% of that on %d GPUs", 100*v, e.from), ""}, nil
}

// scalesBetter is evidence by the finest mix's efficiency over the best one of a library alone.
type scalesBetter efficiency

func (e scalesBetter) How() string {
	return fmt.Sprintf("efficiency of the step %s, %d of %d GPUs: with the fastest library for each call ÷ with the better one of MPI and NCCL alone", e.model, e.to, e.from)
}

func (e scalesBetter) Find(l *Lab) (Found, error) {
	few, err := e.at(l, e.from)
	if err != nil {
		return Found{}, err
	}
	many, err := e.at(l, e.to)
	if err != nil {
		return Found{}, err
	}
	single := 0.0
	for _, library := range []string{"mpi", "nccl"} {
		a, err := alone(few, library)
		if err != nil {
			return Found{}, err
		}
		b, err := alone(many, library)
		if err != nil {
			return Found{}, err
		}
		single = max(single, a.TotalUS/b.TotalUS)
	}
	mixed := few.Fine.TotalUS / many.Fine.TotalUS
	return Found{mixed / single, fmt.Sprintf("%.3f: %.1f over %.1f %%", mixed/single, 100*mixed, 100*single), ""}, nil
}

// crossing is evidence by how far NCCL alone is ahead of MPI alone, on one number of GPUs; on
// several, by the first from which on MPI is ahead.
type crossing struct {
	model
	ranks []int
}

func (e crossing) How() string {
	text := fmt.Sprintf("time of the step %s, MPI alone ÷ NCCL alone, on %s GPUs", e.model, strings.Trim(fmt.Sprint(e.ranks), "[]"))
	if len(e.ranks) > 1 {
		text += ": where it falls below 1"
	}
	return text
}

func (e crossing) Find(l *Lab) (Found, error) {
	var ratios []string
	first, ratio := math.NaN(), 0.0
	for _, ranks := range e.ranks {
		r, err := e.at(l, ranks)
		if err != nil {
			return Found{}, err
		}
		mpi, err := alone(r, "mpi")
		if err != nil {
			return Found{}, err
		}
		nccl, err := alone(r, "nccl")
		if err != nil {
			return Found{}, err
		}
		ratio = mpi.TotalUS / nccl.TotalUS
		ratios = append(ratios, fmt.Sprintf("%.3f", ratio))
		if ratio >= 1 {
			first = math.NaN()
		} else if math.IsNaN(first) {
			first = float64(ranks)
		}
	}
	if len(e.ranks) == 1 {
		return Found{ratio, ratios[0], ""}, nil
	}
	text := ratioText(first)
	if !math.IsNaN(first) {
		text = fmt.Sprintf("%.0f", first)
	}
	return Found{first, text + ": " + strings.Join(ratios, ", "), ""}, nil
}

// calls is evidence by how far one library is ahead of the other at a collective, on 64 V100
// of Lassen.
type calls struct {
	collective string
	mpi        bool // the one that is said to be ahead; else NCCL
}

func (e calls) How() string {
	who := "NCCL over MPI"
	if e.mpi {
		who = "MPI over NCCL"
	}
	return "geometric mean of the speedups from 64K to 64M: " + who + ", " + e.collective + " on lassen × 16"
}

func (e calls) Find(l *Lab) (Found, error) {
	model, err := workload.ModelMPI("lassen")
	if err != nil {
		return Found{}, err
	}
	c := Curve{Duel: Duel{Sizes: powers(64*kib, 64*mib, 4)}}
	sum := 0.0
	for i, n := range c.Sizes {
		k := workload.Kind{Collective: e.collective, Bytes: n, Ranks: 64, Nodes: 16}
		nccl, err := l.Library("lassen", k)
		if err != nil {
			return Found{}, err
		}
		mpi, err := model.Times(k)
		if err != nil {
			return Found{}, err
		}
		c.OfUS, c.OverUS = append(c.OfUS, nccl), append(c.OverUS, mpi[0].TimeUS)
		if e.mpi {
			c.OfUS[i], c.OverUS[i] = c.OverUS[i], c.OfUS[i]
		}
		sum += math.Log(c.speedup(i))
	}
	v := math.Exp(sum / float64(len(c.Sizes)))
	return Found{v, ratioText(v), c.ahead()}, nil
}

// tuning is evidence by the part of the rows of table II that have the same library. The
// paper names neither system nor scale: here 32 A100 of ThetaGPU, and sizes of a rank's part.
// SCCL is what MSCCL runs: programs, here the fastest of several families.
type tuning struct{}

var table2 = []struct {
	bytes   int64
	library string
}{{256, "mpi"}, {512, "mpi"}, {1024, "mpi"}, {2048, "mpi"}, {4096, "nccl"}, {8192, "nccl"}, {16384, "sccl"}, {32768, "sccl"}}

// gathers are the families that stand for SCCL's allgathers.
var gathers = []string{"bruck", "recursive-halving-doubling", "multi-level"}

func (tuning) How() string {
	return "part of the rows with the same fastest library: MPI, NCCL and the best program of " + strings.Join(gathers, ", ") + "; allgather on thetagpu × 4, 256 bytes to 32K a rank"
}

func (tuning) Find(l *Lab) (Found, error) {
	at := Setting{"thetagpu", 4, "allgather"}
	model, err := workload.ModelMPI(at.System)
	if err != nil {
		return Found{}, err
	}
	const ranks = 32
	sizes := make([]int64, len(table2))
	for i, row := range table2 {
		sizes[i] = row.bytes * ranks
	}
	programs := make([][]float64, len(gathers))
	for i, family := range gathers {
		if programs[i], err = l.Times(at, Program{Name: family, Family: family, Instances: []int{1}}, sizes); err != nil {
			return Found{}, err
		}
	}
	nccl, err := l.Times(at, Library, sizes)
	if err != nil {
		return Found{}, err
	}
	same, won := 0, []string{}
	for i, row := range table2 {
		mpi, err := model.Times(workload.Kind{Collective: at.Collective, Bytes: sizes[i], Ranks: ranks, Nodes: at.Nodes})
		if err != nil {
			return Found{}, err
		}
		sccl := math.Inf(1)
		for _, times := range programs {
			sccl = min(sccl, times[i])
		}
		best := slices.MinFunc([]struct {
			library string
			us      float64
		}{{"mpi", mpi[0].TimeUS}, {"nccl", nccl[i]}, {"sccl", sccl}}, func(a, b struct {
			library string
			us      float64
		}) int {
			return cmp.Compare(a.us, b.us)
		})
		if best.library == row.library {
			same++
		}
		won = append(won, best.library)
	}
	return Found{float64(same) / float64(len(table2)), fmt.Sprintf("%d of %d: %s", same, len(table2), strings.Join(won, ", ")), ""}, nil
}
