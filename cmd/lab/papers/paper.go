package papers

import (
	"fmt"
	"slices"
	"strings"
)

// Paper is one whose claims are held against the simulator.
type Paper struct {
	Name   string
	Title  string // as a heading, with the source
	About  string // what the reader should know of all its claims
	Claims []Claim
}

// Papers are all, in the order of the page.
var Papers = []Paper{
	{"GC3", "GC3: an optimizing compiler for GPU collective communication (arXiv 2201.11840)",
		"Figure 7 on nodes of 8 A100 (dgx-a100) and of 16 V100 (dgx-2), over NCCL, also 7e and 7g, whose pictures are over programs written by hand. Its pictures give no numbers here: published is what the text says. Of V100 the text says that they show similar trends, and mentions exceptions; any gain agrees with that, which is a low bar. The caption of 7e has 16 nodes and 256 A100; with 8 a node that is 32 nodes.", gc3},
	{"SCCL", "SCCL: synthesizing optimal collective algorithms (PPoPP 2021)",
		"A row is chunks, steps and rounds. GC3's own comparison with SCCL is one of kernels; here only which algorithms exist is compared.", sccl},
	{"PCCL", "PCCL: the big send-off (arXiv 2504.18658)",
		"PCCL's own program on Frontier and Perlmutter, with the same knobs at every scale, over RCCL or NCCL. The text's MB and GB are simulated as MiB and GiB. The text contradicts itself at 2,048 GCDs: 7 to 24 times from 64 to 512 MB by figure 7, over 30 at 64 MB and 11.4 at 512 MB by figure 9. Of a step on 2,048 GCDs it has speedups of 70 to 80 %, and the shorter version (2025) 72 and 79 % less time, which is 3.6 and 4.8 times.", pcclClaims},
	{"MCR-DL", "MCR-DL: mix-and-match communication runtime for deep learning (arXiv 2303.08374)",
		"Steps that come with colltune (docs/workload.md) on Lassen and ThetaGPU, with NCCL. The mixes are of NCCL and MVAPICH2-GDR, whose times on these systems are not published, so that most claims can't be judged here.", mcrdl},
}

// Claims are those of all papers.
func Claims() (all []Claim) {
	for _, p := range Papers {
		all = append(all, p.Claims...)
	}
	return all
}

// Recorded reads the verdicts of a page: the last cell of each row that begins with a
// claim's name.
func Recorded(page string) (map[string]Verdict, error) {
	known := map[string]Verdict{}
	for n, line := range strings.Split(page, "\n") {
		id, rest, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |")
		if !ok || !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(rest), "|"), "|")
		v := Verdict(strings.TrimSpace(cells[len(cells)-1]))
		if v.rank() == len(Verdicts) {
			return nil, fmt.Errorf("line %d: claim %s: verdict %q is none of %v", n+1, id, v, Verdicts)
		}
		if _, twice := known[id]; twice {
			return nil, fmt.Errorf("line %d: claim %s has a verdict already", n+1, id)
		}
		known[id] = v
	}
	return known, nil
}

// Change is a claim whose verdict is not the recorded one. Before is empty of a new claim,
// and After of one that is no longer made.
type Change struct {
	ID            string
	Before, After Verdict
	Found         Found
}

// Lost reports whether a verdict that held before no longer does, or is worse.
func (c Change) Lost() bool { return c.Before.holds() && c.After.rank() > c.Before.rank() }

// String is a change as it is told.
func (c Change) String() string {
	switch {
	case c.Before == "":
		return fmt.Sprintf("%s: new: %s (%s)", c.ID, c.After, c.Found.Text)
	case c.After == "":
		return fmt.Sprintf("%s: %s before, and no longer a claim", c.ID, c.Before)
	}
	return fmt.Sprintf("%s: %s before, now %s (%s)", c.ID, c.Before, c.After, c.Found.Text)
}

// Changes lists the claims whose verdicts are not the recorded ones.
func Changes(recorded map[string]Verdict, all []Judged) (changes []Change) {
	there := map[string]bool{}
	for _, j := range all {
		there[j.ID] = true
		if before := recorded[j.ID]; before != j.Verdict {
			changes = append(changes, Change{j.ID, before, j.Verdict, j.Found})
		}
	}
	for id, before := range recorded {
		if !there[id] {
			changes = append(changes, Change{ID: id, Before: before})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.ID, b.ID) })
	return changes
}
