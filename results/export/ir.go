package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/results/tuning"
)

// irReader is colltune itself, which runs every program as it was measured, of any number of
// files.
type irReader struct{}

func (irReader) Runs(t *results.Trial, _ int64) string {
	if t.IsNative() {
		return lacksProgram(t)
	}
	return ""
}

func (irReader) Accepts(*ir.Program, string) string                  { return "" }
func (irReader) Computes(string, string) string                      { return "" }
func (irReader) Tile(string) (tile int64, any bool)                  { return 0, true }
func (irReader) files() int                                          { return math.MaxInt }
func (irReader) loaded(p *ir.Program, _ string) (*ir.Program, error) { return p, nil }
func (irReader) tileAt(t *results.Trial, _ int64) int64              { return t.TileBytes }
func (irReader) granularity(t *results.Trial) int64                  { return t.Granularity }
func (irReader) passes(*results.Trial, int64) bool                   { return false }
func (irReader) fileKey(t *results.Trial) fileKey                    { return fileKey{t.Program, t.Protocol, t.TileBytes} }

// exportIR writes the program of every range in colltune's own form, and a file
// for each placement that lists the ranges.
func exportIR(c *results.Campaign, o Options, report *Report) error {
	refuses := func(m *table.Measured) (string, error) { return irReader{}.Runs(m.Trial, 0), nil }
	choice, err := newChooser(c, o, "colltune", irReader{}, refuses)
	if err != nil {
		return err
	}
	served, err := choice.choose(report)
	if err != nil {
		return err
	}
	plan := c.Plan()
	e := &irExport{campaign: c, plan: plan, report: report, stage: o.reach, folder: newFolder(o.Out, plan, `(?:\d+-.*\.ir|ranges)\.json`)}
	for _, placement := range plan.Placements() {
		if err := e.placed(placement, served); err != nil {
			return err
		}
	}
	left, err := e.folder.write()
	report.note(left...)
	return err
}

// irExport is an export of programs in progress.
type irExport struct {
	campaign *results.Campaign
	plan     results.Plan
	folder   *folder
	report   *Report
	stage    func(what string, done, of int)
}

// rangesDocument is that file: it says which program is for which sizes.
type rangesDocument struct {
	Schema     string      `json:"schema"`
	Provenance []string    `json:"provenance"`
	Ranges     []fileRange `json:"ranges"`
}

type fileRange struct {
	File string `json:"file"`
	table.Range
}

// placed adds the ranges of one placement, and their programs, each once.
func (e *irExport) placed(placement string, served []servedRange) error {
	document := rangesDocument{Schema: "colltune.ranges/v1"}
	files := map[string]string{}          // by hash
	behind := map[string]table.Evidence{} // by hash
	var all table.Evidence
	served = slices.DeleteFunc(slices.Clone(served), func(s servedRange) bool { return s.Placement != placement })
	for i := range served {
		s := &served[i]
		behind[s.Program] = behind[s.Program].Plus(s.Evidence)
		all = all.Plus(s.Evidence)
	}
	document.Provenance = provenance(e.campaign, all)
	for i := range served {
		e.stage(Writing, i, len(served))
		s := &served[i]
		name, known := files[s.Program]
		if !known {
			name = fmt.Sprintf("colltune-%s-%02d-%s.ir.json", callName(e.plan, placement), len(files)+1, tuning.FileWord(s.Algorithm))
			files[s.Program] = name
			if err := e.program(name, s.Program, behind[s.Program]); err != nil {
				return err
			}
		}
		document.Ranges = append(document.Ranges, fileRange{name, s.Range(s.min, s.max)})
		e.report.Files = append(e.report.Files, File{Name: name, Placement: placement, Algorithm: s.Algorithm, Protocol: s.Protocol,
			MinBytes: s.min, MaxBytes: s.max, Granularity: s.Granularity, TileBytes: s.TileBytes, IR: s.Program, Unchecked: behind[s.Program].Unchecked > 0})
	}
	if len(document.Ranges) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	e.folder.add(fmt.Sprintf("colltune-%s-ranges.json", callName(e.plan, placement)), append(safe.JSON(text), '\n'))
	return nil
}

// program adds a program of the campaign, and where it comes from.
func (e *irExport) program(name, hash string, behind table.Evidence) error {
	p, err := e.campaign.Program(hash)
	if err != nil {
		return err
	}
	p.Comment = strings.Join(provenance(e.campaign, behind), "\n")
	var text bytes.Buffer
	if err := ir.Encode(&text, p); err != nil {
		return err
	}
	e.folder.add(name, text.Bytes())
	return nil
}
