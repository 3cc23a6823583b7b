package program

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/script"
)

// Draft is a traced program with its number of instances, before it is compiled.
type Draft struct {
	Name         string // the family's, or the construction's
	Source       string // template or synthesised
	Params       script.Params
	Instances    int
	Threadblocks int // at most, on a GPU; 0: as many as the GPU has SMs
	Routing      *Routing
	Origin       string // how a construction found it
	Protocol     string // the family's own; empty: any
	Reference    bool   // only for comparison
	Compared     bool   // the library's choice at some size
}

// String is the draft as -v and errors print it: ring channels=4 ×24.
func (d *Draft) String() string { return CandidateName(d.Name, d.Params, d.Instances) }

// CandidateName is a number of instances of a routing as -v and errors print it; 0: of any.
func CandidateName(family string, params script.Params, instances int) string {
	var s strings.Builder
	s.WriteString(family)
	if text := params.String(); text != "" {
		s.WriteString(" " + text)
	}
	if instances > 0 {
		s.WriteString(" ×" + strconv.Itoa(instances))
	}
	return s.String()
}

// Set returns the parameters that have a value; a hole left open has none.
func Set(params script.Params) map[string]any {
	values := maps.Clone(params)
	maps.DeleteFunc(values, func(_ string, v any) bool { return v == nil })
	return values
}

// Operations counts the operations of all instances.
func (d *Draft) Operations() int { return d.Routing.Operations() * max(d.Instances, 1) }

// OperationsOf counts those of drafts.
func OperationsOf(drafts []*Draft) int {
	n := 0
	for _, d := range drafts {
		n += d.Operations()
	}
	return n
}

// Estimate returns a draft's expected time in µs at a size in bytes, with the best of
// its protocols. Its routing must be summed up.
func (b *Builder) Estimate(d *Draft, bytes int64) float64 {
	least := math.Inf(1)
	for _, proto := range b.Protocols(d.Protocol) {
		least = min(least, d.Routing.Cost().Within(d.most(b.target.Topology)).Estimate(&b.target.Topology.Protocols[proto], bytes, max(d.Instances, 1)))
	}
	return least
}

// Drafted is what a family or a construction comes to: drafts, and what became of the others.
type Drafted struct {
	Drafts     []*Draft
	Refusals   []Refusal
	Unexplored []Unexplored
}

// Unexplored is N candidates for which there was no time; 0: nobody knows how many.
type Unexplored struct {
	Name string
	N    int
}

// Add adds what another came to.
func (d *Drafted) Add(more Drafted) {
	d.Drafts = append(d.Drafts, more.Drafts...)
	d.Refusals = append(d.Refusals, more.Refusals...)
	d.Unexplored = append(d.Unexplored, more.Unexplored...)
}

// draft is a routing once for every number of instances. Routings that are too large are
// dropped here, before more of them accumulate.
func (b *Builder) draft(d *Draft) (all Drafted) {
	for _, n := range b.options.instanceCounts() {
		one := *d
		one.Instances, one.Threadblocks = n, b.options.MaxSMs
		if r := b.tooLarge(&one); r != nil {
			all.Refusals = append(all.Refusals, b.Refuse(one.String(), r.Reason, r.Detail))
			continue
		}
		all.Drafts = append(all.Drafts, &one)
	}
	return all
}

// Unaffordable refuses the drafts that there is no memory for, in the order in which they come,
// those for comparison first: all that are kept take at most half of the room, and each must
// fit beside them while it is made. What is foreseen depends on the drafts, the limit and the
// number of placements alone. The result is by draft; nil: it has room.
func (m Memory) Unaffordable(drafts []*Draft, placements int) []*Refusal {
	all := make([]*Refusal, len(drafts))
	if m == 0 {
		return all
	}
	room := m.Programs() / int64(placements)
	var kept, largest int64
	for _, compared := range []bool{true, false} {
		for i, d := range drafts {
			if d.Compared != compared {
				continue
			}
			n := int64(d.Operations())
			stays, most := kept+n*keptBytes, max(largest, n*compiledBytes)
			takes, what := n*compiledBytes, fmt.Sprintf("%d operations", n)
			if takes <= room {
				takes, what = max(stays+most, 2*stays), what+" beside the candidates before it"
			}
			if takes > room {
				all[i] = m.refuse(takes*int64(placements), what)
				continue
			}
			kept, largest = stays, most
		}
	}
	return all
}
