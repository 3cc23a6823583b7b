package export

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
)

// WriteMap writes the winners of a map's campaigns, each number of nodes into a folder of its
// own: nodes-4, … A number of nodes without anything that the format can say is a note; the
// error wraps ErrNothingFits if all are such. options returns those of a campaign, without
// the folder. Other errors are Write's; it is a *ForeignFileError also where Check finds one in
// any of the folders, before the first is written.
func WriteMap(campaigns []*results.Campaign, out string, options func(*results.Campaign) (Options, error)) (Report, error) {
	all := Report{Files: []File{}, Losses: []Loss{}, Gaps: []Gap{}, Notes: []string{}, Warnings: []string{}}
	var nothing error
	written := 0
	each := make([]Options, len(campaigns))
	for i, c := range campaigns {
		o, err := options(c)
		if err != nil {
			return Report{}, err
		}
		o.Out = results.MapMember(out, c.Plan().Topology.Nodes)
		if _, err := placeOf(c, o); err != nil {
			return Report{}, err
		}
		if err := Check(o.Out, c.Plan()); err != nil {
			return Report{}, err
		}
		each[i] = o
	}
	for i, c := range campaigns {
		nodes, o := c.Plan().Topology.Nodes, each[i]
		of := units.Count(nodes, "node")
		one, err := Write(c, o)
		if errors.Is(err, ErrNothingFits) {
			all.note(fmt.Sprintf("%s: %v", of, err))
			nothing = errors.Join(nothing, fmt.Errorf("%s: %w", of, err))
			continue
		}
		if err != nil {
			return Report{}, fmt.Errorf("%s: %w", of, err)
		}
		written++
		all.Format, all.Runtime = one.Format, one.Runtime
		for _, f := range one.Files {
			f.Name, f.Nodes = filepath.ToSlash(results.MapMember("", nodes)+"/"+f.Name), nodes
			all.Files = append(all.Files, f)
		}
		if one.Summary != nil {
			sum := *one.Summary
			if all.Summary != nil {
				sum = all.Summary.plus(sum)
			}
			all.Summary = &sum
		}
		for _, l := range one.Losses {
			l.Nodes = nodes
			all.Losses = append(all.Losses, l)
		}
		for _, g := range one.Gaps {
			g.Nodes = nodes
			all.Gaps = append(all.Gaps, g)
		}
		for _, told := range []struct {
			to   *[]string
			from []string
		}{{&all.Notes, one.Notes}, {&all.Warnings, one.Warnings}, {&all.Load, one.Load}} {
			for _, line := range told.from {
				*told.to = append(*told.to, of+": "+line)
			}
		}
	}
	if written == 0 {
		return Report{}, nothing
	}
	return all, nil
}

// onNodes names a map's number of nodes before a line; 0: no map.
func onNodes(nodes int) string {
	if nodes == 0 {
		return ""
	}
	return units.Count(nodes, "node") + ": "
}
