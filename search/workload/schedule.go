package workload

import (
	"cmp"
	"slices"

	"github.com/colltune/colltune/search/libraries"
)

// Issued is an op as it is issued: on which stream, after which events, and when it runs.
type Issued struct {
	Program  string
	Name     string // with its iteration
	Call     int    // of Step.Calls; -1: a compute
	Time     *libraries.Time
	Stream   string   // a library's stream is its own: STREAM/LIBRARY
	Waits    []string // events of other streams that the stream waits for first; of a library on the host, the host
	BeginUS  float64
	EndUS    float64
	Critical bool // without slack: the step ends later where it does
}

// Schedule lists the ops of a case, program by program, in the order in which they are
// issued. As in MCR-DL (section V-C), each library has streams of its own, and what the
// file orders across streams is ordered by events. A wait that an earlier one of the stream
// implies is left out.
func (c *Case) Schedule() (all []Issued) {
	s := c.mixer.step
	g, err := c.graph()
	if err != nil {
		return nil // of a case that lacks calls
	}
	times := c.run(g)
	critical := g.critical(times)
	compute := int32(len(s.Calls))
	for i := range s.Programs {
		p := &s.Programs[i]
		streams, nodes := make([]string, len(p.Ops)), make([]int32, len(p.Ops))
		for j := range p.Ops {
			op := &p.Ops[j]
			streams[j] = op.Stream
			if nodes[j] = compute; op.isCall() {
				nodes[j] = int32(op.Call)
				streams[j] += "/" + c.Times[s.Calls[op.Call].Kind].Library
			} else {
				compute++
			}
		}
		serial := g.serial(i)
		last := map[string]int{}              // by stream of the file: the op before
		waited := map[string]map[string]int{} // by stream, then stream waited for: the last op
		for j := range p.Ops {
			op, node := &p.Ops[j], nodes[j]
			needs := slices.Clone(op.After)
			if before, any := last[op.Stream]; any {
				needs = append(needs, before)
			}
			last[op.Stream] = j
			if serial[j] >= 0 {
				needs = append(needs, serial[j])
			}
			on := waited[streams[j]]
			if on == nil {
				on = map[string]int{}
				waited[streams[j]] = on
			}
			slices.SortFunc(needs, func(a, b int) int { return cmp.Compare(b, a) })
			var waits []string
			for _, n := range needs {
				if known, any := on[streams[n]]; streams[n] != streams[j] && (!any || known < n) {
					on[streams[n]] = n
					waits = append(waits, title(p.Ops[n].Name, p.Ops[n].Iteration))
				}
			}
			slices.Reverse(waits)
			x := Issued{Program: p.Name, Name: title(op.Name, op.Iteration), Call: op.Call, Stream: streams[j], Waits: waits, BeginUS: times.begin[node], EndUS: times.end[node], Critical: critical[node]}
			if op.isCall() {
				x.Time = &c.Times[s.Calls[op.Call].Kind]
			}
			all = append(all, x)
		}
	}
	return all
}

// critical marks the nodes without slack: those on a longest path.
func (g *graph) critical(t times) []bool {
	const rounding = 1e-9
	marks := make([]bool, len(g.preds))
	for i := len(g.order) - 1; i >= 0; i-- {
		v := g.order[i]
		if t.end[v] >= t.total*(1-rounding) {
			marks[v] = true
		}
		if !marks[v] {
			continue
		}
		for _, u := range g.preds[v] {
			if t.end[u] >= t.begin[v]-g.delay(v)-t.total*rounding {
				marks[u] = true
			}
		}
	}
	return marks
}
