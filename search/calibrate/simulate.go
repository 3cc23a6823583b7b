package calibrate

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

// fitting is a fit under way.
type fitting struct {
	Request
	rows    []Row
	weights []float64 // of rows: a table's that are fitted to weigh together as much as another's
	all     []int     // rows
	fitted  []int     // those that are fitted to
	done    int       // simulations of all or of those

	launch  *factor // nil: it is not fitted
	factors []factor
	left    []Left
	in      [][]int          // the zones of each row, by their numbers
	weight  []float64        // of a zone's rows that are fitted to
	before  []float64        // a zone's losses with the file's constants
	atLimit map[string]Bound // of factors, by name
}

func newFitting(r Request) *fitting {
	f := &fitting{Request: r, weight: make([]float64, len(zones)), atLimit: map[string]Bound{}}
	for i, t := range r.Tables {
		for _, p := range t.Points {
			f.rows = append(f.rows, Row{Point: p, Origin: t.Origin, Table: i})
		}
	}
	split(f.rows)
	of := make([]int, len(r.Tables))
	for i, row := range f.rows {
		var in []int
		for z := range zones {
			if zones[z].has(&row) {
				in = append(in, z)
			}
		}
		f.all, f.in = append(f.all, i), append(f.in, in)
		if !row.Judged {
			f.fitted = append(f.fitted, i)
			of[row.Table]++
		}
	}
	f.weights = make([]float64, len(f.rows))
	for _, i := range f.fitted {
		f.weights[i] = float64(len(f.fitted)) / float64(len(r.Tables)*of[f.rows[i].Table])
		for _, z := range f.in[i] {
			f.weight[z] += f.weights[i]
		}
	}
	return f
}

// machine is the system with most nodes, which has every kind of link.
func (f *fitting) machine() *machine {
	m := &machine{shortestUS: [3]float64{math.Inf(1), math.Inf(1), math.Inf(1)}, guesses: f.Settled.Guessed}
	for _, t := range f.Tables {
		if m.Topology == nil || t.Topology.Nodes > m.Nodes {
			m.Topology = t.Topology
		}
	}
	for _, i := range f.fitted {
		r := &f.rows[i]
		m.shortestUS[r.Protocol] = min(m.shortestUS[r.Protocol], r.MeasuredUS)
	}
	return m
}

// ofFile is the launch of a row in microseconds, as the file says.
func (f *fitting) ofFile(row int) float64 {
	r := &f.rows[row]
	return float64(f.Tables[r.Table].Topology.Protocols[r.Protocol].Launch)
}

// whole is a time with its launch, which is longer by more than the file says.
func (f *fitting) whole(us float64, row int, more float64) float64 {
	return us + max(0, f.ofFile(row)+more)
}

// simulate is the times of some rows without their launch, on a calibrated system. Those
// of other rows are 0.
func (f *fitting) simulate(ctx context.Context, c topologies.Calibration, some []int) ([]float64, error) {
	c.Launch = 0
	prepared := f.prepared(c)
	times, errs := make([]float64, len(f.rows)), make([]error, len(f.rows))
	var workers sync.WaitGroup
	next := make(chan int)
	for range max(1, min(f.Jobs, len(some))) {
		workers.Go(func() {
			for i := range next {
				if errs[i] = ctx.Err(); errs[i] == nil {
					times[i], errs[i] = f.time(ctx, prepared[f.rows[i].Table][f.rows[i].Program], i)
				}
			}
		})
	}
	for _, i := range some {
		next <- i
	}
	close(next)
	workers.Wait()
	if f.done++; f.Progress != nil {
		most := 2 + (1+passes*mostTried)*(len(f.machine().Kinds())+1)
		if f.Settled.Speed { // once more without
			most *= 2
		}
		f.Progress(f.done, most)
	}
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%s at %s: %w", f.rows[i].Name, units.Bytes(f.rows[i].Bytes), err)
		}
	}
	return times, nil
}

// prepared prepares each program once, as soon as one of its rows is simulated: a table
// has few programs.
func (f *fitting) prepared(c topologies.Calibration) []map[*ir.Program]func() (*sim.Prepared, error) {
	all := make([]map[*ir.Program]func() (*sim.Prepared, error), len(f.Tables))
	for i, table := range f.Tables {
		all[i] = map[*ir.Program]func() (*sim.Prepared, error){}
		t := table.Topology.Calibrated(c)
		for _, at := range table.Points {
			if all[i][at.Program] == nil {
				all[i][at.Program] = sync.OnceValues(func() (*sim.Prepared, error) { return sim.Prepare(at.Program, t) })
			}
		}
	}
	return all
}

// time is the time of a row without its launch.
func (f *fitting) time(ctx context.Context, prepared func() (*sim.Prepared, error), row int) (float64, error) {
	p, err := prepared()
	if err != nil {
		return 0, err
	}
	at := &f.rows[row]
	r, err := p.RunContext(ctx, sim.Knobs{Bytes: at.Bytes, Protocol: at.Protocol, TileBytes: at.Tile, ElemBytes: f.Tables[at.Table].Elem})
	return at.simulatedUS(r.TimeUS) - f.ofFile(row), err
}
