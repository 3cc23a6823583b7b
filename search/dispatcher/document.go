package dispatcher

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results/table"
)

// Schema names the form of a dispatcher's file.
const Schema = "colltune.dispatcher/v1"

// Rule is a row with the calls that it is for.
type Rule struct {
	MinNodes int   `json:"min_nodes"`
	MaxNodes int   `json:"max_nodes"` // inclusive; 0: no end
	MinBytes int64 `json:"min_bytes"`
	MaxBytes int64 `json:"max_bytes"` // inclusive; 0: no end
	Row
}

// File is a dispatcher as programs read it: of the rules exactly one is for a call.
type File struct {
	Schema     string   `json:"schema"`
	Provenance []string `json:"provenance"`
	Collective string   `json:"collective"`
	Topology   string   `json:"topology"`
	Op         string   `json:"op"`
	DType      string   `json:"dtype"`
	Rule       string   `json:"rule"`     // for calls that were not searched
	LeftOut    *Regret  `json:"left_out"` // each inner number of nodes of the map left out; null for maps of two
	HeldOut    *Regret  `json:"held_out"` // on other campaigns' numbers of nodes; null without any
	Rules      []Rule   `json:"rules"`
}

// text is the rule of Choose and Between in words.
const text = "A number of nodes without rows has those of the nearest one in ratio, the smaller one of two as near; a size has the row of the next smaller one that was searched, up to the size at which the library becomes faster. Sizes below and above those that were searched are left to the library. " +
	"Rows found by a short search are of the routings that are the most promising there by their estimated costs, corrected by how far estimates were off on the map's numbers of nodes on both sides; rows found by an estimate have the least expected time, and were run nowhere. " +
	"A program is for one number of ranks: on others, command with another --nodes searches its recipe alone; where the recipe does not apply there, leave the call to the library."

// Program is the exported program of a row, and the last size that it serves from there.
type Program struct {
	File string
	Last int64
}

// Document returns the dispatcher's file. provenance is its head; program returns that of a
// row, the zero value where there is none.
func (d *Dispatcher) Document(provenance []string, program func(*Row) Program) *File {
	plan := d.campaigns[0].Plan()
	f := &File{
		Schema: Schema, Provenance: provenance, Collective: plan.Collective, Topology: plan.Topology.Name, Op: plan.Op, DType: plan.DType, Rule: text,
		Rules: []Rule{},
	}
	counts := d.counts()
	for i, n := range counts {
		nodes := Rule{MinNodes: 1}
		if i > 0 {
			nodes.MinNodes = lastNearest(counts[i-1], n) + 1
		}
		if i+1 < len(counts) {
			nodes.MaxNodes = lastNearest(n, counts[i+1])
		}
		rows := d.rows[n]
		for j := range rows {
			r := nodes
			r.Row = rows[j]
			r.MinBytes, r.MaxBytes = r.Bytes, r.Bytes
			if first := j == 0 || rows[j-1].Placement != r.Placement; first && r.Bytes == 1 {
				r.MinBytes = 0
			} else if first {
				f.Rules = append(f.Rules, r.left(0, r.Bytes-1))
			}
			last := int64(0)
			if j+1 < len(rows) && rows[j+1].Placement == r.Placement {
				last = rows[j+1].Bytes - 1
				r.MaxBytes = last
			}
			if p := program(&rows[j]); p.File != "" {
				r.File, r.MaxBytes, r.Library = p.File, min(p.Last, r.MaxBytes), false
			}
			f.Rules = append(f.Rules, r)
			if r.MaxBytes != last {
				f.Rules = append(f.Rules, r.left(r.MaxBytes+1, last))
			}
		}
	}
	return f
}

// left is the rule that leaves sizes beside those of a row to the library.
func (r Rule) left(least, most int64) Rule {
	r.MinBytes, r.MaxBytes, r.Library = least, most, true
	r.File, r.IR, r.Command = "", "", ""
	return r
}

// FileName is the name of the file.
func (d *Dispatcher) FileName() string {
	plan := d.campaigns[0].Plan()
	return fmt.Sprintf("colltune-%s-%s-dispatcher.json", word(plan.Collective), word(plan.Topology.Name))
}

// word makes a name fit for a part of a file's name.
func word(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

// Text is the file's text. The error is that of numbers that JSON has not.
func (f *File) Text() ([]byte, error) {
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(safe.JSON(b), '\n'), nil
}

// Evidence sums up the evidence of the map's rows.
func (d *Dispatcher) Evidence() (all table.Evidence) {
	for _, t := range d.tables {
		for i := range t.Ranges {
			all = all.Plus(t.Ranges[i].Evidence())
		}
	}
	return all
}
