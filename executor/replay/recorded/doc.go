// Package recorded reads tables of recorded times, configurations by sizes, and says what a
// trial of one would have measured.
//
//	algorithm,protocol,channels,bytes,time_us,prior_us
//	ring,LL,8,1024,11.2,10.4          ──▶ Space: Configs × Sizes ▸ Cell{times, prior}
//	ring,LL,8,1024,11.5,10.4                                        │ Noise, by seed
//	tree,LL,8,1024,9.7,12.0                                         ▼
//	…                                                               a trial's times
//
// The executor that plays a table back and what scores strategies on one (cmd/lab/score) both
// read it here.
//
// Files: space.go, what was recorded; table.go, how rows become spaces; read.go and
// csv.go, files; noise.go, how a trial's times differ from the recorded ones.
//
// Invariants: reading is bounded, in bytes, columns, configurations and sizes; an error names
// file, line and column; only what was recorded is in a space.
package recorded
