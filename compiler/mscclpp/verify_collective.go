package mscclpp

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
)

// collective returns the plan's collective, with its chunks divided into cells.
// If the required result is unknown, known is false and only the sizes of the
// buffers are meaningful.
func (p *Plan) collective(cells int) (c collective.Collective, known bool, err error) {
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
	// The collective has no such in-place form here: use one buffer for both.
	c, err = p.bare(cells, &plain)
	return c, err == nil, err
}

// fits reports whether a buffer's number of chunks is the collective's; 0 means
// that the plan does not use the buffer.
func fits(has, wants int) bool { return has == 0 || has == wants }

// bare describes the plan's buffers, with the required results of a collective if
// one is given.
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
