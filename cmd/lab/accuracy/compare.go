package accuracy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/results/intervals"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// Compared is a row with the time that the simulator gives to what ran.
type Compared struct {
	Row
	SimulatedUS float64
	Name        string // of what was simulated: ring ×24 LL
	Family      string // of the program; empty: the library
	System      intervals.System
	Call        intervals.Call
	Machine     string
	Guessed     bool // the constants are another generation's
}

// Unused is a row that was not compared.
type Unused struct {
	Row
	Why string
}

// call is what rows of all sizes have in common.
type call struct {
	topology, collective, dtype, algo, proto, version string
	nodes, gpus                                       int
	inPlace, before222, backToBack, otherDir          bool
	protocols                                         string // that the library had, joined by a comma; empty: all
}

// timed is the simulated time of a call at a size.
type timed struct {
	us     float64
	name   string
	family string
	system intervals.System
	call   intervals.Call
	why    string // not empty: it has no time
}

// Compare simulates what ran at each row, jobs calls at a time. Rows that the manifest
// leaves out, and those that no search could have simulated, are unused. The order is
// that of rows. The error is about a row of no set, a topology or a program of the
// manifest, or ctx.
func Compare(ctx context.Context, m *Manifest, rows []Row, jobs int) ([]Compared, []Unused, error) {
	sizes := map[call][]int64{}
	calls := make([]call, len(rows)) // the zero value: unused
	var unused []Unused
	for i := range rows {
		r := &rows[i]
		s := m.Set(r.Set)
		if s == nil {
			return nil, nil, fmt.Errorf("row of set %q, which the manifest does not have", r.Set)
		}
		if why := s.whyNot(r); why != "" {
			unused = append(unused, Unused{*r, why})
			continue
		}
		calls[i] = call{s.Topology, r.Collective, r.DType, r.Algo, r.Proto, s.version(r), r.Nodes, r.GPUs, r.InPlace && r.Collective != "alltoall", s.Before222, s.backToBack(r), s.OtherDir, strings.Join(s.protocols(r), ",")}
		sizes[calls[i]] = append(sizes[calls[i]], r.Bytes)
	}
	simulated := map[call]map[int64]timed{}
	var all []call
	for c := range sizes {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b call) int { // the largest first, so that jobs end together
		return cmp.Or(cmp.Compare(b.nodes*b.gpus, a.nodes*a.gpus), strings.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	var (
		mu     sync.Mutex
		wait   sync.WaitGroup
		failed error
		next   = make(chan call)
	)
	for range max(jobs, 1) {
		wait.Go(func() {
			for c := range next {
				of, err := c.simulate(ctx, m, sizes[c])
				mu.Lock()
				if simulated[c] = of; err != nil && failed == nil {
					failed = fmt.Errorf("%s on %d of %s: %w", c.collective, c.nodes, c.topology, err)
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range all {
		next <- c
	}
	close(next)
	wait.Wait()
	if failed != nil {
		return nil, nil, failed
	}
	var compared []Compared
	for i, r := range rows {
		if calls[i] == (call{}) {
			continue
		}
		if got := simulated[calls[i]][r.Bytes]; got.why == "" {
			s := m.Set(r.Set)
			compared = append(compared, Compared{r, max(got.us+s.LateUS[r.Collective], s.host(&r)), got.name, got.family, got.system, got.call, s.Machine, s.Guessed})
		} else {
			unused = append(unused, Unused{r, got.why})
		}
	}
	return compared, unused, nil
}

// system is a part of a topology: that many GPUs of each of that many nodes.
func system(name string, nodes, gpus int) (*topologies.Topology, error) {
	t, err := topologies.Resolve(name, topologies.Options{Nodes: nodes})
	if err != nil {
		return nil, err
	}
	whole := len(t.Ranks) / nodes
	if gpus == whole {
		return t, nil
	}
	if gpus > whole {
		return nil, fmt.Errorf("%d GPUs of a node of %s: it has %d", gpus, name, whole)
	}
	first := make([]int, gpus)
	for i := range first {
		first[i] = i
	}
	return topologies.Resolve(name, topologies.Options{Nodes: nodes, GPUs: first})
}

// simulate returns the times of a call by size.
func (c call) simulate(ctx context.Context, m *Manifest, sizes []int64) (map[int64]timed, error) {
	t, err := system(c.topology, c.nodes, c.gpus)
	if err != nil {
		return nil, err
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	p := search.Problem{Topology: t, Call: collective.Call{Collective: c.collective, Op: "sum", DType: c.dtype}, InPlace: c.inPlace}
	times := map[int64]timed{}
	over, err := p.Over(len(t.Ranks), c.inPlace)
	if err != nil {
		for _, n := range sizes {
			times[n] = timed{why: err.Error()}
		}
		return times, nil
	}
	elem, err := collective.ElemBytes(c.dtype)
	if err != nil {
		return nil, err
	}
	for _, n := range sizes {
		if n < elem*int64(over.LoopChunks()) {
			times[n] = timed{why: "fewer elements than ranks, which no search takes"}
		} else {
			p.Sizes = append(p.Sizes, n)
		}
	}
	if len(p.Sizes) == 0 {
		return times, nil
	}
	if strings.HasPrefix(c.algo, "msccl:") {
		return times, c.programs(m, &p, elem, times)
	}
	return times, c.library(ctx, p, elem, times)
}

// library adds the times of what the vendor's library would choose.
func (c call) library(ctx context.Context, p search.Problem, elem int64, times map[int64]timed) error {
	forced, known := c.forced()
	for _, n := range p.Sizes {
		times[n] = timed{why: "no program is what the library runs"}
		if !known {
			times[n] = timed{why: "algorithm " + c.algo + " with " + c.proto + " is none of the library's"}
		}
	}
	if !known {
		return nil
	}
	options := library.Options{Forced: forced}
	if c.version != "" {
		var err error
		if options.Release, _, err = library.StandIn(library.LibraryOf(p.Topology), c.version); err != nil {
			return err
		}
	}
	builder := program.New(program.Target{Call: p.Call, Topology: p.Topology, InPlace: p.InPlace}, program.Options{Solver: "pb", Jobs: 1})
	defer builder.Close()
	found, err := library.New(builder, options, func(string) {}).Calls(ctx, p.Sizes)
	if err != nil {
		return err
	}
	prepared := map[*ir.Program]*sim.Prepared{}
	for _, l := range found {
		us := l.US
		if l.From == library.Program {
			if prepared[l.Program] == nil {
				if prepared[l.Program], err = sim.Prepare(l.Program, p.Topology); err != nil {
					return err
				}
			}
			knobs := l.Knobs(elem)
			r, err := prepared[l.Program].Run(knobs)
			if err == nil && forced.BackToBack {
				r.TimeUS, err = backToBack(prepared[l.Program], l.Program, p.Topology, knobs, r.TimeUS)
			}
			if err != nil {
				return err
			}
			us = l.Of(r.TimeUS)
		}
		call := intervals.LibraryCall(l.Name, c.collective, l.Bytes)
		times[l.Bytes] = timed{us: us, name: l.Name, system: intervals.SystemOf(p.Topology), call: call}
	}
	return nil
}

// algorithms are the families of NCCL_ALGO's values.
var algorithms = map[string]string{Auto: "", "Ring": "ring", "Tree": "double-binary-tree", "NVLS": "nvls", "NVLSTree": "nvlstree"}

// forced is what NCCL_ALGO and NCCL_PROTO left of the library's choice; known is false of
// values that are no library's.
func (c call) forced() (f nccl.Forced, known bool) {
	f.Before222, f.BackToBack, f.NoFiles = c.before222, c.backToBack, c.otherDir
	f.Family, known = algorithms[c.algo]
	protocols := c.protocols
	if c.proto != Auto {
		protocols = c.proto
	}
	for name := range strings.SplitSeq(protocols, ",") {
		if name == "" {
			continue
		}
		p, err := topologies.ParseProto(name)
		f.Protocols, known = append(f.Protocols, p), known && err == nil
	}
	return f, known
}

// programs adds the times of the fastest program that a label may name.
func (c call) programs(m *Manifest, p *search.Problem, elem int64, times map[int64]timed) error {
	variants, named := m.variants(c.algo)
	if variants == nil {
		return fmt.Errorf("label %q: no program of the manifest", c.algo)
	}
	for _, v := range variants {
		program, err := v.compile(p)
		if err != nil {
			return fmt.Errorf("%s: %w", c.algo, err)
		}
		prepared, err := sim.Prepare(program, p.Topology)
		if err != nil {
			return err
		}
		protocols, err := v.protocols(c.proto, named)
		if err != nil {
			return fmt.Errorf("%s: %w", c.algo, err)
		}
		for _, n := range p.Sizes {
			for _, proto := range protocols {
				r, err := prepared.Run(sim.Knobs{Bytes: n, Protocol: proto, ElemBytes: elem})
				if err != nil {
					return err
				}
				if known, ok := times[n]; !ok || r.TimeUS < known.us {
					times[n] = timed{us: r.TimeUS, name: v.String() + " " + proto.String(), family: v.Family, system: intervals.SystemOf(p.Topology),
						call: intervals.Call{Clock: intervals.Instructions, Protocol: proto.String(), Collective: c.collective, UpAndDown: intervals.UpAndDown(program), Bytes: n}}
				}
			}
		}
	}
	return nil
}

// protocols returns those that a variant is tried with: that of the row, else that of its
// label, else the manifest's.
func (v Variant) protocols(row, label string) (all []topologies.Proto, err error) {
	names := v.Protocols
	if _, err := topologies.ParseProto(row); err == nil {
		names = []string{row}
	} else if label != "" {
		names = []string{label}
	}
	if names == nil {
		return topologies.AllProtocols[:], nil
	}
	for _, name := range names {
		p, err := topologies.ParseProto(name)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// String names a variant as tables do: ring channels=8 ×2.
func (v Variant) String() string {
	name := v.Family
	for _, p := range slices.Sorted(maps.Keys(v.Parameters)) {
		name += " " + p + "=" + v.Parameters[p]
	}
	return fmt.Sprintf("%s ×%d", name, v.Instances)
}

// compile returns the verified program of a variant.
func (v Variant) compile(p *search.Problem) (*ir.Program, error) {
	t := p.Topology
	if build := byHand[v.Family]; build != nil {
		built := build(len(t.Ranks), v.Instances)
		return built, verify.Check(built, verify.Options{Linked: t.Linked}).Err()
	}
	f, err := templates.Find(templates.Builtin(), v.Family, p.Collective)
	if err != nil {
		return nil, err
	}
	machine, given := program.MachineOf(t), map[string]any{}
	for name, text := range v.Parameters {
		parameter, err := f.Parameter(name)
		if err != nil {
			return nil, err
		}
		if given[name], err = parameter.ParseValue(text); err != nil {
			return nil, err
		}
	}
	params, err := f.Bind(given)
	if err != nil {
		return nil, err
	}
	request := script.Request{Collective: p.Collective, InPlace: p.InPlace}
	if fits, why, err := f.Admits(machine, request, params); err != nil || !fits {
		return nil, errors.Join(err, errors.New(why))
	}
	traced, err := f.Trace(machine, request, params)
	if err != nil {
		return nil, err
	}
	o := compiler.Options{Instances: v.Instances, Disable: v.Without}
	r, err := compiler.Compile(traced, o)
	if err == nil && v.Paired {
		r, err = paired(traced, o, mostThreadblocks(r.Program))
	}
	if err != nil {
		return nil, err
	}
	return r.Program, verify.Check(r.Program, verify.Options{Linked: t.Linked}).Err()
}

// paired compiles for the fewest threadblocks that do, from half of most upwards.
func paired(traced *lang.Program, o compiler.Options, most int) (r *compiler.Result, err error) {
	for o.MaxThreadblocks = (most + 1) / 2; o.MaxThreadblocks <= most; o.MaxThreadblocks++ {
		if r, err = compiler.Compile(traced, o); err == nil {
			break
		}
	}
	return r, err
}

// mostThreadblocks is the largest number of threadblocks of a rank.
func mostThreadblocks(p *ir.Program) (most int) {
	for _, g := range p.GPUs {
		most = max(most, len(g.Threadblocks))
	}
	return most
}
