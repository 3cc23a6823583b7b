package papers

import (
	"fmt"

	"github.com/colltune/colltune/search/workload"
)

// Why most claims are not judged, where several have the same answer.
const (
	noTimes     = "Not judged: the times of MVAPICH2-GDR on these systems are not published. A model of its messages, of latency and bandwidth, is no evidence of which library is ahead: it has MPI's allreduces ahead of NCCL's, which were measured to be behind (figure 2a). With tables of measured times of both, `colltune workload` answers it."
	ninePercent = "Not judged, for the same reason; and the figures of the paper do not fit each other. 1.25 to 1.35 times the throughput are 20 to 26 % less time of a step; 7 or 9 % less communication give at most 1.1 times. What the per cent are of, the text does not say."
)

// MCR-DL (arXiv 2303.08374), whose MVAPICH2-GDR is 2.3.7 and NCCL 2.14.3.
var mcrdl = []Claim{
	{"mcrdl-2a", "figure 2a, I-C", "NCCL's allreduce is faster than MVAPICH2-GDR's on 64 V100 of Lassen",
		ahead, nil, noTimes},
	{"mcrdl-2b", "figure 2b, I-C", "MVAPICH2-GDR's all-to-all is faster than NCCL's on 64 V100 of Lassen",
		ahead, nil, noTimes},
	{"mcrdl-table2", "table II, V-F", "an allgather is best made by MPI to 2 KB, by NCCL to 8 KB and by SCCL to 32 KB",
		number("8 of 8 sizes", 1), nil, noTimes},
	{"mcrdl-7", "figure 7, VI-A", "MCR-DL's own overhead over OMB is small",
		between("5 % to 1 %", 1.01, 1.05), nil, "Not judged: colltune makes no calls, and has no such overhead."},
	{"mcrdl-8-mpi", "figure 8a, VI-B", "DS-MoE on 256 V100: the mix is faster than MVAPICH2-GDR alone",
		number("1.31", 1.31), nil, noTimes},
	{"mcrdl-8-nccl", "figure 8a, VI-B", "DS-MoE on 256 V100: the mix is faster than NCCL alone",
		number("1.35", 1.35), nil, noTimes},
	{"mcrdl-8-efficiency", "figure 8b, VI-B", "DS-MoE scales to 256 V100",
		number("81 %", 0.81), efficiency{dsMoE, 8, 256}, "By coincidence: here NCCL makes all calls, and the text does not name the GPUs that the efficiency is of, 8 here."},
	{"mcrdl-8-efficiency-gain", "contribution C4, figure 8b", "DS-MoE scales better with the mix than with one library",
		number("1.12", 1.12), nil, noTimes},
	{"mcrdl-8-small", "figure 8a, VI-B", "DS-MoE: NCCL alone is faster than MVAPICH2-GDR alone at small scales",
		ahead.as("NCCL ahead"), nil, noTimes},
	{"mcrdl-8-crossover", "figure 8a, VI-B", "DS-MoE: MVAPICH2-GDR alone is ahead of NCCL alone beyond some GPUs",
		number("around 32", 32), nil, noTimes},
	{"mcrdl-9-mpi", "figure 9a, VI-B", "DLRM on 32 A100: the mix is faster than MVAPICH2-GDR alone",
		number("1.25", 1.25), nil, noTimes},
	{"mcrdl-9-nccl", "figure 9a, VI-B", "DLRM on 32 A100: the mix is faster than NCCL alone",
		number("1.30", 1.30), nil, noTimes},
	{"mcrdl-9-efficiency", "figure 9b, VI-B", "DLRM scales to 32 A100",
		number("75 %", 0.75), efficiency{dlrm, 8, 32}, "The paper's, of the mix; here NCCL makes all calls, and most of them hide behind DLRM's MLPs, whose time the step's file assumes."},
	{"mcrdl-9-efficiency-gain", "contribution C4, figure 9b", "DLRM scales better with the mix than with one library",
		number("1.14", 1.14), nil, noTimes},
	{"mcrdl-9-small", "figure 9a, VI-B", "DLRM: NCCL alone is faster than MVAPICH2-GDR alone at small scales",
		ahead.as("NCCL ahead"), nil, noTimes},
	{"mcrdl-10", "abstract, figure 10", "dense Megatron-DeepSpeed on 32 A100: the mix is faster than MVAPICH2-GDR or SCCL alone",
		number("1.20", 1.20), nil, noTimes},
	{"mcrdl-1-resnet", "figure 1, I-C", "ResNet-50 on 64 V100 gains little from a mix",
		alike.as("marginal"), ceiling{resNet, 64}, ""},
	{"mcrdl-11", "figure 11, VI-B", "MCR-DL is ahead of Horovod, mpi4py and PyTorch's distributed module",
		ahead, nil, "Not judged: frameworks are not simulated."},
	{"mcrdl-12-moe", "figure 12, VI-B", "the mix takes less communication time in DS-MoE on 256 V100",
		number("9 % less, 1.10", 1/(1-0.09)), nil, ninePercent},
	{"mcrdl-12-dlrm", "figure 12, VI-B", "the mix takes less communication time in DLRM on 32 A100",
		number("7 % less, 1.08", 1/(1-0.07)), nil, ninePercent},
}

// model is a step that comes with colltune, on a system.
type model struct{ step, system string }

var (
	dsMoE  = model{"ds-moe", "lassen"}
	dlrm   = model{"dlrm", "thetagpu"}
	resNet = model{"resnet-50", "lassen"}
)

func (m model) String() string { return m.step + " on " + m.system }

// at is the step with NCCL over some ranks.
func (m model) at(l *Lab, ranks int) (*workload.Case, error) {
	r, err := step(m.step, "nccl", librarySource{l, m.system}, ranks, nil)
	if err != nil {
		return nil, err
	}
	return alone(r, "nccl")
}

// ceiling is evidence by the most that any mix of libraries can gain over NCCL: what the step
// gains if its calls take no time.
type ceiling struct {
	model
	ranks int
}

func (e ceiling) How() string {
	return fmt.Sprintf("time of the step %s, %d GPUs, with NCCL ÷ if its calls took no time: the most that any mix gains over NCCL", e.model, e.ranks)
}

func (e ceiling) Find(l *Lab) (Found, error) {
	c, err := e.at(l, e.ranks)
	if err != nil {
		return Found{}, err
	}
	v := c.TotalUS / (c.TotalUS - c.ExposedUS)
	return Found{v, fmt.Sprintf("at most %.3f", v), ""}, nil
}

// efficiency is evidence by a step's throughput a GPU with NCCL, relative to fewer.
type efficiency struct {
	model
	from, to int
}

func (e efficiency) How() string {
	return fmt.Sprintf("time of the step %s with NCCL, %d ÷ %d GPUs", e.model, e.from, e.to)
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
	v := few.TotalUS / many.TotalUS
	return Found{v, fmt.Sprintf("%.0f %% of that on %d GPUs", 100*v, e.from), ""}, nil
}
