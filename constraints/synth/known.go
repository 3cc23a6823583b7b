package synth

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/colltune/colltune/constraints/solver"
)

// knownRouting is a routing that was found before, as synth -o json prints one. It answers
// queries of the same collective, ranks and chunks in no fewer steps and rounds, on every
// system where Replay confirms it; the topology is only for the reader.
type knownRouting struct {
	path       string // the file it was read from
	Topology   string
	Collective string
	Ranks      int
	Chunks     int // as the literature counts them: see ChunksOf
	Schedule   []struct {
		Rounds int
		Sends  []struct {
			Source, Chunk, From, To int
			Reduce                  bool
		}
	}
}

// builtin are routings that no method here finds. A file is named after what is in it,
// COLLECTIVE-RANKSr-CHUNKSc-STEPSs-ROUNDSr.json, so that others need not be read.
//
//go:embed known/*.json
var builtin embed.FS

// builtinRoutings reads the built-in routings of a collective.
func builtinRoutings(collective string, ranks, chunks int) (all []knownRouting, err error) {
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
		k := knownRouting{path: name}
		if err := json.Unmarshal(text, &k); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, k)
	}
	return all, nil
}

// findKnown looks for a built-in routing that answers the query.
func (p *problem) findKnown() (a Answer, found bool, err error) {
	chunks := p.Collective.Chunks * p.perChunk()
	all, err := builtinRoutings(p.Collective.Name, p.Collective.Ranks, chunks)
	if err != nil {
		return Answer{}, false, err
	}
	for _, k := range all {
		if s, ok := p.renumber(k); ok && Replay(p.Query, p.net.unit, p.names(), s) == nil {
			return Answer{Status: solver.Sat, By: Known, Detail: k.path, Schedule: s}, true, nil
		}
	}
	return Answer{}, false, nil
}

// renumber returns a known schedule with the problem's numbers of items. It is false if the
// problem lacks one of them.
func (p *problem) renumber(k knownRouting) (Schedule, bool) {
	number := map[Item]int{}
	for x, it := range p.names() {
		number[it] = x
	}
	out := make(Schedule, len(k.Schedule))
	for i, step := range k.Schedule {
		out[i].Rounds = step.Rounds
		for _, m := range step.Sends {
			x, ok := number[Item{m.Source, m.Chunk}]
			if !ok {
				return nil, false
			}
			out[i].Sends = append(out[i].Sends, Send{x, m.From, m.To, m.Reduce})
		}
	}
	return out, true
}
