package autotune

import "github.com/colltune/colltune/results/table"

// recall enters the journal's trials into the cells, in the order in which they were made:
// what is chosen next then depends on the journal, and not on which process made it. One
// without a result that may be made again is left out.
func (r *tuner) recall() {
	of := map[table.Config]*trial{}
	for _, c := range r.cells {
		for _, t := range c.trials {
			of[table.Config{Cell: table.Cell{Placement: c.placement, Bytes: c.bytes}, Program: t.Hash, Protocol: t.record.Protocol, TileBytes: t.tile}] = t
		}
	}
	deadline := r.options.deadline()
	for _, record := range r.options.Campaign.Trials() {
		t := of[table.Config{Cell: table.Cell{Placement: record.Placement, Bytes: record.Bytes}, Program: record.Program, Protocol: record.Protocol, TileBytes: record.TileBytes}]
		if t != nil && !record.Retryable(deadline) {
			r.summary.Known++
			r.recordOutcome(t, record)
		}
	}
}
