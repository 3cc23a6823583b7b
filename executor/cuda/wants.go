package cuda

import (
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
)

// The expected result, for the device to check. It is taken from the collective's
// postcondition, never from the program.

// countWants counts the records in the tables of some ranks.
func (p *plan) countWants(ranks []int) (wants, terms, results int) {
	c := p.reference.Collective
	shared := map[int]bool{}
	for _, r := range ranks {
		for i := range c.OutChunks(r) {
			wants++
			w := c.Want(r, i)
			if w.Kind == collective.WantReduction && shared[w.Index] {
				results++
				continue
			}
			terms += len(p.reference.Terms(r, i))
			if w.Kind == collective.WantReduction {
				shared[w.Index] = true
			}
			if w.Kind >= collective.WantReduction {
				results++
			}
		}
	}
	return wants, terms, results
}

// wants encodes, for each output chunk of a device's ranks, the input chunks of which it is
// the reduction. Ranks that want the same reduction share its terms.
func (p *plan) wants(device int, at uint64) (wants []wantRecord, terms []termRecord) {
	c, l := p.reference.Collective, &p.reference.Layout
	shared := map[int]uint32{}
	for _, r := range p.devices[device].ranks {
		for i := range c.OutChunks(r) {
			w := c.Want(r, i)
			record := wantRecord{Address: p.outChunk(at, r, i), Elements: uint64(l.Elements(i)), Term: uint32(len(terms))}
			if first, ok := shared[w.Index]; ok && w.Kind == collective.WantReduction {
				record.Term, record.Terms = first, uint32(c.Ranks)
				wants = append(wants, record)
				continue
			}
			if w.Kind == collective.WantReduction {
				shared[w.Index] = record.Term
			}
			of := p.reference.Terms(r, i)
			record.Terms = uint32(len(of))
			for _, term := range of {
				terms = append(terms, termRecord{Rank: uint32(term.Rank), First: uint64(l.Start(term.Index))})
			}
			wants = append(wants, record)
		}
	}
	return wants, terms
}

// outChunk returns the address of a rank's output chunk, in whichever buffer it lies.
func (p *plan) outChunk(at uint64, rank, i int) uint64 {
	b, index := p.reference.Collective.Place(rank, collective.Out, i)
	return p.chunk(at, rank, b, index).Address
}

// averages lists the output chunks of a rank that are reductions, which avg divides at the
// end.
func (p *plan) averages(at uint64, rank int) (all []resultRecord) {
	c, l := p.reference.Collective, &p.reference.Layout
	for i := range c.OutChunks(rank) {
		if c.Want(rank, i).Kind >= collective.WantReduction {
			all = append(all, resultRecord{Address: p.outChunk(at, rank, i), Elements: uint64(l.Elements(i)), Terms: uint64(len(p.reference.Terms(rank, i)))})
		}
	}
	return all
}

func (p *plan) generator() generatorRecord {
	g := p.reference.Params
	return generatorRecord{Seed: g.Seed, Form: uint32(g.Form), M: g.M, K: g.K}
}

// initial lists the launches that write wrong values to the buffers of a device's ranks,
// and then their inputs.
func (p *plan) initial(device int, at uint64) (all []call) {
	r := p.reference
	elem := uint64(r.Layout.ElemBytes)
	poison := data.Poison(r.DType, r.Op, r.Collective.Reduces())
	for _, rank := range p.devices[device].ranks {
		for _, b := range p.ranks[rank].buffers {
			if b.bytes > 0 {
				all = append(all, call{spreadKernel, encode(spreadRecord{at + uint64(b.at), uint64(b.bytes) / elem, poison})})
			}
		}
	}
	all = append(all, call{referenceKernel, encode(p.compare(device, at, true))})
	for _, rank := range p.devices[device].ranks {
		n := r.Collective.InChunks(rank)
		if n == 0 {
			continue
		}
		b, first := r.Collective.Place(rank, collective.In, 0)
		all = append(all, call{fillKernel, encode(fillRecord{
			Generator: p.generator(), Rank: uint32(rank),
			Address: p.chunk(at, rank, b, first).Address, Elements: uint64(r.Layout.Start(n)),
		})})
	}
	return all
}

// compare returns the parameter of the kernel that checks outputs or, with spoil, fills
// them with wrong values beforehand.
func (p *plan) compare(device int, at uint64, spoil bool) referenceRecord {
	d := &p.devices[device]
	record := referenceRecord{
		Generator: p.generator(),
		Wants:     at + uint64(d.tables.wants), Terms: at + uint64(d.tables.terms), Wrong: at + uint64(d.wrong),
		ChunkElements: uint64(p.reference.Layout.ChunkElements),
		WantCount:     uint32(d.wants), Reduction: uint32(p.reference.Op),
	}
	if spoil {
		record.Spoil = 1
	}
	return record
}

// call is a kernel and its parameter.
type call struct {
	kernel    kernel
	parameter []byte
}
