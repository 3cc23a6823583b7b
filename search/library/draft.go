package library

import (
	"context"
	"strconv"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/constraints/rings"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
)

// routingName is a choice without its protocol: ring rings=4 ×2.
func routingName(c *nccl.Choice) string {
	params := script.Params{}
	for name, n := range c.Parameters {
		if n != 1 {
			params[name] = n
		}
	}
	return program.CandidateName(c.Family, params, c.Channels)
}

// draft turns a choice into a program: the built-in family over one
// channel, replicated as many times as the library uses channels (GC3 7.1.1). If
// the system has no such program, it returns nil and the reason.
func (l *Library) draft(ctx context.Context, c *nccl.Choice) (d *program.Draft, why string, err error) {
	f, err := templates.Find(templates.Builtin(), c.Family, l.target.Collective)
	if err != nil {
		return nil, "", err
	}
	fixed := map[string]string{}
	for parameter, value := range c.Parameters {
		if program.Declares(f, parameter) {
			fixed[parameter] = strconv.Itoa(value)
		}
	}
	if by := entriesOf(l.target.Topology); by != nil && program.Declares(f, "nics") {
		fixed["nics"] = script.FormatValue([][]int{by})
	}
	d, why, err = l.build.Only(ctx, f, fixed, c.Channels, l.asFound)
	if d == nil || err != nil {
		return nil, why, err
	}
	d.Reference = l.options.Alone
	if c.Family == "ring" {
		d.Threadblocks = c.Channels * max(c.Parameters["rings"], 1)
	}
	return d, "", nil
}

// asFound picks, from a family's sets of parameters, the first whose holes are filled, or else
// the first: such are wider than those in rank order, or by every GPU's own NIC. The library looks
// for the widest itself, among rings that enter every node once.
func (l *Library) asFound(f *templates.Family, grid []script.Params) script.Params {
	for _, hole := range f.Holes() {
		for _, params := range grid {
			lists, found := params[hole.Name].([][]int)
			if found && (hole.Hole != script.HoleRings || rings.EntersOnce(l.target.Topology, lists[0])) {
				return params
			}
		}
	}
	return grid[0]
}
