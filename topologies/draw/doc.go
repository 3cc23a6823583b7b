// Package draw shows a topology: as text for the terminal, and as SVG.
//
//	gpu  0  1  2  3          nvlink  12 links, 300 GB/s, 0.2 us  gpu 0-3 = nvswitch
//	0    - sw sw sw          net     25 GB/s, 0.7 us             gpu 0 = nic 0; …
//
// Invariants: equal topologies give equal bytes; names from files are escaped. Equal
// nodes are drawn once as text, and the first four in SVG.
//
// It reads no files and checks nothing.
package draw
