// Package topotest gives tests of other packages the systems they are about.
//
//	top := topotest.Resolve(t, "dgx-a100", 2)
//	                             │           └─ nodes; 0: as many as it says itself
//	                             └─ a catalogue name, a file or a generator
//
// Invariant: what it returns is whole; whatever cannot be resolved ends the test.
//
// Pairs is the one system of its own: none of the catalogue is like it. Nothing but
// tests imports this package.
package topotest
