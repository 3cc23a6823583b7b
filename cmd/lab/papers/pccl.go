package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/search/workload"
	"github.com/colltune/colltune/topologies"
)

// PCCL (arXiv 2504.18658), and what its shorter version (2025) says otherwise. PCCL's own
// program has four rings within a node, as RCCL has there, and two instances, the most with
// which it has a program at 2,048 ranks; knobs are the same at every scale.
var (
	pccl     = pcclBy("PCCL", "recursive")
	pcclRing = pcclBy("PCCL, ring between nodes", "ring")
)

func pcclBy(name, cross string) Program {
	return Program{
		Name: name, Family: "multi-level",
		Fixed:     map[string]string{"cross": cross, "local": "ring", "groups": "1", "top": "recursive", "shuffle": "true", "rings": "4"},
		Instances: []int{2}, Protocols: []topologies.Proto{topologies.Simple},
		Together: together,
	}
}

// The scales of figures 6 to 11, and sizes that their text names.
var (
	scales    = []int{32, 128, 512, 2048}
	pcclSizes = []int64{16 * mib, 64 * mib, 128 * mib, 512 * mib, gib}
)

// together lists the sizes of figures 6 to 12 and of measured.csv.
func together(at Setting) []int64 {
	steps := []int64{384 * mib, 600 * mib} // what a layer of zero3-7b and zero3-13b gathers
	switch ranks := at.Nodes * gpusPerNode[at.System]; {
	case ranks == 256 && at.System == "frontier":
		return []int64{64 * mib, 128 * mib, 256 * mib, 512 * mib, gib}
	case !slices.Contains(scales, ranks):
		return steps
	case ranks == 2048 && at.System == "frontier":
		return slices.Concat(pcclSizes, steps, []int64{256 * mib, 2 * gib, 4 * gib})
	}
	return slices.Concat(pcclSizes, steps)
}

// What PCCL's systems have.
var (
	gpusPerNode = map[string]int{"frontier": 8, "perlmutter": 4}
	vendorOf    = map[string]string{"frontier": "rccl", "perlmutter": "nccl"} // as topologies name their runtime
)

// on is a setting by its number of ranks.
func on(system, collective string, ranks int) Setting {
	return Setting{system, ranks / gpusPerNode[system], collective}
}

// versus is PCCL over the library.
func versus(system, collective string, ranks int) Duel {
	return Duel{on(system, collective, ranks), pccl, Library, pcclSizes}
}

// overRing is recursive halving over a ring between nodes.
func overRing(ranks int) Duel {
	return Duel{on("frontier", "reducescatter", ranks), pccl, pcclRing, pcclSizes}
}

// grown is evidence by how a program's time grows over the ranks.
func grown(p Program, system, collective string, size int64, ranks ...int) Evidence {
	var at []Setting
	for _, n := range ranks {
		at = append(at, on(system, collective, n))
	}
	return growth(p, size, at...)
}

var (
	flat       = Published{"nearly flat, within 1.25", 0.8, 1.25, true}
	moreThan30 = between("over 30", 30, math.Inf(1))
)

// Whose side the evidence is on, where several claims have the same answer.
const (
	slowRings = "The paper's. PCCL's allreduces on 256 and 2,048 GCDs are simulated within a fifth of what was measured, without being fitted to it, and RCCL's on 2,048 much too fast ([measured and simulated](#pccl-measured-and-simulated)): here a ring keeps its rate however many ranks it has. To be 7 times slower than PCCL's simulated 24 ms at 1 GiB, RCCL needs 82 us for each of its 2,047 steps, in which each of four rings sends 128 KiB through a NIC of 25 GB/s, 5 us. NCCL's rings over 8 to 128 GPUs of Perlmutter, on the same network, show no such cost of a message: the simulator is fitted to them within a fifth. What slows RCCL's rings so is not published."
	growing   = "The paper's. The paper gives no number; PCCL's measured allreduce of 64 MiB grows 1.10 times from 256 to 2,048 GCDs ([below](#pccl-measured-and-simulated)), the simulated one 1.58 times."
	slowSteps = "The paper's, of the libraries: the calls of the simulated ones grow too little at scale, as above. Where the library's calls are made as much longer than PCCL's as figures 9 and 11 have them, the step gains more than the longer version publishes: the simulated step hides all calls but the first and the last behind computes that are long enough. The batch of a GPU and what it sustains are assumed in the step's file; which model Perlmutter's figures are of, the text does not say."
	noMPI     = "Not judged: Cray MPICH was measured on at most 128 ranks, and nothing here simulates it."
)

var pcclClaims = []Claim{
	{"pccl-1-rccl", "figures 1 and 7, 3.4, 6.1.1", "RCCL's time of a 64 MB allgather grows almost linearly with the ranks",
		number("16 from 128 to 2,048, if in proportion", 16), grown(Library, "frontier", "allgather", 64*mib, 128, 512, 2048), slowRings},
	{"pccl-3-mpi", "figure 3, 3.2", "RCCL's allgather is faster than Cray MPICH's at 256 and 512 MB on few GCDs",
		number("about 4", 4), measuredMPI{"frontier", "allgather", 256 * mib}, ""},
	{"pccl-4-mpi", "figure 4, 3.3", "RCCL's reduce-scatter is faster than Cray MPICH's",
		between("10 to 15", 10, 15), nil, "Not judged: the reduce-scatters of Cray MPICH that github.com/hpcgroup/gpu-benchmarks has of Frontier take 5 s at every size, a time-out. On Perlmutter MPI's take 90 to 220 times as long as NCCL's, below."},
	{"pccl-6-ring", "figure 6, 4.3", "between nodes a ring is preferred with few processes and large messages",
		behind.as("ring ahead"), speedupAt(overRing(32), gib), "Open. On 4 nodes both send three quarters of what a GPU has over its NIC, the ring in 3 steps and halving in 2; nothing in the simulated network makes the longer distance dearer, as a fabric that others use does."},
	{"pccl-6-recursive", "figure 6, 4.3", "between nodes recursive halving is preferred with many processes or small messages",
		ahead.as("recursive ahead"), speedupAt(overRing(512), 16*mib), ""},
	{"pccl-6-python", "figure 6, 4.3", "PCCL in C++ is faster than in Python with mpi4py",
		number("nearly 4", 4), nil, "Not judged: nothing here runs Python."},
	{"pccl-7-flat", "figure 7, 6.1.1", "PCCL's allgather of 64 MB is nearly flat from 32 to 2,048 GCDs",
		flat, grown(pccl, "frontier", "allgather", 64*mib, scales...), growing},
	{"pccl-7-flat-large", "figure 7, 6.1.1", "PCCL's allgather of 512 MB is nearly flat from 32 to 2,048 GCDs",
		flat, grown(pccl, "frontier", "allgather", 512*mib, scales...), ""},
	{"pccl-7-rccl", "figure 7, 6.1.1", "RCCL's allgather of 512 MB degrades significantly beyond 128 GCDs",
		ahead.as("longer"), grown(Library, "frontier", "allgather", 512*mib, 128, 512, 2048), ""},
	{"pccl-7-speedup", "figure 7, 6.1.1", "PCCL's allgather is faster than RCCL's at 2,048 GCDs, 64 to 512 MB",
		between("7 to 24", 7, 24), mean(versus("frontier", "allgather", 2048), 64*mib, 512*mib), slowRings},
	{"pccl-7-mpi", "figure 7, 6.1.1", "PCCL's allgather is faster than Cray MPICH's at 2,048 GCDs",
		between("27 to 82", 27, 82), nil, noMPI},
	{"pccl-8-flat", "figure 8, 6.1.1", "PCCL's reduce-scatter of 64 MB is nearly flat from 32 to 2,048 GCDs",
		flat.as("similar to the allgather's, within 1.25"), grown(pccl, "frontier", "reducescatter", 64*mib, scales...), growing},
	{"pccl-9-ag-32", "figure 9, 6.1.1", "PCCL's allgather is slower than RCCL's on 32 GCDs at 1 GB",
		number("0.52", 0.52), speedupAt(versus("frontier", "allgather", 32), gib), ""},
	{"pccl-9-rs-32", "figure 9, 6.1.1", "PCCL's reduce-scatter is slower than RCCL's on 32 GCDs at 1 GB",
		number("0.55", 0.55), speedupAt(versus("frontier", "reducescatter", 32), gib), ""},
	{"pccl-9-ag-16M", "figure 9, 6.1.1", "PCCL's allgather is faster than RCCL's on 2,048 GCDs at 16 MB",
		moreThan30, speedupAt(versus("frontier", "allgather", 2048), 16*mib), slowRings},
	{"pccl-9-rs-16M", "figure 9, 6.1.1", "PCCL's reduce-scatter is faster than RCCL's on 2,048 GCDs at 16 MB",
		moreThan30, speedupAt(versus("frontier", "reducescatter", 2048), 16*mib), slowRings},
	{"pccl-9-ag-512M", "figure 9, 6.1.1", "PCCL's allgather is faster than RCCL's on 2,048 GCDs at 512 MB",
		number("11.4", 11.4), speedupAt(versus("frontier", "allgather", 2048), 512*mib), slowRings},
	{"pccl-9-rs-512M", "figure 9, 6.1.1", "PCCL's reduce-scatter is faster than RCCL's on 2,048 GCDs at 512 MB",
		number("11.4", 11.4), speedupAt(versus("frontier", "reducescatter", 2048), 512*mib), slowRings},
	{"pccl-9-ag-1G", "figure 9, 6.1.1", "PCCL's allgather is faster than RCCL's on 2,048 GCDs at 1 GB",
		number("7", 7), speedupAt(versus("frontier", "allgather", 2048), gib), slowRings},
	{"pccl-9-rs-1G", "figure 9, 6.1.1", "PCCL's reduce-scatter is faster than RCCL's on 2,048 GCDs at 1 GB",
		number("6.2", 6.2), speedupAt(versus("frontier", "reducescatter", 2048), gib), slowRings},
	{"pccl-10-flat", "figure 10, 6.1.2", "PCCL's allgather of 128 MB is flat on Perlmutter, too",
		flat, grown(pccl, "perlmutter", "allgather", 128*mib, scales...), growing},
	{"pccl-10-speedup", "figure 10, 6.1.2", "PCCL's allgather is faster than NCCL's at 1,024 and 2,048 GPUs, 64 and 128 MB",
		between("1.3 to 4.6", 1.3, 4.6), mean(versus("perlmutter", "allgather", 2048), 64*mib, 128*mib), ""},
	{"pccl-10-rs-speedup", "figure 10, 6.1.2", "PCCL's reduce-scatter is faster than NCCL's at 1,024 and 2,048 GPUs, 64 and 128 MB",
		between("1.3 to 4.6", 1.3, 4.6), mean(versus("perlmutter", "reducescatter", 2048), 64*mib, 128*mib), ""},
	{"pccl-10-mpi", "figure 10, 6.1.2", "PCCL is faster than Cray MPICH on 1,024 and 2,048 GPUs",
		between("8.8 to 15", 8.8, 15), nil, noMPI},
	{"pccl-11-32", "figure 11, 6.1.2", "NCCL's allgather is faster than PCCL's on 32 GPUs at 1 GB",
		number("nearly 1/1.5", 1/1.5), speedupAt(versus("perlmutter", "allgather", 32), gib), ""},
	{"pccl-11-16M", "figure 11, 6.1.2", "PCCL's allgather is faster than NCCL's on 2,048 GPUs at 16 MB",
		between("3 to 5", 3, 5), speedupAt(versus("perlmutter", "allgather", 2048), 16*mib), ""},
	{"pccl-11-large", "figure 11, 6.1.2", "PCCL's allgather is faster than NCCL's on 2,048 GPUs from 128 to 512 MB",
		between("2 to 3", 2, 3), mean(versus("perlmutter", "allgather", 2048), 128*mib, 512*mib), ""},
	{"pccl-11-rs-32", "figure 11, 6.1.2", "NCCL's reduce-scatter is faster than PCCL's on 32 GPUs at 1 GB",
		number("nearly 1/1.5", 1/1.5), speedupAt(versus("perlmutter", "reducescatter", 32), gib), ""},
	{"pccl-11-rs-16M", "figure 11, 6.1.2", "PCCL's reduce-scatter is faster than NCCL's on 2,048 GPUs at 16 MB",
		between("3 to 5", 3, 5), speedupAt(versus("perlmutter", "reducescatter", 2048), 16*mib), ""},
	{"pccl-11-rs-large", "figure 11, 6.1.2", "PCCL's reduce-scatter is faster than NCCL's on 2,048 GPUs from 128 to 512 MB",
		between("2 to 3", 2, 3), mean(versus("perlmutter", "reducescatter", 2048), 128*mib, 512*mib), ""},
	zero3("pccl-12-7b-128", "frontier", "7b", 128, alike.as("comparable"), ""),
	zero3("pccl-12-7b-512", "frontier", "7b", 512, number("nearly 30 % less, 1.43", 1/(1-0.30)), slowSteps),
	zero3("pccl-12-7b-1024", "frontier", "7b", 1024, number("1.60", 1.60), slowSteps),
	zero3("pccl-12-7b-2048", "frontier", "7b", 2048, between("1.7 to 1.8", 1.7, 1.8), slowSteps),
	zero3("pccl-12-13b-512", "frontier", "13b", 512, number("16 % less, 1.19", 1/(1-0.16)), slowSteps),
	zero3("pccl-12-13b-1024", "frontier", "13b", 1024, number("1.39", 1.39), slowSteps),
	zero3("pccl-12-13b-2048", "frontier", "13b", 2048, between("1.7 to 1.8", 1.7, 1.8), slowSteps),
	{"pccl-12-rccl", "figure 12, 6.2", "with RCCL a step of 7B takes longer on 1,024 GCDs than on 512",
		ahead.as("longer"), scaling{"frontier", "7b", 512, 1024}, slowSteps},
	zero3("pccl-12-perlmutter-256", "perlmutter", "7b", 256, number("NCCL ahead by 6 %", 1/1.06), slowSteps),
	zero3("pccl-12-perlmutter-512", "perlmutter", "7b", 512, number("1.07", 1.07), slowSteps),
	zero3("pccl-12-perlmutter-1024", "perlmutter", "7b", 1024, number("1.20", 1.20), slowSteps),
}

// zero3 is a claim of figure 12.
func zero3(id, system, model string, ranks int, p Published, side string) Claim {
	e := training{system: system, model: model, ranks: ranks}
	switch {
	case system == "frontier" && ranks == 2048:
		e.published = 11.4 // figure 9, 512 MB
	case system == "perlmutter" && ranks == 1024:
		e.published = 2.5 // figure 11, 128 to 512 MB on 2,048 GPUs
	}
	return Claim{id, "figure 12, 6.2", fmt.Sprintf("a step of ZeRO 3, GPT-3 %s on %d ranks: PCCL over %s", strings.ToUpper(model), ranks, strings.ToUpper(vendorOf[system])),
		p, e, side}
}

// training is evidence by how many times as long a step of ZeRO 3 takes with the library as
// with PCCL.
type training struct {
	system, model string
	ranks         int
	published     float64 // how many times PCCL's time the library's calls take by figure 9 or 11; 0: not told
}

func (e training) How() string {
	text := fmt.Sprintf("speedup of the step zero3-%s on %s, %d ranks: PCCL's allgathers and reduce-scatters over the library's", e.model, e.system, e.ranks)
	if e.published > 0 {
		text += fmt.Sprintf("; and over calls %g times as long as PCCL's, as published", e.published)
	}
	return text
}

func (e training) Find(l *Lab) (Found, error) {
	own, err := e.alone(pcclSource{l, e.system, "pccl", 1})
	if err != nil {
		return Found{}, err
	}
	library, err := e.alone(librarySource{l, e.system})
	if err != nil {
		return Found{}, err
	}
	v := library.TotalUS / own.TotalUS
	text := fmt.Sprintf("%.3f: %.0f and %.0f ms, of which calls %.0f and %.0f", v, library.TotalUS/1e3, own.TotalUS/1e3, library.CommunicationUS/1e3, own.CommunicationUS/1e3)
	if e.published > 0 {
		slow, err := e.alone(pcclSource{l, e.system, vendorOf[e.system], e.published})
		if err != nil {
			return Found{}, err
		}
		text += fmt.Sprintf("; %.2f with the library as published", slow.TotalUS/own.TotalUS)
	}
	return Found{v, text, ""}, nil
}

// alone is the step with the library of a source.
func (e training) alone(from workload.Source) (*workload.Case, error) {
	parameters := map[string]float64{}
	if e.system == "perlmutter" {
		parameters = map[string]float64{"gpus": 4, "teraflops": 120}
	}
	r, err := step("zero3-"+e.model, "", from, e.ranks, parameters)
	if err != nil {
		return nil, err
	}
	return r.Best, nil
}

// scaling is evidence by how the library's step grows from some ranks to others.
type scaling struct {
	system, model string
	from, to      int
}

func (e scaling) How() string {
	return fmt.Sprintf("growth of the step zero3-%s on %s with the library from %d to %d ranks", e.model, e.system, e.from, e.to)
}

func (e scaling) Find(l *Lab) (Found, error) {
	var us [2]float64
	for i, ranks := range []int{e.from, e.to} {
		c, err := training{system: e.system, model: e.model, ranks: ranks}.alone(librarySource{l, e.system})
		if err != nil {
			return Found{}, err
		}
		us[i] = c.TotalUS
	}
	v := us[1] / us[0]
	return Found{v, fmt.Sprintf("%s: %.0f and %.0f ms", ratioText(v), us[0]/1e3, us[1]/1e3), ""}, nil
}

// pcclSource is a workload's source of times: PCCL's simulated allgathers and reduce-scatters,
// multiplied by factor, under a library's name.
type pcclSource struct {
	lab     *Lab
	system  string
	library string
	factor  float64
}

// Times are those of PCCL's own program.
func (s pcclSource) Times(k workload.Kind) ([]libraries.Time, error) {
	if !slices.Contains([]string{"allgather", "reducescatter"}, k.Collective) || k.Ranks != k.Nodes*gpusPerNode[s.system] {
		return nil, nil
	}
	times, err := s.lab.Times(Setting{s.system, k.Nodes, k.Collective}, pccl, []int64{k.Bytes})
	if err != nil {
		return nil, err
	}
	us := s.factor * times[0]
	row := measured.Row{Collective: k.Collective, Ranks: k.Ranks, Bytes: k.Bytes, Library: s.library, TimeUS: us, LowUS: us, HighUS: us}
	return []libraries.Time{{Row: row, Between: [2]int64{k.Bytes, k.Bytes}}}, nil
}
