package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/ir"
)

// exportIR writes the program of every range in colltune's own form, and for each
// placement the ranges themselves.
func exportIR(c *Campaign, o ExportOptions) (Report, error) {
	table, err := Build(c)
	if err != nil {
		return Report{}, err
	}
	if len(table.Rows) == 0 {
		return Report{}, fmt.Errorf("campaign %s: nothing measured yet: %w", c.Dir(), ErrNothingFits)
	}
	if !slices.ContainsFunc(table.Rows, func(r Row) bool { return r.Source != Backend }) {
		return Report{}, fmt.Errorf("every winner is an algorithm of the back end's own, and has no program: %w", ErrNothingFits)
	}
	plan := c.Plan()
	f := newFolder(o.Out, plan, `(?:\d+-.*\.ir|ranges)\.json`)
	report := Report{Format: "ir", Files: []ExportedFile{}, Losses: []Loss{}, Gaps: []Gap{}, Notes: []string{}}
	type named struct {
		File string `json:"file"`
		Range
	}
	for _, placement := range placements(plan) {
		document := struct {
			Schema     string   `json:"schema"`
			Provenance []string `json:"provenance"`
			Ranges     []named  `json:"ranges"`
		}{"colltune.ranges/v1", provenance(c), []named{}}

		files := map[string]string{} // by hash
		for _, r := range table.Ranges {
			if r.Placement != placement {
				continue
			}
			if r.Source == Backend {
				report.Notes = append(report.Notes, fmt.Sprintf("from %s to %s bytes %s wins %s: %s", sizeText(r.MinBytes), sizeText(r.MaxBytes), r.title(), placementText(r.Placement), noProgram))
				continue
			}
			name := files[r.IR]
			if name == "" {
				name = fmt.Sprintf("colltune-%s-%02d-%s.ir.json", calls(plan, placement), len(files)+1, fileWord(r.Algorithm))
				files[r.IR] = name
				p, err := c.Program(r.IR)
				if err != nil {
					return Report{}, err
				}
				p.Comment = strings.Join(provenance(c), "\n")
				var text bytes.Buffer
				if err := ir.Encode(&text, p); err != nil {
					return Report{}, err
				}
				f.add(name, text.Bytes())
			}
			document.Ranges = append(document.Ranges, named{name, r})
			report.Files = append(report.Files, ExportedFile{Name: name, Placement: r.Placement, Algorithm: r.Algorithm, Protocol: r.Protocol,
				MinBytes: r.MinBytes, MaxBytes: r.MaxBytes, Granularity: r.Granularity, IR: r.IR})
		}
		if len(document.Ranges) == 0 {
			continue
		}
		text, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return Report{}, err
		}
		f.add(fmt.Sprintf("colltune-%s-ranges.json", calls(plan, placement)), append(text, '\n'))
	}
	removed, others, err := f.write()
	report.Notes = append(report.Notes, swept(removed, others)...)
	return report, err
}

// title names a range's winner, as a report's lines do.
func (r *Range) title() string {
	if p := briefParameters(r.Parameters); p != "" {
		return r.Algorithm + " " + p
	}
	return r.Algorithm
}

// fileWord is a name as a part of a file's name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}
