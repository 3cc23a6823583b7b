package program

import (
	"maps"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/results/table"
)

// SMs is the name of the parameter that says what a program was limited to, where that changed it.
const SMs = "sms"

// Parameters are those of a candidate: the draft's, and the limit of SMs that its program was made
// for, where it would have more threadblocks.
func (d *Draft) Parameters(built *Built) map[string]any {
	values := Set(d.Params)
	if d.Threadblocks > 0 && !d.Compared && built.Needs > d.Threadblocks {
		values[SMs] = d.Threadblocks
	}
	return values
}

// Capped drafts what built drafts come to under each of table.Caps that gives another program:
// it has fewer threadblocks than the draft's own program, and a rank's connections still have one
// each. The library's own choices stay as they are.
func Capped(drafts []*Draft, built []*Built) (all []*Draft) {
	for i, d := range drafts {
		if built[i] == nil || built[i].Refusal != nil || d.Compared || d.Reference {
			continue
		}
		for _, most := range table.Caps {
			if most >= built[i].Program.MaxThreadblocks() || d.Routing.Cost().Connections*max(d.Instances, 1) > most {
				continue
			}
			one := *d
			one.Threadblocks, one.Params = most, maps.Clone(d.Params)
			if one.Params == nil {
				one.Params = script.Params{}
			}
			one.Params[SMs] = most
			all = append(all, &one)
		}
	}
	return all
}
