package papers

import (
	_ "embed" // measured.csv
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/search/workload"
)

//go:embed measured.csv
var measuredText []byte

// readMeasured reads measured.csv: times that others measured on papers' systems.
func readMeasured() ([]measured.Row, error) {
	rows, _, err := measured.Read(measured.Source{Path: "measured.csv"}, measuredText)
	return rows, err
}

// systemOf is the system of a row.
func systemOf(r *measured.Row) string { return r.Conditions[measured.System] }

// measuredUS returns a library's measured time of a call in us; ok reports whether there is a row.
func measuredUS(all []measured.Row, system, collective, library string, ranks int, bytes int64) (us float64, ok bool) {
	i := slices.IndexFunc(all, func(m measured.Row) bool {
		return systemOf(&m) == system && m.Collective == collective && m.Library == library && m.Ranks == ranks && m.Bytes == bytes
	})
	if i < 0 {
		return 0, false
	}
	return all[i].TimeUS, true
}

// Pair is PCCL beside the library at a point, measured and simulated.
type Pair struct {
	System, Collective                  string
	Ranks                               int
	Bytes                               int64
	LibraryUS, PCCLUS                   float64 // measured, microseconds; 0: the library was not
	SimulatedLibraryUS, SimulatedPCCLUS float64
}

// Measured and Simulated are PCCL's speedup over the library; 0 where that was not measured.
func (p *Pair) Measured() float64  { return p.LibraryUS / p.PCCLUS }
func (p *Pair) Simulated() float64 { return p.SimulatedLibraryUS / p.SimulatedPCCLUS }

// Pairs simulates the points at which PCCL was measured.
func Pairs(l *Lab) (pairs []Pair, err error) {
	rows, err := readMeasured()
	if err != nil {
		return nil, err
	}
	for _, m := range rows {
		if m.Library != "pccl" {
			continue
		}
		library, _ := measuredUS(rows, systemOf(&m), m.Collective, vendorOf[systemOf(&m)], m.Ranks, m.Bytes)
		p := Pair{systemOf(&m), m.Collective, m.Ranks, m.Bytes, library, m.TimeUS, 0, 0}
		at := on(systemOf(&m), m.Collective, m.Ranks)
		if p.SimulatedLibraryUS, err = l.Library(systemOf(&m), workload.Kind{Collective: m.Collective, Bytes: m.Bytes, Ranks: m.Ranks, Nodes: at.Nodes}); err != nil {
			return nil, err
		}
		if p.SimulatedPCCLUS, err = pcclAllReduce(l, at, m.Bytes); err != nil {
			return nil, err
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// pcclAllReduce is the time of PCCL's allreduce: a reduce-scatter and an allgather, one
// after the other. Within a node both are the library's.
func pcclAllReduce(l *Lab, at Setting, bytes int64) (us float64, err error) {
	p := pccl
	if at.Nodes == 1 {
		p = Library
	}
	for _, at.Collective = range []string{"reducescatter", "allgather"} {
		times, err := l.Times(at, p, []int64{bytes})
		if err != nil {
			return 0, err
		}
		us += times[0]
	}
	return us, nil
}

// Rival is a measured time of MPI, beside the simulated one of the vendor's library.
type Rival struct {
	measured.Row
	LibraryUS float64
}

// Rivals are all measured times of MPI.
func Rivals(l *Lab) (all []Rival, err error) {
	rows, err := readMeasured()
	if err != nil {
		return nil, err
	}
	for _, m := range rows {
		if m.Library != "mpi" {
			continue
		}
		times, err := l.Times(on(systemOf(&m), m.Collective, m.Ranks), Library, []int64{m.Bytes})
		if err != nil {
			return nil, err
		}
		all = append(all, Rival{m, times[0]})
	}
	return all, nil
}

// measuredMPI is evidence by Cray MPICH's measured time over the library's simulated one, the
// geometric mean of few ranks: 8 to 32.
type measuredMPI struct {
	system, collective string
	bytes              int64
}

func (e measuredMPI) How() string {
	return fmt.Sprintf("geometric mean over 8, 16 and 32 ranks at %s: Cray MPICH, measured, ÷ %s, simulated; %s on %s", bytesText(e.bytes), strings.ToUpper(vendorOf[e.system]), e.collective, e.system)
}

func (e measuredMPI) Find(l *Lab) (Found, error) {
	rows, err := readMeasured()
	if err != nil {
		return Found{}, err
	}
	sum, ratios := 0.0, []string{}
	for _, ranks := range []int{8, 16, 32} {
		mpi, ok := measuredUS(rows, e.system, e.collective, "mpi", ranks, e.bytes)
		if !ok {
			return Found{}, fmt.Errorf("measured.csv has no row of %s of %s on %d ranks of %s", e.collective, bytesText(e.bytes), ranks, e.system)
		}
		library, err := l.Times(on(e.system, e.collective, ranks), Library, []int64{e.bytes})
		if err != nil {
			return Found{}, err
		}
		sum += math.Log(mpi / library[0])
		ratios = append(ratios, ratioText(mpi/library[0]))
	}
	v := math.Exp(sum / 3)
	return Found{v, ratioText(v) + ": " + strings.Join(ratios, ", "), ""}, nil
}
