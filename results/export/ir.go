package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// exportIR writes the program of every range in colltune's own form, and a file
// for each placement that lists the ranges.
func exportIR(c *results.Campaign, o Options, report *Report) error {
	winners, err := table.Build(c)
	if err != nil {
		return err
	}
	if len(winners.Rows) == 0 {
		return nothingMeasured(c)
	}
	if !slices.ContainsFunc(winners.Rows, func(r table.Row) bool { return r.Source != results.SourceNative }) {
		return fmt.Errorf("every winner is an algorithm of the library's own, and has no program: %w", ErrNothingFits)
	}
	plan := c.Plan()
	e := &irExport{campaign: c, plan: plan, report: report, folder: newFolder(o.Out, plan, `(?:\d+-.*\.ir|ranges)\.json`)}
	for _, placement := range plan.Placements() {
		if err := e.placed(placement, winners.Ranges); err != nil {
			return err
		}
	}
	if len(libraryFaster(winners)) == len(winners.Rows) {
		report.note(libraryFastest)
	}
	there, err := e.folder.write()
	report.note(there.notes()...)
	return err
}

// irExport is an export of programs in progress.
type irExport struct {
	campaign *results.Campaign
	plan     results.Plan
	folder   *folder
	report   *Report
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
func (e *irExport) placed(placement string, ranges []table.Range) error {
	document := rangesDocument{Schema: "colltune.ranges/v1"}
	files := map[string]string{}          // by hash
	behind := map[string]table.Evidence{} // by hash
	var all table.Evidence
	for _, r := range ranges {
		if r.Placement == placement && r.Source != results.SourceNative && !r.LeaveToLibrary {
			behind[r.IR] = behind[r.IR].Plus(r.Evidence())
			all = all.Plus(r.Evidence())
		}
	}
	document.Provenance = provenance(e.campaign, all)
	for _, r := range ranges {
		if r.Placement != placement {
			continue
		}
		if r.Source == results.SourceNative {
			e.report.note(fmt.Sprintf("from %s to %s bytes %s wins %s: %s", units.Bytes(r.MinBytes).String(), units.Bytes(r.MaxBytes).String(), r.Title(), placementText(r.Placement), noProgram))
			continue
		}
		if r.LeaveToLibrary {
			e.report.note(fmt.Sprintf("from %s to %s bytes the library is faster than every program %s: nothing is exported", units.Bytes(r.MinBytes).String(), units.Bytes(r.MaxBytes).String(), placementText(r.Placement)))
			continue
		}
		name, known := files[r.IR]
		if !known {
			name = fmt.Sprintf("colltune-%s-%02d-%s.ir.json", callName(e.plan, placement), len(files)+1, fileWord(r.Algorithm))
			files[r.IR] = name
			if err := e.program(name, r.IR, behind[r.IR]); err != nil {
				return err
			}
		}
		document.Ranges = append(document.Ranges, fileRange{name, r})
		e.report.Files = append(e.report.Files, File{Name: name, Placement: r.Placement, Algorithm: r.Algorithm, Protocol: r.Protocol,
			MinBytes: r.MinBytes, MaxBytes: r.MaxBytes, Granularity: r.Granularity, IR: r.IR, Unchecked: behind[r.IR].Unchecked > 0})
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

// fileWord makes a name fit for a part of a file's name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}
