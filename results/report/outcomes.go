package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// count is a number of candidates or trials of one kind, with its name and meaning.
type count struct {
	Name    string
	N       int
	Meaning string
	Width   float64 // of its bar, in percent of all
	Class   string
}

// reasons explains each reason for refusing a candidate, as docs/campaigns.md does at
// length.
var reasons = map[string]string{
	"not-applicable": "the family does not apply to this system",
	"no-routing":     "a hole of the template, such as a ring's order, cannot be filled, or nothing was found for it",
	"no-link":        "a transfer between ranks without a link",
	"bad-program":    "a wrong result, or use of a stale or uninitialised chunk",
	"duplicate":      "the same program as an earlier candidate",
	"outranked":      "on a large system: estimated to be less promising than those that are tried",
	"too-large":      "too many operations",
	"memory":         "more memory than the limit that the search was begun with",
	"threadblocks":   "more threadblocks than the GPU has SMs; all must be co-resident",
	"compiler-limit": "over a limit of the compiler, such as channels",
	"fifo-slots":     "sends run ahead of receives by more than any protocol's FIFO slots",
	"unverified":     "the verifier found the program wrong",
	"runtime":        "the runtime that --runtime names would not load or use it",
}

// mostCounts limits the list of reasons, since a journal may contain any number.
const mostCounts = 40

// candidates returns the parts of the bar of candidates, and the reasons for refusals,
// the most frequent first.
func candidates(c table.Candidates) (parts, refused []count) {
	all := 0
	for _, n := range c.Refused {
		all += n
	}
	parts = []count{
		{Name: "refused before any trial", N: all, Class: "refused"},
		{Name: "bounded out: a lower bound on their time shows that they cannot win", N: c.BoundedOut, Class: "bounded"},
		{Name: "tuned: run at one or more sizes", N: c.Tuned, Class: "tuned"},
	}
	total := all + c.BoundedOut + c.Tuned
	for i := range parts {
		parts[i].Width = percent(parts[i].N, total)
	}
	rest := count{Name: "others"}
	for i, name := range byCount(c.Refused) {
		if i >= mostCounts {
			rest.N += c.Refused[name]
			continue
		}
		refused = append(refused, count{Name: clip(name, nameRoom), N: c.Refused[name], Meaning: reasons[name]})
	}
	if rest.N > 0 {
		refused = append(refused, rest)
	}
	for i := range refused {
		refused[i].Width = percent(refused[i].N, max(all, 1))
	}
	return parts, refused
}

func percent(n, of int) float64 {
	if of <= 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// meanings explains the outcomes of trials, in the order of the page.
var meanings = []struct {
	outcome results.Outcome
	meaning string
}{
	{results.OK, "a time, and nothing wrong found"},
	{results.Wrong, "wrong result: the program cannot win at this size"},
	{results.Crashed, "the executor died"},
	{results.TimedOut, "no answer within the deadline"},
	{results.Failed, "the executor refused it, or could not run it"},
	{results.Quarantined, "its program killed the executor too often to be run again"},
}

// failure is a group of trials that had no good result for the same reason.
type failure struct {
	Outcome, Note string
	N             int
	Sizes         string
	Of            string // algorithms whose programs they ran
}

// Limits of the list of failures, and of the names with each.
const (
	mostFailures = 30
	mostNames    = 4
)

// outcomes counts trials by outcome, and groups those without a good result by
// reason, the most frequent first. more is the number of groups left out.
func outcomes(trials []results.Trial) (counts []count, failures []failure, more int) {
	type kind struct {
		outcome results.Outcome
		note    string
	}
	type group struct {
		n          int
		low, high  int64
		algorithms map[string]bool
	}
	groups := map[kind]*group{}
	by := map[results.Outcome]int{}
	for i := range trials {
		t := &trials[i]
		by[t.Outcome]++
		if t.Outcome == results.OK {
			continue
		}
		k := kind{t.Outcome, t.Note}
		g := groups[k]
		if g == nil {
			g = &group{low: t.Bytes, high: t.Bytes, algorithms: map[string]bool{}}
			groups[k] = g
		}
		g.n++
		g.low, g.high = min(g.low, t.Bytes), max(g.high, t.Bytes)
		g.algorithms[t.Algorithm] = true
	}
	for _, m := range meanings {
		if n := by[m.outcome]; n > 0 || m.outcome == results.OK {
			counts = append(counts, count{Name: string(m.outcome), N: n, Meaning: m.meaning})
		}
	}
	kinds := slices.SortedFunc(maps.Keys(groups), func(a, b kind) int {
		return cmp.Or(cmp.Compare(rank(a.outcome), rank(b.outcome)), cmp.Compare(groups[b].n, groups[a].n), strings.Compare(a.note, b.note))
	})
	for i, k := range kinds {
		if i == mostFailures {
			more = len(kinds) - mostFailures
			break
		}
		g := groups[k]
		failures = append(failures, failure{
			Outcome: string(k.outcome), Note: clip(k.note, noteRoom), N: g.n,
			Sizes: rangeText(g.low, g.high), Of: namesText(slices.Sorted(maps.Keys(g.algorithms))),
		})
	}
	return counts, failures, more
}

// rank is an outcome's place in the order of the page.
func rank(o results.Outcome) int {
	for i, m := range meanings {
		if m.outcome == o {
			return i
		}
	}
	return len(meanings)
}

// namesText lists names, at most mostNames of them.
func namesText(names []string) string {
	var words []string
	for i, n := range names {
		if i == mostNames {
			words = append(words, fmt.Sprintf("%d others", len(names)-mostNames))
			break
		}
		words = append(words, clip(n, wordRoom))
	}
	return strings.Join(words, ", ")
}
