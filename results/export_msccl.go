package results

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
)

// exportMSCCL writes an XML file for every run of sizes that one program and
// protocol serve. A runtime runs a program only where its chunks divide the
// call's elements, with its own tile, and silently does something else
// otherwise: so at every size the fastest is taken of what it would really run,
// and the report says where that is not the winner.
//
// A file's range goes from its first measured size to just below the next
// file's, or the next measured size's where nothing serves that. Sizes between
// measured ones that the program's granularity does not divide fall back.
func exportMSCCL(c *Campaign, o ExportOptions) (Report, error) {
	if o.Runtime == "" {
		o.Runtime = "msccl"
	}
	runtime, err := RuntimeNamed(o.Runtime)
	if err != nil {
		return Report{}, err
	}
	if why := runtime.lacks(c.Plan().Collective); why != "" {
		return Report{}, fmt.Errorf("%s: %w", why, ErrNothingFits)
	}
	e := &xmlExport{campaign: c, plan: c.Plan().normal(), runtime: runtime, verdicts: map[[2]string]string{}}
	if e.elem, err = collective.ElemBytes(e.plan.DType); err != nil {
		return Report{}, err
	}
	all := gather(c.Trials())
	if len(all) == 0 {
		return Report{}, fmt.Errorf("campaign %s: nothing measured yet: %w", c.Dir(), ErrNothingFits)
	}
	report := Report{Format: "msccl-xml", Runtime: runtime.Name, Files: []ExportedFile{}, Losses: []Loss{}, Gaps: []Gap{}, Notes: []string{}}
	table, err := Build(c)
	if err != nil {
		return Report{}, err
	}
	var served []piece
	places := cells(e.plan)
	chosen, why, err := e.choose(places, all)
	if err != nil {
		return Report{}, err
	}
	for i, at := range places {
		m := chosen[i]
		if m == nil {
			report.Gaps = append(report.Gaps, Gap{at.bytes, at.placement, why[i]})
			continue
		}
		winner := all[at][slices.IndexFunc(all[at], competes)]
		if m.time > winner.time {
			report.Losses = append(report.Losses, Loss{
				Bytes: at.bytes, Placement: at.placement, Winner: winner.title(), WinnerUS: winner.time,
				Exported: m.title(), ExportedUS: m.time, Percent: (m.time/winner.time - 1) * 100, Why: why[i],
			})
		}
		if note := slower(m, at, table); note != "" {
			report.Notes = append(report.Notes, note)
		}
		end := endOf(e.plan, at)
		if n := len(served); n > 0 && i > 0 && chosen[i-1] != nil && places[i-1].placement == at.placement &&
			served[n-1].Program == m.Program && served[n-1].Protocol == m.Protocol {
			served[n-1].max, served[n-1].last = end, at.bytes
		} else {
			served = append(served, piece{measured: *m, min: at.bytes, last: at.bytes, max: end})
		}
	}
	if len(served) == 0 {
		return Report{}, fmt.Errorf("%s would run none of the programs measured (%s): %w", runtime.Name, report.Gaps[0].Why, ErrNothingFits)
	}
	return report, e.write(o.Out, served, &report)
}

// slower says that what is exported for a size takes longer than what it was
// compared with, which would run there without the file; empty where it does not.
func slower(m *measured, at cell, t *Table) string {
	for _, r := range t.Rows {
		if r.Bytes != at.bytes || r.Placement != at.placement || r.Baseline == nil || m.time < *r.BaselineTimeUS*1.0005 {
			continue
		}
		return fmt.Sprintf("at %s [%s] takes %.1f %% longer than the baseline [%s]: without a file for that size the runtime's own algorithms run",
			sizeText(at.bytes), m.title(), (m.time / *r.BaselineTimeUS - 1)*100, *r.Baseline)
	}
	return ""
}

// piece is a run of sizes that one file serves.
type piece struct {
	measured
	min, last, max int64 // last: the last measured size
}

// title names what was measured, as a report's lines do.
func (m *measured) title() string {
	name := m.Algorithm
	if p := briefParameters(m.Parameters); p != "" {
		name += " " + p
	}
	if m.native() {
		return name + " " + m.Protocol
	}
	return fmt.Sprintf("%s ×%d %s tile %s", name, m.Instances, m.Protocol, sizeText(m.TileBytes))
}

// endOf is the last size before the next one of the plan.
func endOf(p Plan, at cell) int64 {
	if i := slices.Index(p.Sizes, at.bytes); i >= 0 && i+1 < len(p.Sizes) {
		return p.Sizes[i+1] - 1
	}
	return at.bytes
}

// xmlExport is an export under way.
type xmlExport struct {
	campaign *Campaign
	plan     Plan
	elem     int64
	runtime  Runtime
	verdicts map[[2]string]string // why a program and protocol are refused
	last     *ir.Program          // the program read last: they can be large
	lastHash string
}

func (e *xmlExport) program(hash string) (*ir.Program, error) {
	if hash == e.lastHash {
		return e.last, nil
	}
	p, err := e.campaign.Program(hash)
	if err != nil {
		return nil, err
	}
	e.last, e.lastHash = p, hash
	return p, nil
}

// refuses says why the runtime would not run what was measured, at that size;
// empty where it would.
func (e *xmlExport) refuses(m *measured) (string, error) {
	// The cheap question comes first: most trials fail it, and a program may be
	// large.
	if why := e.runtime.Runs(m.Trial, e.elem); why != "" {
		return why, nil
	}
	key := [2]string{m.Program, m.Protocol}
	why, asked := e.verdicts[key]
	if !asked {
		p, err := e.program(m.Program)
		if err != nil {
			return "", err
		}
		why = e.runtime.Accepts(p, m.Protocol)
		if averages(e.plan.Op, p.Collective) {
			why = fmt.Sprintf("for avg %s runs its own algorithms, and no program", e.runtime.Name)
		}
		e.verdicts[key] = why
	}
	return why, nil
}

// averages tells whether calls of a collective with that operation are averages,
// for which no runtime runs a program.
func averages(op string, s collective.Spec) bool {
	c, err := collective.New(s)
	return op == "avg" && err == nil && c.Reduces()
}

// choose picks what is exported at each size, nil for nothing, and says why the
// winner there is not it.
func (e *xmlExport) choose(at []cell, all map[cell][]measured) (chosen []*measured, why []string, err error) {
	type pair struct{ program, protocol string }
	var runnable [][]choice
	ids := map[pair]int{}
	var byID [][]*measured // by id, then index into at
	why = make([]string, len(at))
	for i, a := range at {
		var choices []choice
		for j := range all[a] {
			m := &all[a][j]
			if m.Reference {
				continue
			}
			refusal, err := e.refuses(m)
			if err != nil {
				return nil, nil, err
			}
			if refusal != "" {
				if why[i] == "" && len(choices) == 0 {
					why[i] = refusal
				}
				continue
			}
			k := pair{m.Program, m.Protocol}
			id, known := ids[k]
			if !known {
				id = len(byID)
				ids[k] = id
				byID = append(byID, make([]*measured, len(at)))
			}
			if byID[id][i] == nil { // of several tiles that run alike, the first
				byID[id][i] = m
				choices = append(choices, choice{id, m.time})
			}
			if e.runtime.files() >= len(at) {
				break // best first, and no file to save
			}
		}
		if why[i] == "" && len(choices) == 0 {
			why[i] = "not measured"
		}
		runnable = append(runnable, choices)
	}
	chosen = make([]*measured, len(at))
	for i, id := range cover(runnable, e.runtime.files()) {
		if id != none {
			chosen[i] = byID[id][i]
		}
		best := least(runnable[i])
		if best >= 0 && runnable[i][best].id != id {
			limit := fmt.Sprintf("%s loads %d files", e.runtime.Name, e.runtime.files())
			if why[i] != "" {
				limit = why[i] + ", and " + limit
			}
			why[i] = limit
		}
	}
	return chosen, why, nil
}

// write writes the files and completes the report.
func (e *xmlExport) write(out string, served []piece, report *Report) error {
	f := newFolder(out, e.plan, `\d+-.*\.xml`)
	var names []string
	numbers := map[string]int{} // of files, by placement
	for _, s := range served {
		p, err := e.program(s.Program)
		if err != nil {
			return err
		}
		sizes := sizeText(s.min)
		if s.last != s.min {
			sizes += "-" + sizeText(s.last)
		}
		numbers[s.Placement]++
		name := fmt.Sprintf("colltune-%s-%02d-%s-%s-%s.xml", calls(e.plan, s.Placement), numbers[s.Placement], sizes, fileWord(s.Algorithm), s.Protocol)
		var text bytes.Buffer
		err = msccl.Write(&text, p, msccl.WriteOptions{
			Runtime: e.runtime.Name, Protocol: s.Protocol, MinBytes: s.min, MaxBytes: s.max,
			InPlace: s.Placement == "in", OutOfPlace: s.Placement == "out",
			Name: fmt.Sprintf("%s_%s_%s", e.plan.Collective, fileWord(s.Algorithm), sizes), Comments: provenance(e.campaign),
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.add(name, text.Bytes())
		names = append(names, filepath.Join(out, name))
		report.Files = append(report.Files, ExportedFile{Name: name, Placement: s.Placement, Algorithm: s.Algorithm, Protocol: s.Protocol,
			MinBytes: s.min, MaxBytes: s.max, Granularity: s.Granularity, IR: s.Program})
	}
	removed, others, err := f.write()
	if err != nil {
		return err
	}
	report.Notes = append(report.Notes, "sizes that are no multiple of a file's granularity, and sizes outside all ranges, fall back to the runtime's own algorithms")
	report.Notes = append(report.Notes, swept(removed, others)...)
	report.Load = msccl.HowToLoad(e.runtime.row, names, Quote)
	return nil
}
