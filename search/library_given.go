package search

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/libraries"
	"github.com/colltune/colltune/search/program"
)

// GivenLibrary is what libraries took, measured elsewhere, and given to stand beside programs.
type GivenLibrary struct {
	Name  string // what was asked for, without folders: vllm=times.csv,ranks=8
	Table *libraries.Table
}

// text is the library's rows of a problem's collective and ranks, as a campaign keeps them.
func (l *GivenLibrary) text(p *Problem, version string) string {
	var b bytes.Buffer
	kept := l.Table.Select(libraries.Query{Collective: p.Collective, Ranks: len(p.Topology.Ranks)})
	if err := kept.Write(&b, version); err != nil {
		return "" // not of a buffer
	}
	return b.String()
}

// libraryOf is the inverse of text.
func libraryOf(name, text string) (GivenLibrary, error) {
	t, err := libraries.ReadTable("campaign.toml: library "+name, []byte(text))
	return GivenLibrary{name, t}, err
}

// Rows returns those that are of a problem's calls: its collective and number of ranks, and
// the width of its elements where they are reduced. The error names what there is instead.
func (l *GivenLibrary) Rows(p *Problem) ([]measured.Row, error) {
	c, err := p.Over(len(p.Topology.Ranks), p.InPlace)
	if err != nil {
		return nil, err
	}
	width, err := collective.ElemBytes(p.DType)
	if err != nil {
		return nil, err
	}
	var rows []measured.Row
	var others []string
	for _, r := range l.Table.Rows {
		why := ""
		switch nodes := r.Conditions[measured.Nodes]; {
		case r.Collective != p.Collective || r.Ranks != c.Ranks:
			why = fmt.Sprintf("%s over %s", r.Collective, units.Count(r.Ranks, "rank"))
		case r.Width() != 0 && r.Width() != width:
			why = fmt.Sprintf("elements of %s, not %s", units.Count(int(r.Width()), "byte"), p.DType)
		case nodes != "" && nodes != fmt.Sprint(p.Topology.Nodes):
			why = "nodes " + nodes
		case !slices.Contains(p.Sizes, r.Bytes):
			why = units.Bytes(r.Bytes).String()
		default:
			rows = append(rows, r)
			continue
		}
		if !slices.Contains(others, why) {
			others = append(others, why)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("library %s: nothing in it is %s of %s over %s at a size searched for: it has %s", l.Name, p.Collective, p.DType, units.Count(c.Ranks, "rank"), strings.Join(others[:min(len(others), 5)], "; "))
	}
	return rows, nil
}

// libraryTimes are what the libraries took at each point of a problem, by rising time: of a
// library of one version, its fastest row there. There is nothing between its sizes.
func (o *Options) libraryTimes(p *Problem) (map[place][]results.LibraryTime, error) {
	times := map[place][]results.LibraryTime{}
	for i := range o.Libraries {
		rows, err := o.Libraries[i].Rows(p)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			for _, one := range p.placements() {
				if at := r.Conditions[measured.Placement]; at != "" && at != program.Placement(one.InPlace) {
					continue
				}
				k := place{r.Bytes, program.Placement(one.InPlace)}
				times[k] = append(times[k], results.LibraryTime{
					Library: r.Library, Version: r.Version, Kernel: r.Conditions[measured.Kernel], Registered: r.Conditions[measured.Registered],
					TimeUS: r.TimeUS, IntervalUS: [2]float64{r.LowUS, r.HighUS}, Simulated: r.Simulated(), Source: r.Source,
				})
			}
		}
	}
	for k, all := range times {
		slices.SortStableFunc(all, func(a, b results.LibraryTime) int {
			return cmp.Or(cmp.Compare(a.TimeUS, b.TimeUS), strings.Compare(a.Entry(), b.Entry()))
		})
		var best []results.LibraryTime
		for _, x := range all {
			if !slices.ContainsFunc(best, func(y results.LibraryTime) bool { return y.Entry() == x.Entry() && y.Registered == x.Registered }) {
				best = append(best, x)
			}
		}
		times[k] = best
	}
	return times, nil
}

// addLibraries adds to points what the libraries took.
func (o *Options) addLibraries(points []results.Point, p *Problem) error {
	if len(o.Libraries) == 0 {
		return nil
	}
	times, err := o.libraryTimes(p)
	if err != nil {
		return err
	}
	for i := range points {
		points[i].Libraries = times[place{points[i].Bytes, points[i].Placement}]
	}
	o.tellLibraries(times)
	return nil
}

// tellLibraries says where measured times meet simulated ones, and which library's version is
// not the one that the executor found.
func (o *Options) tellLibraries(times map[place][]results.LibraryTime) {
	simulates := o.simulates()
	var measured, simulated, stale []string
	add := func(all *[]string, s string) {
		if !slices.Contains(*all, s) {
			*all = append(*all, s)
		}
	}
	for _, all := range times {
		for _, x := range all {
			if x.Simulated {
				add(&simulated, x.Entry())
			} else {
				add(&measured, x.Entry())
			}
			if found := o.known().Versions[x.Library]; found != "" && x.Version != "" && found != x.Version {
				add(&stale, fmt.Sprintf("the times of %s are stale: the executor has %s %s", x.Entry(), x.Library, found))
			}
		}
	}
	for _, all := range []*[]string{&measured, &simulated, &stale} {
		slices.Sort(*all)
	}
	switch {
	case simulates && len(measured) > 0:
		o.Observer.Say(fmt.Sprintf("the times of %s were measured, and those of programs are simulated: which is faster is as sure as the simulator", strings.Join(measured, ", ")))
	case !simulates && len(simulated) > 0:
		o.Observer.Say(fmt.Sprintf("the times of %s are simulated, and those of programs are measured", strings.Join(simulated, ", ")))
	}
	for _, line := range stale {
		o.Observer.Say(line)
	}
}
