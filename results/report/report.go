package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// page is the data that page.html.tmpl shows.
type page struct {
	CSS        template.CSS
	Title      string
	Simulated  bool
	Executor   string
	Finished   bool
	Warnings   []string
	Request    []detail
	System     system
	Baseline   string // description
	Bus        string // busbw as a multiple of algbw; empty: there is none
	Placements []*placement
	Two        bool
	Winners    []winner
	MoreWon    int
	Commands   []string
	Formats    string
	Candidates table.Candidates
	Parts      []count
	Refused    []count
	Counts     []count
	Trials     int
	Failures   []failure
	MoreFailed int
}

var (
	//go:embed page.css
	style string
	//go:embed page.html.tmpl
	pageText string
	//go:embed chart.svg.tmpl
	chartText string
	//go:embed program.svg.tmpl
	programText string
)

// templateOf returns a page's template. Few processes write a page, so none is parsed at the
// start.
func templateOf(name string, texts ...string) *template.Template {
	return template.Must(template.New(name).Funcs(pixels).Parse(strings.Join(texts, "")))
}

// pixels are the templates' functions for positions, rounded to a tenth of a pixel.
var pixels = template.FuncMap{
	"px":   func(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) },
	"less": func(v, by float64) float64 { return math.Round((v-by)*10) / 10 },
	"more": func(v, by float64) float64 { return math.Round((v+by)*10) / 10 },
	"mid":  func(from, length float64) float64 { return from + length/2 },
	"sum":  func(a, b float64) float64 { return a + b },
}

// Write writes the page of a campaign and its winning table as one HTML file. The table
// may have another baseline than the campaign (Table.Compare). A campaign without winners
// has a page, too. explain explains winners; nil: none is. The error is that of writing.
func Write(w io.Writer, c *results.Campaign, t *table.Table, explain Explain) error {
	plan := c.Plan()
	executor, known := c.Executor()
	trials := c.Trials()
	sizes := sizesOf(plan)
	p := page{
		CSS:       template.CSS(style),
		Title:     fmt.Sprintf("%s on %s", clip(plan.Collective, nameRoom), clip(plan.Topology.Name, nameRoom)),
		Simulated: t.Campaign.Simulated,
		Executor:  clip(executor.Name, nameRoom),
		Finished:  t.Campaign.Finished,
		Request:   requestDetails(plan, executor, known, t.Campaign.Simulated),
		System:    systemOf(plan),
		Baseline:  baselineText(c, t, trials),
		Bus:       busText(t),
		Formats:   formatsText(),
		Trials:    len(trials), Candidates: t.Candidates,
	}
	colour := colours(t)
	curves := table.Curves(c)
	for _, name := range []string{"in", "out"} {
		if shown := newPlacement(name, sizes, t, curves, colour); shown != nil {
			p.Placements = append(p.Placements, shown)
		}
	}
	p.Two = len(p.Placements) > 1
	p.Winners, p.MoreWon = winners(c, t, explain)
	p.Commands = exportCommands(t, p.Winners)
	p.Parts, p.Refused = candidates(t.Candidates)
	p.Counts, p.Failures, p.MoreFailed = outcomes(trials)
	p.Warnings = warnings(t, plan, trials)
	return write(w, templateOf("page", pageText, chartText, programText), &p)
}

// write fills in a template.
func write(w io.Writer, t *template.Template, data any) error {
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err := io.WriteString(w, safe.Terminal(b.String())) // covers all text in the data
	return err
}

// warnings lists the notes above the figures.
func warnings(t *table.Table, plan results.Plan, trials []results.Trial) (says []string) {
	for _, note := range t.Notes {
		says = append(says, clip(capital(note)+".", noteRoom))
	}
	cells := len(sizesOf(plan))
	if plan.Placement == "both" {
		cells *= 2
	}
	if !t.Campaign.Finished {
		says = append(says, fmt.Sprintf("The search is not finished. %d of %d sizes have a winner so far, and winners may change.", len(t.Rows), cells))
	} else if len(t.Rows) < cells {
		says = append(says, fmt.Sprintf("%d of %d sizes have no winner, since no trial there gave a right result.", cells-len(t.Rows), cells))
	}
	wrong, failed := 0, 0
	for i := range trials {
		switch trials[i].Outcome {
		case results.OK:
		case results.Wrong:
			wrong++
		default:
			failed++
		}
	}
	if wrong > 0 {
		says = append(says, fmt.Sprintf("%s gave a wrong result, listed below. Such a program cannot win at that size.", units.Count(wrong, "trial")))
	}
	if failed > 0 {
		says = append(says, fmt.Sprintf("%s of %d gave no result; the reasons are listed below.", units.Count(failed, "trial"), len(trials)))
	}
	return says
}

// baselineText describes the baseline: which release, in which states of the buffers; and what its
// times are.
func baselineText(c *results.Campaign, t *table.Table, trials []results.Trial) string {
	shown := map[string]bool{}
	for i := range t.Rows {
		if b := t.Rows[i].Baseline; b != nil {
			shown[*b] = true
		}
	}
	if len(shown) == 0 {
		return "There is nothing to compare with."
	}
	tally, _ := c.Tally()
	native := map[string]bool{}
	for i := range trials {
		if trials[i].Source == results.SourceNative {
			native[trials[i].Program] = true
		}
	}
	model, library, vendor, unknown, file := false, false, false, false, ""
	known := map[string]bool{}
	for _, p := range tally.Points {
		all := p.Others
		if p.Baseline != nil {
			all = append(all[:len(all):len(all)], *p.Baseline)
		}
		for i := range all {
			b := &all[i]
			known[b.Name] = true
			switch {
			case !shown[b.Name]:
			case b.Evidence == results.EvidencePredicted:
				vendor = true
			case b.Evidence == results.EvidenceUnknown:
				unknown = true
			case b.TimeUS > 0 && b.Data != results.NoData:
				file = b.Name
			case native[b.Program]:
				library = true
			default:
				model = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		if !known[name] { // given to Compare
			file = name
		}
	}
	executor, _ := c.Executor()
	var says []string
	if line := t.BaselineLine(); line != "" {
		says = append(says, capital(line)+".")
	}
	if model {
		how := "measured by " + clip(executor.Name, nameRoom)
		if t.Campaign.Simulated {
			how = "timed by the same simulator"
		}
		says = append(says, "The baseline is what NCCL's own cost model would choose at each size, run as a program and "+how+", or timed by a closed form where no program can do it. It is not a measurement of NCCL.")
	}
	if vendor {
		says = append(says, "The time of a kernel for registered buffers is what the vendor's own model predicts, not a measurement.")
	}
	if unknown {
		says = append(says, "Where nothing says what the library takes, there is no speedup.")
	}
	if library {
		says = append(says, "The baseline is what the library chooses by itself, measured by "+clip(executor.Name, nameRoom)+".")
	}
	if file != "" {
		says = append(says, "The baseline's times are those of the file "+clip(file, nameRoom)+", taken as they are; they were not measured in this campaign.")
	}
	return strings.Join(says, " ")
}

// busText gives the factor from algorithm bandwidth to bus bandwidth.
func busText(t *table.Table) string {
	if len(t.Rows) == 0 || t.Rows[0].BusBW == nil || !(t.Rows[0].AlgBW > 0) {
		return ""
	}
	return fmt.Sprintf("busbw = algbw × %.5g", *t.Rows[0].BusBW/t.Rows[0].AlgBW)
}
