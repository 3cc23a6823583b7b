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
const text = "A number of nodes without rows has those of the nearest one in ratio, the smaller one of two as near; a size has the row of the next smaller one that was searched. Beyond the least and the greatest of each, these count. " +
	"Rows found by a short search are of the routings that are the most promising there by their estimated costs, corrected by how far estimates were off on the map's numbers of nodes on both sides; rows found by an estimate have the least expected time, and were run nowhere. " +
	"A program is for one number of ranks: on others, command with another --nodes searches its recipe alone; where the recipe does not apply there, leave the call to the library."

// Document returns the dispatcher's file. provenance is its head; file names the program of a
// row, empty where there is none.
func (d *Dispatcher) Document(provenance []string, file func(*Row) string) *File {
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
			r.MinBytes = r.Bytes
			if j == 0 || rows[j-1].Placement != r.Placement {
				r.MinBytes = 0
			}
			if j+1 < len(rows) && rows[j+1].Placement == r.Placement {
				r.MaxBytes = rows[j+1].Bytes - 1
			}
			r.File = file(&rows[j])
			f.Rules = append(f.Rules, r)
		}
	}
	return f
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
