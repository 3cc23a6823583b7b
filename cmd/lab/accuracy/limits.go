package accuracy

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// What is asked of the errors.
const (
	oneNodeFrom = units.Bytes(1 << 20)   // bytes; over several nodes:
	severalFrom = units.Bytes(256 << 20) // from which a fabric's rate shows
)

// limit says how near simulated times come to rows, and how near times could come that depend on
// what was called, on what system and with which library alone.
type limit struct {
	rows          int
	errors        []float64 // |simulated ÷ measured - 1|
	repeats       []float64 // of calls with several rows: |their geometric mean ÷ measured - 1|
	alike         []float64 // of calls of several machines that are simulated alike: the same, of the machines'
	least, medium float64   // smallest simulated ÷ measured, and the median
}

// limits sums rows up by a key; those with "" count for none.
func limits(m *Manifest, all []Compared, key func(*Compared) string) map[string]*limit {
	repeats, alike := repeatErrors(all), alikeErrors(m, all)
	ratios := map[string][]float64{}
	out := map[string]*limit{}
	for i := range all {
		c := &all[i]
		k := key(c)
		if k == "" {
			continue
		}
		if out[k] == nil {
			out[k] = &limit{}
		}
		l := out[k]
		l.rows++
		l.errors = append(l.errors, math.Abs(c.SimulatedUS/c.TimeUS-1))
		ratios[k] = append(ratios[k], c.SimulatedUS/c.TimeUS)
		if e, ok := repeats[i]; ok {
			l.repeats = append(l.repeats, e)
		}
		if e, ok := alike[i]; ok {
			l.alike = append(l.alike, e)
		}
	}
	for k, l := range out {
		for _, values := range [][]float64{l.errors, l.repeats, l.alike, ratios[k]} {
			slices.Sort(values)
		}
		l.least, l.medium = ratios[k][0], Percentile(ratios[k], 0.5)
	}
	return out
}

// repeatErrors are, of rows whose call was measured more than once on their machine, in another
// place, with another type of the same bytes, or again, those of the one time that is nearest to all.
func repeatErrors(all []Compared) map[int]float64 {
	type call struct {
		machine, collective, algo, proto, version, name string
		nodes, gpus                                     int
		bytes                                           int64
	}
	of := map[call][]int{}
	for i := range all {
		c := &all[i]
		k := call{c.Machine, c.Collective, c.Algo, c.Proto, c.Version, c.Name, c.Nodes, c.GPUs, c.Bytes}
		of[k] = append(of[k], i)
	}
	out := map[int]float64{}
	for _, rows := range of {
		if len(rows) < 2 {
			continue
		}
		mean := 0.
		for _, i := range rows {
			mean += math.Log(all[i].TimeUS) / float64(len(rows))
		}
		for _, i := range rows {
			out[i] = math.Abs(math.Exp(mean)/all[i].TimeUS - 1)
		}
	}
	return out
}

// alikeErrors are, of rows whose call other machines that are simulated alike have at sizes around, those
// of the residual in the middle of the machines': a row's own, and the others' interpolated.
func alikeErrors(m *Manifest, all []Compared) map[int]float64 {
	type call struct {
		constants, collective, name string
		nodes, gpus                 int
		before222                   bool
	}
	of := map[call]map[string]curve{}
	keys := make([]call, len(all))
	for i := range all {
		c := &all[i]
		if c.Guessed || c.System.Constants == "" {
			continue
		}
		k := call{c.System.Constants, c.Collective, c.Name, c.Nodes, c.GPUs, m.Set(c.Set).Before222}
		keys[i] = k
		if of[k] == nil {
			of[k] = map[string]curve{}
		}
		if of[k][c.Machine] == nil {
			of[k][c.Machine] = curve{}
		}
		of[k][c.Machine][c.Bytes] = append(of[k][c.Machine][c.Bytes], c.residual())
	}
	out := map[int]float64{}
	for i := range all {
		c := &all[i]
		sum, n := c.residual(), 1.
		for _, machine := range slices.Sorted(maps.Keys(of[keys[i]])) {
			if r, ok := of[keys[i]][machine].at(c.Bytes); ok && machine != c.Machine {
				sum, n = sum+r, n+1
			}
		}
		if n > 1 {
			out[i] = math.Abs(math.Exp(sum/n-c.residual()) - 1)
		}
	}
	return out
}

// residual is the logarithm of measured ÷ simulated.
func (c *Compared) residual() float64 { return math.Log(c.TimeUS / c.SimulatedUS) }

// curve is a machine's residuals of a call, by size.
type curve map[int64][]float64

// at interpolates a curve between two of its sizes, no more than a factor of two on either side.
func (c curve) at(bytes int64) (residual float64, ok bool) {
	below, above := int64(0), int64(math.MaxInt64)
	for size := range c {
		if size <= bytes {
			below = max(below, size)
		}
		if size >= bytes {
			above = min(above, size)
		}
	}
	if below < bytes/2 || below == 0 || above > 2*bytes {
		return 0, false
	}
	part := 0.
	if above > below {
		part = math.Log(float64(bytes)/float64(below)) / math.Log(float64(above)/float64(below))
	}
	return (1-part)*mean(c[below]) + part*mean(c[above]), true
}

func mean(values []float64) (of float64) {
	for _, v := range values {
		of += v / float64(len(values))
	}
	return of
}

// nccl reports whether a row is NCCL's own algorithms, chosen or forced.
func (c *Compared) nccl() bool { return c.Family == "" && c.System.Link != "xGMI" }

// LimitTables prints, as Markdown, errors from the sizes on from which goals are set, beside what limits them.
func LimitTables(m *Manifest, all []Compared) string {
	var b strings.Builder
	print := func(head string, key func(*Compared) string, order []string) {
		fmt.Fprintf(&b, "\n| %s | rows | median | p95 | simulated ÷ measured, median and least | rows repeat within | machines alike within |\n|---|--:|--:|--:|--:|--:|--:|\n", head)
		of := limits(m, all, key)
		if order == nil {
			order = slices.Sorted(maps.Keys(of))
		}
		for _, k := range order {
			l := of[k]
			if l == nil {
				continue
			}
			fmt.Fprintf(&b, "| %s | %d | %.1f %% | %.1f %% | %.2f, %.2f | %s | %s |\n", k, l.rows, 100*Percentile(l.errors, 0.5), 100*Percentile(l.errors, 0.95), l.medium, l.least, within(l.repeats, l.rows), within(l.alike, l.rows))
		}
	}
	var machines []string
	for i := range m.Sets {
		machines = append(machines, m.Sets[i].Machine)
	}
	oneNode := func(c *Compared) bool { return c.Nodes == 1 && c.Bytes >= int64(oneNodeFrom) }
	print("one node, from 1M", func(c *Compared) string {
		if !oneNode(c) {
			return ""
		}
		return c.Machine
	}, slices.Compact(machines))
	print("NCCL on one node, from 1M", func(c *Compared) string {
		if !oneNode(c) || !c.nccl() {
			return ""
		}
		return c.Collective
	}, nil)
	print("several nodes, from 256M", func(c *Compared) string {
		if c.Nodes == 1 || c.Bytes < int64(severalFrom) {
			return ""
		}
		return fmt.Sprintf("%s: %s, %s", c.Machine, c.Collective, c.Name[:strings.IndexByte(c.Name+" ", ' ')])
	}, nil)
	return b.String()
}

// within prints the 95th percentile of errors, and of how many of the rows they are where not of all.
func within(errors []float64, rows int) string {
	if len(errors) == 0 {
		return ""
	}
	text := fmt.Sprintf("%.1f %%", 100*Percentile(errors, 0.95))
	if len(errors) < rows {
		text += fmt.Sprintf(" of %d", len(errors))
	}
	return text
}
