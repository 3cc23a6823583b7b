// Package topotest resolves topologies for tests of other packages.
//
//	top := topotest.Resolve(t, "dgx-a100", 2)
//	                             │           └─ nodes; 0: as many as it says itself
//	                             └─ a catalogue name, a file or a generator
//
// Pairs is the one system of its own: none of the catalogue is like it. Nothing but
// tests imports this package.
// Invariant: it returns a complete topology, or ends the test.
//
// Pairs and PairsAlone are systems that the catalogue lacks. Only tests import this
// package.
//
// Pairs is the one system of its own: none of the catalogue is like it. Nothing but
// tests imports this package.
package topotest
