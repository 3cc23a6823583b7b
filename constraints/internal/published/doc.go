// Package published draws systems as other authors modelled them, so that tests
// compare with what they measured or proved. The catalogue's entries of the same
// machines differ: they have NICs, protocols and latencies of their own.
//
//	published.NDv2(2)    TE-CCL's graph: one 12.5 GB/s link between chassis
//	published.DGX2()     TE-CCL's: odd GPUs send to the other chassis, even ones receive
//	published.MI250(2)   ForestColl's: 16 GB/s of InfiniBand a GCD
//
// Invariant: links, bandwidths and latencies of a published system are its authors'.
//
// It is for tests only, and has none of the authors' results: those stand in the
// tests.
package published
