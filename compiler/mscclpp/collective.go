package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// collective is what the plan computes, with chunks cut into cells. Where it is
// not known what the result must be, judged is false and the collective only
// gives the sizes of the buffers.
func (p *Plan) collective(cells int) (c collective.Collective, judged bool, err error) {
	n := len(p.GPUs)
	in, out := p.GPUs[0].In, p.GPUs[0].Out
	s := collective.Spec{Name: p.Collective, Ranks: n, Chunks: max(in, out), InPlace: p.InPlace}
	switch p.Collective {
	case "allreduce", "sendrecv":
	case "allgather":
		if s.Chunks = in; in == 0 {
			s.Chunks = out / n
		}
	case "reducescatter":
		if s.Chunks = out; out == 0 {
			s.Chunks = in / n
		}
	case "alltoall":
		s.Chunks /= n
	default:
		c, err = p.bare(cells, nil)
		return c, false, err
	}
	if s.Chunks < 1 {
		c, err = p.bare(cells, nil)
		return c, false, err
	}
	s.InPlace = false
	plain, err := collective.New(s)
	if err != nil {
		return c, false, err
	}
	for g := range p.GPUs {
		if !fits(p.GPUs[g].In, plain.InChunks(g)) || !fits(p.GPUs[g].Out, plain.OutChunks(g)) {
			c, err = p.bare(cells, nil)
			return c, false, err
		}
	}
	s.InPlace = p.InPlace
	if c, err = collective.New(s); err == nil {
		c, err = collective.New(c.Times(cells).Spec)
		return c, true, err
	}
	// In place where it has no such form here: one buffer for both.
	c, err = p.bare(cells, &plain)
	return c, err == nil, err
}

// fits tells whether a plan's chunks of a buffer are those of the collective: 0
// where the plan has no use for it.
func fits(has, wants int) bool { return has == 0 || has == wants }

// bare is a table of the plan's buffers, with the wants of a collective where
// there is one.
func (p *Plan) bare(cells int, like *collective.Collective) (collective.Collective, error) {
	t := &collective.Table{Same: true}
	empty := true
	for g := range p.GPUs {
		in, out := p.GPUs[g].In, p.GPUs[g].Out
		if like != nil {
			in, out = like.InChunks(g), like.OutChunks(g)
		}
		empty = empty && in+out == 0
		t.In, t.Out = append(t.In, in), append(t.Out, out)
		wants := make([]collective.Want, out)
		for i := range wants {
			if like != nil {
				wants[i] = like.Want(g, i)
			}
		}
		t.Want = append(t.Want, wants)
	}
	if empty {
		return collective.Collective{}, fmt.Errorf("no rank has any chunk of input or output")
	}
	return collective.New(collective.Spec{Name: "plan", Ranks: len(p.GPUs), Chunks: cells, InPlace: p.InPlace, Custom: t})
}
