// Package topotest resolves topologies for tests of other packages.
//
//	top := topotest.Resolve(t, "dgx-a100", 2)
//	                             │           └─ nodes; 0: as many as it says itself
//	                             └─ a catalogue name, a file or a generator
//
// Invariant: it returns a complete topology, or ends the test.
//
// Pairs and PairsAlone are systems that the catalogue lacks. Only tests import this
// package.
package topotest
