package synth

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/constraints/solver"
)

// KnownRouting is a routing that was found before, read from a file by ParseKnown. It
// answers queries of the same collective, ranks and chunks in no fewer steps and rounds, on
// every system where Replay confirms it; the topology is only for the reader.
type KnownRouting struct {
	Path       string // the file it was read from
	Topology   string
	Collective string
	Ranks      int
	Chunks     int // as the literature counts them: see ChunksOf
	Items      []Item
	Schedule   Schedule
}

// builtin are routings that no method here finds. A file is named after what is in it,
// COLLECTIVE-RANKSr-CHUNKSc-STEPSs-ROUNDSr.json, so that others need not be read.
//
//go:embed known/*.json
var builtin embed.FS

// builtinRoutings reads the built-in routings of a collective.
func builtinRoutings(collective string, ranks, chunks int) (all []KnownRouting, err error) {
	files, err := builtin.ReadDir("known")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), fmt.Sprintf("%s-%dr-%dc-", collective, ranks, chunks)) {
			continue
		}
		name := "known/" + f.Name()
		text, err := builtin.ReadFile(name)
		if err != nil {
			return nil, err
		}
		k, err := ParseKnown(name, text)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// findKnown looks for a known routing that answers the query, among the query's own and then
// among the built-in ones.
func (p *problem) findKnown() (a Answer, found bool, err error) {
	chunks := p.Collective.Chunks * p.perChunk()
	all, err := builtinRoutings(p.Collective.Name, p.Collective.Ranks, chunks)
	if err != nil {
		return Answer{}, false, err
	}
	for _, k := range slices.Concat(p.Known, all) {
		if k.Collective != p.Collective.Name || k.Ranks != p.Collective.Ranks || k.Chunks != chunks {
			continue
		}
		if s, ok := p.renumber(k); ok && Replay(p.Query, p.net.unit, p.names(), s) == nil {
			return Answer{Status: solver.Sat, By: Known, Detail: k.Path, Schedule: s}, true, nil
		}
	}
	return Answer{}, false, nil
}

// renumber returns a known schedule with the problem's numbers of items. It is false if the
// problem lacks one of them.
func (p *problem) renumber(k KnownRouting) (Schedule, bool) {
	number := map[Item]int{}
	for x, it := range p.names() {
		number[it] = x
	}
	out := make(Schedule, len(k.Schedule))
	for i, step := range k.Schedule {
		out[i].Rounds = step.Rounds
		for _, m := range step.Sends {
			x, ok := number[k.Items[m.Item]]
			if !ok {
				return nil, false
			}
			out[i].Sends = append(out[i].Sends, Send{x, m.From, m.To, m.Reduce})
		}
	}
	return out, true
}
