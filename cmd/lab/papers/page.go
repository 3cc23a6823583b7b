package papers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/colltune/colltune/cmd/lab/accuracy"
	"github.com/colltune/colltune/executor/measured"
)

// Results are all that the page reports.
type Results struct {
	Judged  []Judged // of all papers' claims
	Figure7 []Curve
	PCCL    []Curve // PCCL over the library
	Pairs   []Pair
	Library []accuracy.Compared // the library on PCCL's systems, measured and simulated
	MPI     []Rival
}

// figure7 is GC3's, by panel.
var figure7 = []struct {
	name string
	Duel
}{
	{"7a ring", ringA100}, {"7a all pairs", allPairsA100}, {"7b ring", ringV100}, {"7b all pairs", allPairsV100},
	{"7c", nodesA100}, {"7d", nodesV100}, {"7e", twoStepA100}, {"7f", twoStepV100}, {"7g", toNextA100}, {"7h", toNextV100},
}

// Run judges all claims, jobs at a time, and makes what the page shows beside them. Measured
// are rows of the library on PCCL's systems.
func Run(l *Lab, measured []accuracy.Compared, jobs int) (r Results, err error) {
	if r.Judged, err = Judge(l, Claims(), jobs); err != nil {
		return r, err
	}
	r.Library = measured
	for _, f := range figure7 {
		c, err := f.Run(l)
		if err != nil {
			return r, err
		}
		r.Figure7 = append(r.Figure7, c)
	}
	for _, system := range []string{"frontier", "perlmutter"} {
		for _, collective := range []string{"allgather", "reducescatter"} {
			for _, ranks := range scales {
				c, err := versus(system, collective, ranks).Run(l)
				if err != nil {
					return r, err
				}
				r.PCCL = append(r.PCCL, c)
			}
		}
	}
	if r.Pairs, err = Pairs(l); err != nil {
		return r, err
	}
	r.MPI, err = Rivals(l)
	return r, err
}

// Page is cmd/lab/papers.md.
func Page(r *Results) string {
	var b strings.Builder
	b.WriteString(`# The papers' claims, simulated

For those who doubt colltune, or a paper: what GC3, SCCL, PCCL and MCR-DL report, beside what the simulator says of the same programs on the same systems, with a verdict for each claim.

` + "`make papers`" + ` makes this page anew and fails where a verdict has become worse; ` + "`make papers UPDATE=1`" + ` records it. The figures are the same on every machine. A simulated time has [errors of its own](../../docs/reference/simulator-errors.md#errors), by which a verdict may be wrong, too.

` + Rules + `
*Published* is what the papers' text says, since the copies used have lost their pictures; *ratio* is simulated ÷ published, of a range its nearer end. *Ahead* is where the first of the two that a measure compares is at least 2 % faster.

| paper |`)
	for _, v := range Verdicts {
		fmt.Fprintf(&b, " %s |", v)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(Verdicts)) + "\n")
	for _, p := range Papers {
		fmt.Fprintf(&b, "| [%s](#%s) |", p.Name, strings.ToLower(p.Name))
		for _, v := range Verdicts {
			n := 0
			for _, j := range r.of(p) {
				if j.Verdict == v {
					n++
				}
			}
			fmt.Fprintf(&b, " %d |", n)
		}
		b.WriteString("\n")
	}
	for _, p := range Papers {
		r.paper(&b, p)
	}
	r.figure7(&b)
	r.pccl(&b)
	r.pairs(&b)
	r.library(&b)
	return b.String()
}

// of lists a paper's claims.
func (r *Results) of(p Paper) (all []Judged) {
	for _, c := range p.Claims {
		i := slices.IndexFunc(r.Judged, func(j Judged) bool { return j.ID == c.ID })
		all = append(all, r.Judged[i])
	}
	return all
}

// paper writes a paper's claims, on whose side the evidence is, and how each is simulated.
func (r *Results) paper(b *strings.Builder, p Paper) {
	fmt.Fprintf(b, "\n## %s\n\n%s. %s\n\n| claim | where | says | published | simulated | ratio | ahead | verdict |\n|---|---|---|---|---|--:|---|---|\n", p.Name, p.Title, p.About)
	for _, j := range r.of(p) {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", j.ID, j.Where, j.Says, j.Published.Text, j.Found.Text, j.ratio(), j.Found.Ahead, j.Verdict)
	}
	all := sides(p.Claims)
	if len(all) > 0 {
		b.WriteString("\nOn whose side the evidence is where the two differ, and why:\n\n")
	}
	for _, side := range all {
		var ids []string
		for _, c := range p.Claims {
			if c.Side == side {
				ids = append(ids, "`"+c.ID+"`")
			}
		}
		fmt.Fprintf(b, "- %s: %s\n", strings.Join(ids, ", "), side)
	}
	b.WriteString("\n<details><summary>How each claim is simulated</summary>\n\n| claim | measure |\n|---|---|\n")
	for _, j := range r.of(p) {
		if j.Evidence != nil {
			fmt.Fprintf(b, "| %s | %s |\n", j.ID, j.Evidence.How())
		}
	}
	b.WriteString("\n</details>\n")
}

// sides lists what is said of claims, each once.
func sides(claims []Claim) (all []string) {
	for _, c := range claims {
		if c.Side != "" && !slices.Contains(all, c.Side) {
			all = append(all, c.Side)
		}
	}
	return all
}

// ratio is the simulated figure ÷ the published one, of the range's end that is nearer.
func (j *Judged) ratio() string {
	if j.Evidence == nil || j.Published.Direction || math.IsNaN(j.Found.Value) {
		return ""
	}
	return fmt.Sprintf("%.2f", j.Found.Value/min(max(j.Found.Value, j.Published.Low), j.Published.High))
}

// figure7 writes GC3's figure by size.
func (r *Results) figure7(b *strings.Builder) {
	sizes := powers(kib, 4*gib, 4)
	b.WriteString("\n## GC3's figure 7, by size\n\nSpeedup over NCCL, simulated.\n\n| size |")
	for _, f := range figure7 {
		fmt.Fprintf(b, " %s |", f.name)
	}
	b.WriteString("\n|--:|" + strings.Repeat("--:|", len(figure7)) + "\n")
	for _, n := range sizes {
		fmt.Fprintf(b, "| %s |", bytesText(n))
		for i := range r.Figure7 {
			c, cell := &r.Figure7[i], ""
			if k := c.at(n); k >= 0 {
				cell = ratioText(c.speedup(k))
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| panel | of | system | knobs |\n|---|---|---|---|\n")
	for _, f := range figure7 {
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", f.name, f.Of.Name, f.Setting, f.Of.knobs())
	}
}

// pccl writes PCCL's speedups by size and ranks.
func (r *Results) pccl(b *strings.Builder) {
	fmt.Fprintf(b, "\n## PCCL's figures 9 and 11, by size and ranks\n\nSpeedup of PCCL over the library, simulated; below 1 the library is faster. PCCL is %s.\n\n| system | collective | size |", pccl.knobs())
	for _, n := range scales {
		fmt.Fprintf(b, " %d |", n)
	}
	b.WriteString("\n|---|---|--:|" + strings.Repeat("--:|", len(scales)) + "\n")
	for i := 0; i < len(r.PCCL); i += len(scales) {
		curves := r.PCCL[i : i+len(scales)]
		for k, n := range curves[0].Sizes {
			fmt.Fprintf(b, "| %s | %s | %s |", curves[0].System, curves[0].Collective, bytesText(n))
			for j := range curves {
				fmt.Fprintf(b, " %s |", ratioText(curves[j].speedup(k)))
			}
			b.WriteString("\n")
		}
	}
}

// pairs writes PCCL over the library, measured and simulated.
func (r *Results) pairs(b *strings.Builder) {
	same, both := 0, 0
	for i := range r.Pairs {
		if p := &r.Pairs[i]; p.LibraryUS > 0 {
			both++
			if side(p.Measured()) == side(p.Simulated()) {
				same++
			}
		}
	}
	fmt.Fprintf(b, "\n## PCCL, measured and simulated\n\nAllreduces on Frontier of PCCL's authors (github.com/keshprad/sc2025-pccl-reproducer at 0bad8a6 and 22391f9: the points that the output of its notebooks prints). PCCL's allreduce is simulated as its reduce-scatter and its allgather, one after the other; on one node both are RCCL's. Measured and simulated name the same side at %d of the %d points that have both.\n\n", same, both)
	b.WriteString("| GCDs | size | PCCL, measured, us | simulated | ratio | RCCL, measured, us | simulated | ratio | speedup, measured | simulated | side |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n")
	for i := range r.Pairs {
		p := &r.Pairs[i]
		fmt.Fprintf(b, "| %d | %s | %.0f | %.0f | %.2f |", p.Ranks, bytesText(p.Bytes), p.PCCLUS, p.SimulatedPCCLUS, p.SimulatedPCCLUS/p.PCCLUS)
		if p.LibraryUS == 0 {
			fmt.Fprintf(b, " | %.0f | | | %s | |\n", p.SimulatedLibraryUS, ratioText(p.Simulated()))
			continue
		}
		which := "same"
		if side(p.Measured()) != side(p.Simulated()) {
			which = "other"
		}
		fmt.Fprintf(b, " %.0f | %.0f | %.2f | %s | %s | %s |\n", p.LibraryUS, p.SimulatedLibraryUS, p.SimulatedLibraryUS/p.LibraryUS, ratioText(p.Measured()), ratioText(p.Simulated()), which)
	}
}

// library writes the library's simulated times over the measured ones, and Cray MPICH's
// measured ones over the library's.
func (r *Results) library(b *strings.Builder) {
	b.WriteString("\n## NCCL and RCCL, measured and simulated\n\nOn PCCL's systems: simulated ÷ measured time, above 1 where the simulated library is too slow. The rows are those of [the simulator's errors](../../docs/reference/simulator-errors.md#errors) (`go run ./cmd/lab accuracy --rows`), with their sources there; the simulator was fitted to the allgathers of Perlmutter.\n\n| rows | collective | ranks | simulated ÷ measured, by size |\n|---|---|--:|---|\n")
	for i := 0; i < len(r.Library); {
		first, cells := &r.Library[i], []string{}
		for ; i < len(r.Library) && r.Library[i].Set == first.Set && r.Library[i].Collective == first.Collective && r.Library[i].Nodes == first.Nodes; i++ {
			c := &r.Library[i]
			cells = append(cells, fmt.Sprintf("%s %.2f", bytesText(c.Bytes), c.SimulatedUS/c.TimeUS))
		}
		fmt.Fprintf(b, "| %s | %s | %d | %s |\n", strings.ReplaceAll(first.Set, "_", " "), first.Collective, first.Nodes*first.GPUs, strings.Join(cells, ", "))
	}
	b.WriteString("\nCray MPICH on the same GPUs, measured (github.com/hpcgroup/gpu-benchmarks at 92d5eec), ÷ the simulated library: how far ahead of MPI that is; in brackets ÷ the measured library, where it was measured.\n\n| system | collective | ranks |")
	sizes := []int64{32 * mib, 256 * mib, 2 * gib}
	for _, n := range sizes {
		fmt.Fprintf(b, " %s |", bytesText(n))
	}
	b.WriteString("\n|---|---|--:|" + strings.Repeat("--:|", len(sizes)) + "\n")
	for _, m := range r.MPI {
		if m.Bytes == sizes[0] {
			fmt.Fprintf(b, "| %s | %s | %d |", systemOf(&m.Row), m.Collective, m.Ranks)
			for _, n := range sizes {
				fmt.Fprintf(b, " %s |", r.overMPI(m.Row, n))
			}
			b.WriteString("\n")
		}
	}
}

// overMPI is how far the library is ahead of MPI at a size of m's call.
func (r *Results) overMPI(m measured.Row, bytes int64) string {
	i := slices.IndexFunc(r.MPI, func(o Rival) bool {
		return systemOf(&o.Row) == systemOf(&m) && o.Collective == m.Collective && o.Ranks == m.Ranks && o.Bytes == bytes
	})
	if i < 0 {
		return ""
	}
	text := ratioText(r.MPI[i].TimeUS / r.MPI[i].LibraryUS)
	for _, c := range r.Library {
		if system, _, _ := strings.Cut(c.Set, "_"); system == systemOf(&m) && c.Collective == m.Collective && c.Nodes*c.GPUs == m.Ranks && c.Bytes == bytes {
			text += fmt.Sprintf(" (%s)", ratioText(r.MPI[i].TimeUS/c.TimeUS))
		}
	}
	return text
}
