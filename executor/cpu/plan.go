package cpu

import (
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// plan is a program with the two ends of its connections matched: the part of a trial that
// is the same at every size.
type plan struct {
	program    *ir.Program
	collective collective.Collective
	links      []link
	// sends and receives give the connection at each end, by rank and threadblock;
	// -1 for none.
	sends, receives [][]int
}

// link is a connection without memory.
type link struct {
	from, to, channel int
	sender            int   // threadblock of from
	count             int32 // the most chunks of a step that sends on it
}

// prepare checks the parts of a program that memory and slots depend on. The verifier
// checks the rest.
func prepare(p *ir.Program, t *topologies.Topology) (*plan, error) {
	if p.Ranks() != len(t.Ranks) {
		return nil, fmt.Errorf("program is for %d ranks, topology %s has %d", p.Ranks(), t.Name, len(t.Ranks))
	}
	c, err := collective.New(p.Collective)
	if err != nil {
		return nil, err
	}
	if c.Ranks != p.Ranks() {
		return nil, fmt.Errorf("%s is over %d ranks, its program has %d", c.Name, c.Ranks, p.Ranks())
	}
	out := &plan{program: p, collective: c, sends: make([][]int, p.Ranks()), receives: make([][]int, p.Ranks())}
	if err := out.join(t); err != nil {
		return nil, err
	}
	for r := range p.GPUs {
		for id := range p.GPUs[r].Threadblocks {
			if err := out.checkSteps(r, id); err != nil {
				return nil, err
			}
		}
	}
	return out, out.match()
}

// join matches the two ends of every connection.
func (p *plan) join(t *topologies.Topology) error {
	type key struct{ from, to, channel int }
	receivers := map[key][2]int{}
	taken := map[key]bool{}
	for r, g := range p.program.GPUs {
		p.sends[r], p.receives[r] = make([]int, len(g.Threadblocks)), make([]int, len(g.Threadblocks))
		for id, tb := range g.Threadblocks {
			p.sends[r][id], p.receives[r][id] = -1, -1
			for _, peer := range [...]int{tb.Send, tb.Recv} {
				if peer < -1 || peer >= p.program.Ranks() || peer == r {
					return fmt.Errorf("rank %d threadblock %d has rank %d for a peer: want another of the %d, or -1", r, id, peer, p.program.Ranks())
				}
			}
			if tb.Recv < 0 {
				continue
			}
			k := key{tb.Recv, r, tb.Channel}
			if other, ok := receivers[k]; ok {
				return fmt.Errorf("rank %d threadblocks %d and %d both receive from rank %d on channel %d", r, other[1], id, tb.Recv, tb.Channel)
			}
			receivers[k] = [2]int{r, id}
		}
	}
	for r, g := range p.program.GPUs {
		for id, tb := range g.Threadblocks {
			if tb.Send < 0 {
				continue
			}
			k := key{r, tb.Send, tb.Channel}
			if taken[k] {
				return fmt.Errorf("rank %d threadblock %d is the second that sends to rank %d on channel %d", r, id, tb.Send, tb.Channel)
			}
			taken[k] = true
			if !t.Linked(r, tb.Send) {
				return fmt.Errorf("rank %d threadblock %d sends to rank %d: %s has no path between them", r, id, tb.Send, t.Name)
			}
			to, ok := receivers[k]
			if !ok {
				continue // an error if anything is sent: see match
			}
			p.sends[r][id], p.receives[to[0]][to[1]] = len(p.links), len(p.links)
			p.links = append(p.links, link{from: r, to: tb.Send, channel: tb.Channel, sender: id})
		}
	}
	return nil
}

// checkSteps checks the locations, counts and dependencies of a threadblock's steps.
func (p *plan) checkSteps(r, id int) error {
	g := &p.program.GPUs[r]
	tb := &g.Threadblocks[id]
	for s := range tb.Steps {
		step := &tb.Steps[s]
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("rank %d threadblock %d step %d (%s): %s", r, id, s, step.Op, fmt.Sprintf(format, args...))
		}
		for _, d := range step.Deps {
			switch {
			case d.TB < 0 || int(d.TB) >= len(g.Threadblocks) || int(d.TB) == id:
				return wrong("waits for threadblock %d: want another of the %d of its GPU", d.TB, len(g.Threadblocks))
			case d.Step < 0 || int(d.Step) >= len(g.Threadblocks[d.TB].Steps):
				return wrong("waits for step %d of threadblock %d, which has %d", d.Step, d.TB, len(g.Threadblocks[d.TB].Steps))
			}
		}
		switch {
		case step.Op == ir.Nop:
			continue
		case step.Count < 1:
			return wrong("moves %d chunks: want at least 1", step.Count)
		case step.Op.Sends() && tb.Send < 0:
			return wrong("its threadblock has no peer to send to")
		case step.Op.Receives() && tb.Recv < 0:
			return wrong("its threadblock has no peer to receive from")
		}
		for _, place := range []struct {
			used bool
			loc  ir.Loc
		}{{step.Op.ReadsSrc(), step.Src}, {step.Op.WritesDst(), step.Dst}} {
			if !place.used {
				continue
			}
			if place.loc.Buf > collective.Scratch {
				return wrong("buffer %d does not exist", place.loc.Buf)
			}
			has := p.collective.BufferChunks(r, place.loc.Buf)
			if place.loc.Buf == collective.Scratch {
				has = g.Scratch
			}
			if place.loc.Off < 0 || place.loc.Stride < 0 || place.loc.End(step.Count) > int64(has) {
				return wrong("%v of %d chunks from %d on is outside the %d there are", place.loc.Buf, step.Count, place.loc.Off, has)
			}
		}
	}
	return nil
}

// match checks that the messages sent on a connection are those received.
func (p *plan) match() error {
	sent, received := make([][]int32, len(p.links)), make([][]int32, len(p.links))
	for r, g := range p.program.GPUs {
		for id, tb := range g.Threadblocks {
			for s, step := range tb.Steps {
				if step.Op.Sends() {
					l := p.sends[r][id]
					if l < 0 {
						return fmt.Errorf("rank %d threadblock %d step %d sends to rank %d on channel %d, where no threadblock receives", r, id, s, tb.Send, tb.Channel)
					}
					sent[l] = append(sent[l], step.Count)
					p.links[l].count = max(p.links[l].count, step.Count)
				}
				if step.Op.Receives() {
					l := p.receives[r][id]
					if l < 0 {
						return fmt.Errorf("rank %d threadblock %d step %d receives from rank %d on channel %d, where no threadblock sends", r, id, s, tb.Recv, tb.Channel)
					}
					received[l] = append(received[l], step.Count)
				}
			}
		}
	}
	for l, link := range p.links {
		if len(sent[l]) != len(received[l]) {
			return fmt.Errorf("rank %d sends %d times to rank %d on channel %d, which receives %d times", link.from, len(sent[l]), link.to, link.channel, len(received[l]))
		}
		for i := range sent[l] {
			if sent[l][i] != received[l][i] {
				return fmt.Errorf("message %d from rank %d to rank %d on channel %d has %d chunks, and %d are received", i, link.from, link.to, link.channel, sent[l][i], received[l][i])
			}
		}
	}
	return nil
}
