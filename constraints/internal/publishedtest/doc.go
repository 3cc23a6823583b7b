// Package publishedtest builds systems as published papers model them, so that tests can
// compare with the papers' results. The catalogue's entries of the same machines
// differ: they have NICs, protocols and latencies of their own.
//
//	publishedtest.NDv2(2)    TE-CCL's graph: one 12.5 GB/s link between chassis
//	publishedtest.DGX2()     TE-CCL's: odd GPUs send to the other chassis, even ones receive
//	publishedtest.MI250(2)   ForestColl's: 16 GB/s of InfiniBand a GCD
//
// Invariant: links, bandwidths and latencies are those of the paper.
//
// Only tests import this package. The papers' results are in those tests.
package publishedtest
