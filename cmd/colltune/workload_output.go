package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/search/workload"
)

// callDocument is the calls of one op that are of one kind, in JSON: as the fine mix makes
// them.
type callDocument struct {
	Name         string      `json:"name"`
	Collective   string      `json:"collective"`
	Bytes        int64       `json:"bytes"`
	Ranks        int         `json:"ranks"`
	Nodes        int         `json:"nodes"` // 0: not stated
	Traffic      string      `json:"traffic"`
	Count        int         `json:"count"`
	Library      string      `json:"library"`
	Version      string      `json:"version"`
	Kernel       string      `json:"kernel"`
	TimeUS       float64     `json:"time_us"`
	IntervalUS   *[2]float64 `json:"interval_us"` // null: modelled
	Interpolated bool        `json:"interpolated"`
	Evidence     string      `json:"evidence"`
	Alone        *string     `json:"alone"` // who makes it in the best single case
	AloneTimeUS  *float64    `json:"alone_time_us"`
	Changed      bool        `json:"changed"`
	WorthUS      float64     `json:"worth_us"`
	Lacking      []string    `json:"lacking"`
}

// caseDocument is a case in JSON; its times are null where there is none.
type caseDocument struct {
	CommunicationUS *float64          `json:"communication_us"`
	TotalUS         *float64          `json:"total_us"`
	IntervalUS      *[2]float64       `json:"interval_us"`
	ExposedUS       *float64          `json:"exposed_us"`
	Takes           *float64          `json:"takes"` // times as long as the fine mix; null: left out
	TakesInterval   *[2]float64       `json:"takes_interval"`
	Efficiency      *float64          `json:"efficiency"` // null: the file states no scaling
	Libraries       map[string]string `json:"libraries,omitempty"`
	Borrowed        int               `json:"borrowed"` // calls made by the fallback
	Modelled        int               `json:"modelled"` // calls of which no measurement supports the time
	LeftOut         bool              `json:"left_out"` // of the mixes, as modelled where others are not
	Lacks           string            `json:"lacks,omitempty"`
}

// casesDocument is the three cases of MCR-DL.
type casesDocument struct {
	Single map[string]caseDocument `json:"single"`
	Coarse caseDocument            `json:"coarse"`
	Fine   caseDocument            `json:"fine"`
}

type scaleDocument struct {
	Ranks int           `json:"ranks"`
	Steps casesDocument `json:"steps"`
}

// workloadDocument is the JSON of a step: its calls and cases at the last number of ranks,
// and the cases at each.
func workloadDocument(results []*workload.Result) any {
	r := results[len(results)-1]
	calls := []callDocument{}
	for i := range r.Calls {
		calls = append(calls, callDocumentOf(r, &r.Calls[i]))
	}
	scales := []scaleDocument{}
	for _, x := range results {
		scales = append(scales, scaleDocument{x.Step.Ranks, casesOf(results[0], x)})
	}
	var best *string
	if r.Best != nil {
		best = &r.Best.Name
	}
	return struct {
		Step      string          `json:"step"`
		Ranks     int             `json:"ranks"`
		Scaling   string          `json:"scaling"`
		ComputeUS float64         `json:"compute_us"`
		Best      *string         `json:"best_single"`
		Calls     []callDocument  `json:"calls"`
		Steps     casesDocument   `json:"steps"`
		Scales    []scaleDocument `json:"scales"`
	}{r.Step.Name, r.Step.Ranks, r.Step.Scaling, r.Step.ComputeUS(), best, calls, casesOf(results[0], r), scales}
}

func callDocumentOf(r *workload.Result, c *workload.CallRow) callDocument {
	k, t := r.Step.Kinds[c.Kind], &r.Fine.Times[c.Kind]
	d := callDocument{
		Name: c.Op, Collective: k.Collective, Bytes: k.Bytes, Ranks: k.Ranks, Nodes: k.Nodes, Traffic: k.Traffic, Count: c.Count,
		Library: t.Library, Version: t.Version, Kernel: t.Conditions[measured.Kernel], TimeUS: t.TimeUS, IntervalUS: &[2]float64{t.LowUS, t.HighUS},
		Interpolated: t.Interpolated, Evidence: t.Conditions[measured.Evidence], Changed: c.Changed, WorthUS: c.WorthUS, Lacking: append([]string{}, c.Lacking...),
	}
	if workload.Modelled(t) {
		d.IntervalUS, d.Evidence = nil, "modelled"
	}
	if r.Best != nil {
		alone := &r.Best.Times[c.Kind]
		name := alone.Entry()
		d.Alone, d.AloneTimeUS = &name, &alone.TimeUS
	}
	return d
}

func casesOf(first, r *workload.Result) casesDocument {
	d := casesDocument{Single: map[string]caseDocument{}, Coarse: caseDocumentOf(r, &r.Coarse, r.Efficiency(first, "coarse")), Fine: caseDocumentOf(r, &r.Fine, r.Efficiency(first, "fine"))}
	for i := range r.Singles {
		c := &r.Singles[i]
		d.Single[c.Name] = caseDocumentOf(r, c, r.Efficiency(first, c.Name))
	}
	d.Coarse.Libraries = map[string]string{}
	for k := range r.Coarse.Times {
		if !r.Coarse.Borrowed[k] && r.Coarse.Lacks == "" {
			d.Coarse.Libraries[r.Step.Kinds[k].Collective] = r.Coarse.Times[k].Entry()
		}
	}
	return d
}

func caseDocumentOf(r *workload.Result, c *workload.Case, efficiency float64) caseDocument {
	d := caseDocument{Lacks: c.Lacks, Borrowed: r.BorrowedCalls(c), Modelled: c.Modelled, LeftOut: c.LeftOut}
	if c.Lacks != "" {
		return d
	}
	takes, low, high := r.Gain(c)
	d.CommunicationUS, d.TotalUS, d.ExposedUS = &c.CommunicationUS, &c.TotalUS, &c.ExposedUS
	if !c.LeftOut {
		d.Takes = &takes
	}
	if c.Modelled == 0 {
		d.IntervalUS = &[2]float64{c.LowUS, c.HighUS}
	}
	if low > 0 {
		d.TakesInterval = &[2]float64{low, high}
	}
	if efficiency > 0 {
		d.Efficiency = &efficiency
	}
	return d
}

// caseSheet has a line for each case and number of ranks.
func caseSheet(results []*workload.Result) sheet {
	s := sheet{columns: []column{number("ranks").OnceAbove(), text("case"), number("communication us").InWide(), number("exposed us"), number("total us"), number("low us"), number("high us"), number("takes x"), number("efficiency %"), number("borrowed calls").InWide(), text("note")}}
	for _, r := range results {
		add := func(c *workload.Case, name, note string) {
			if c.Lacks != "" {
				s.add(strconv.Itoa(r.Step.Ranks), name, "", "", "", "", "", "", "", "", c.Lacks)
				return
			}
			takes, share, least, most := "", "", "", ""
			if !c.LeftOut {
				x, _, _ := r.Gain(c)
				takes = fmt.Sprintf("%.3f", x)
			}
			if c.Modelled == 0 {
				least, most = fixed(c.LowUS), fixed(c.HighUS)
			}
			if e := r.Efficiency(results[0], c.Name); e > 0 && len(results) > 1 {
				share = fmt.Sprintf("%.1f", 100*e)
			}
			s.add(strconv.Itoa(r.Step.Ranks), name, fixed(c.CommunicationUS), fixed(c.ExposedUS), fixed(c.TotalUS), least, most, takes, share, strconv.Itoa(r.BorrowedCalls(c)), strings.TrimPrefix(note+modelledNote(r, c), "; "))
		}
		for i := range r.Singles {
			add(&r.Singles[i], r.Singles[i].Name+" alone", "")
		}
		add(&r.Coarse, "coarse", coarseNote(r))
		add(&r.Fine, "fine", "")
	}
	r := results[len(results)-1]
	s.above = []string{fmt.Sprintf("%s: %s, computes of %s us", r.Step.Name, units.Count(len(r.Step.Calls), "call"), fixed(r.Step.ComputeUS()))}
	s.below = strings.Split(strings.TrimSuffix(summary(r), "\n"), "\n")
	return s
}

// modelledNote says how many calls of a case have no time that measurements support.
func modelledNote(r *workload.Result, c *workload.Case) string {
	switch {
	case c.Modelled == 0:
		return ""
	case c.LeftOut:
		return "; modelled: left out of the mixes"
	case c.Modelled < len(r.Step.Calls):
		return fmt.Sprintf("; modelled: %d of %s", c.Modelled, units.Count(len(r.Step.Calls), "call"))
	}
	return "; modelled"
}

// coarseNote says who makes which collective.
func coarseNote(r *workload.Result) string {
	if r.Coarse.Lacks != "" {
		return ""
	}
	var parts []string
	seen := map[string]bool{}
	for k := range r.Coarse.Times {
		name := r.Step.Kinds[k].Collective
		if !seen[name] && !r.Coarse.Borrowed[k] {
			seen[name] = true
			parts = append(parts, name+": "+r.Coarse.Times[k].Entry())
		}
	}
	return strings.Join(parts, ", ")
}

// summary says what mixing gains, which calls change sides, and what to tune.
func summary(r *workload.Result) string {
	var b strings.Builder
	if r.Best != nil {
		takes, low, high := r.Gain(r.Best)
		changed, of := 0, 0
		var names []string
		for i := range r.Calls {
			c := &r.Calls[i]
			of += c.Count
			if c.Changed {
				changed += c.Count
				names = append(names, fmt.Sprintf("%s to %s", c.Op, r.Fine.Times[c.Kind].Entry()))
			}
		}
		switch {
		case changed == 0:
			fmt.Fprintf(&b, "mixing gains nothing: %s is the fastest for each call\n", r.Best.Name)
		default:
			fmt.Fprintf(&b, "%s alone takes %.3f times as long as the fine mix", r.Best.Name, takes)
			switch {
			case low == 0:
				b.WriteString(" (modelled)")
			case low <= 1 && takes >= 1:
				fmt.Fprintf(&b, " (%.3f to %.3f): no more than their intervals allow by chance", low, high)
			default:
				fmt.Fprintf(&b, " (%.3f to %.3f)", low, high)
			}
			fmt.Fprintf(&b, "; %d of %s change sides: %s\n", changed, units.Count(of, "call"), shortList(names))
		}
	}
	var leftOut []string
	for i := range r.Singles {
		if r.Singles[i].LeftOut {
			leftOut = append(leftOut, r.Singles[i].Name)
		}
	}
	if len(leftOut) > 0 {
		fmt.Fprintf(&b, "left out of the mixes, as no measurement supports their times: %s\n", shortList(leftOut))
	}
	if c := r.Worth(); c != nil {
		k := r.Step.Kinds[c.Kind]
		fmt.Fprintf(&b, "most worth tuning: %s (%s), up to %s us, %.1f %% of the step\n", c.Op, k, fixed(c.WorthUS), 100*c.WorthUS/r.Fine.TotalUS)
	} else {
		b.WriteString("nothing worth tuning: no call is on the critical path\n")
	}
	return b.String()
}

// shortList joins the first names of a list.
func shortList(names []string) string {
	const most = 6
	more := ""
	if n := len(names) - most; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return strings.Join(names[:min(len(names), most)], ", ") + more
}

// callSheet has a line for the calls of one op and kind.
func callSheet(r *workload.Result) sheet {
	s := sheet{columns: []column{text("call"), text("collective"), number("bytes"), number("ranks").OnceAbove(), number("nodes").InWide(), text("traffic").InWide(), number("count"), text("library"), text("kernel").InWide(), number("time us"), number("low us").InWide(), number("high us").InWide(),
		text("alone"), number("alone us").InWide(), text("changed").InWide(), number("worth us"), text("lacking").InWide(), text("evidence").OnceAbove()}}
	for i := range r.Calls {
		d := callDocumentOf(r, &r.Calls[i])
		alone, us, changed, nodes, least, most := "", "", "no", "", "", ""
		if d.IntervalUS != nil {
			least, most = fixed(d.IntervalUS[0]), fixed(d.IntervalUS[1])
		}
		if d.Alone != nil {
			alone, us = *d.Alone, fixed(*d.AloneTimeUS)
		}
		if d.Changed {
			changed = "yes"
		}
		if d.Nodes > 0 {
			nodes = strconv.Itoa(d.Nodes)
		}
		s.add(d.Name, d.Collective, strconv.FormatInt(d.Bytes, 10), strconv.Itoa(d.Ranks), nodes, d.Traffic, strconv.Itoa(d.Count), strings.TrimSpace(d.Library+" "+d.Version), d.Kernel,
			fixed(d.TimeUS), least, most, alone, us, changed, fixed(d.WorthUS), strings.Join(d.Lacking, ", "), d.Evidence)
	}
	return s
}

// scheduleSheet has a line for each op of the fine mix, in the order of issue.
func scheduleSheet(r *workload.Result) sheet {
	s := sheet{columns: []column{text("program"), text("op"), text("call"), text("library"), text("stream"), text("waits for"), number("begin us"), number("end us"), text("critical")}}
	for _, x := range r.Fine.Schedule() {
		call, library, critical := "", "", "no"
		if x.Time != nil {
			call, library = r.Step.Kinds[r.Step.Calls[x.Call].Kind].String(), x.Time.Entry()
		}
		if x.Critical {
			critical = "yes"
		}
		s.add(x.Program, x.Name, call, library, x.Stream, strings.Join(x.Waits, ", "), fixed(x.BeginUS), fixed(x.EndUS), critical)
	}
	return s
}
