// Package topologies describes GPU systems: ranks, links, switches, NICs and
// the costs of messages on them. Systems are read from TOML, generated from a
// name, or taken from the catalogue.
//
//	rank 0 ──300 GB/s──▶ nvswitch ──300 GB/s──▶ rank 1
//	   │25 GB/s
//	   ▼
//	 nic 0 ──▶ fabric ──▶ nic 8 ──▶ rank 8 (next node)
//
// Invariants: a Topology is complete and connected when a reader returns it,
// and does not change; its ranks are numbered node by node; the path between
// two ranks is the same on every call and machine.
//
// It does not know programs or collectives, and does not simulate.
package topologies
