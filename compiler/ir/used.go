package ir

// Used returns the program without peers that no step uses. A file may name a
// peer for a threadblock that never sends or receives, and two such
// threadblocks may name the same connection, which is an error only if they use
// it.
func (p *Program) Used() *Program {
	used := *p
	used.GPUs = make([]GPU, len(p.GPUs))
	for g := range p.GPUs {
		used.GPUs[g] = p.GPUs[g]
		used.GPUs[g].Threadblocks = make([]Threadblock, len(p.GPUs[g].Threadblocks))
		for id, tb := range p.GPUs[g].Threadblocks {
			sends, receives := false, false
			for _, s := range tb.Steps {
				sends, receives = sends || s.Op.Sends(), receives || s.Op.Receives()
			}
			if !sends {
				tb.Send = -1
			}
			if !receives {
				tb.Recv = -1
			}
			used.GPUs[g].Threadblocks[id] = tb
		}
	}
	return &used
}
