package export

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/results/tuning"
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
func exportMSCCL(c *results.Campaign, o Options, report *Report) error {
	if o.Runtime == "" {
		o.Runtime = "msccl"
	}
	row, err := msccl.Lookup(o.Runtime)
	if err != nil {
		return err
	}
	runtime := xmlReader{row}
	if err := row.CheckFolder(o.Out); err != nil {
		return err
	}
	if why := runtime.lacks(c.Plan().Collective); why != "" {
		return fmt.Errorf("%s: %w", why, ErrNothingFits)
	}
	plan := c.Plan()
	e := &xmlExport{programs: programs{campaign: c}, plan: plan, elem: plan.ElemBytes(), runtime: runtime, verdicts: map[[2]string]string{}}
	report.Runtime = runtime.Name
	if o.Unloaded != "" {
		report.note(o.Unloaded)
	}
	choice, err := newChooser(c, o, runtime.Name, runtime, e.refuses)
	if err != nil {
		return err
	}
	served, err := choice.choose(report)
	if err != nil {
		return err
	}
	return e.write(o, served, report)
}

// xmlExport is an export to MSCCL XML in progress.
type xmlExport struct {
	programs
	plan     results.Plan
	elem     int64
	runtime  xmlReader
	verdicts map[[2]string]string // why a program and protocol are refused
}

// refuses returns the reason for which the runtime would not run a configuration at that
// size; "" if it would.
func (e *xmlExport) refuses(m *table.Measured) (string, error) {
	// Ask the cheap question first: most trials fail it, and a program may be
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
		why = loads(e.runtime, p, m.Protocol, e.plan)
		e.verdicts[key] = why
	}
	return why, nil
}

// write writes the files and completes the report.
func (e *xmlExport) write(o Options, served []servedRange, report *Report) error {
	f := newFolder(o.Out, e.plan, `\d+-.*\.xml`)
	var names []string
	called := namesFor(e.plan)
	corrupt := "" // a fault of the runtime's kernels for these files
	for i, s := range served {
		o.reach(Writing, i, len(served))
		p, err := e.program(s.Program)
		if err != nil {
			return err
		}
		name := called.next(&s) + ".xml"
		comments := provenance(e.campaign, s.Evidence)
		if why := e.runtime.corrupts(s.Protocol, e.plan); why != "" {
			comments, corrupt = append(comments, why), why
		}
		var text bytes.Buffer
		err = msccl.Write(&text, p, msccl.WriteOptions{
			Runtime: e.runtime.Name, Protocol: s.Protocol, MinBytes: s.min, MaxBytes: s.max,
			InPlace: s.Placement == "in", OutOfPlace: s.Placement == "out",
			Name: fmt.Sprintf("%s_%s_%s", e.plan.Collective, tuning.FileWord(s.Algorithm), s.sizes()), Comments: comments,
		})
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.add(name, text.Bytes())
		names = append(names, filepath.Join(o.Out, name))
		report.Files = append(report.Files, File{Name: name, Placement: s.Placement, Algorithm: s.Algorithm, Protocol: s.Protocol,
			MinBytes: s.min, MaxBytes: s.max, Granularity: s.Granularity, TileBytes: s.TileBytes, IR: s.Program, Unchecked: s.Unchecked > 0})
	}
	left, err := f.write()
	if err != nil {
		return err
	}
	if corrupt != "" {
		report.note(corrupt + ": check results before you rely on these files")
	}
	report.note("sizes outside these, and no multiples of a file's granularity, fall back to the runtime's own")
	if e.runtime.Name == "msccl" && !o.LL128 && slices.ContainsFunc(served, func(s servedRange) bool { return s.Protocol == "LL128" }) {
		report.note("msccl takes files of LL128 over NVLink of V100s and A100s alone, unless NCCL_PROTO names it: elsewhere its own algorithms run")
	}
	report.note(left...)
	if len(served) == 0 {
		return nil
	}
	report.Load = msccl.HowToLoad(e.runtime.Runtime, names)
	report.setList(names)
	return nil
}
