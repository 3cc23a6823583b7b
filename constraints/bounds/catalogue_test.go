package bounds

import "testing"

// TestCatalogueBounds compares allgather bounds of the catalogue with published ones
// (ForestColl's table, recomputed on TE-CCL's graphs) and with arithmetic: a node's ranks
// leave it through its NICs.
func TestCatalogueBounds(t *testing.T) {
	for _, c := range []struct {
		topology string
		nodes    int
		exact    string // GB/s
	}{
		{"mi250", 1, "2400/7"},        // 342.857
		{"mi250", 2, "5312/15"},       // 354.133
		{"ndv2", 2, "25"},             // one NIC of 12.5 for 8 of 16 ranks
		{"ndv2", 4, "50/3"},           // 16.667
		{"ndv2-teccl", 2, "25"},       // the same with its one way link
		{"ndv2-teccl", 4, "50/3"},     //
		{"dgx-2-teccl", 2, "4000/31"}, // 129.032: all but one rank, through 125
		{"ndv4", 2, "1040/3"},         // 346.667, as a DGX A100
		{"thetagpu", 4, "800/3"},      //
		{"dgx-h100", 1, "3600/7"},     // 8 · 450 over 7
		{"gb200-nvl72", 1, "64800/71"},
		{"perlmutter", 2, "168"}, // 84 out of a node, half the ranks
		{"polaris", 2, "80"},     // two NICs, of 20 as they are measured
		{"alps", 4, "400/3"},
		{"frontier", 2, "200"},
		{"mi250x", 4, "400/3"},
		{"lassen", 1, "64"}, // X-Bus: half the size through 32
		{"lassen", 2, "50"},
		{"l40s-4", 1, "32"}, // three of four ranks through 24
		{"t4-8", 1, "96/7"},
	} {
		if b := bound(t, resolve(t, c.topology, c.nodes), "allgather", 0); b.Exact != c.exact {
			t.Errorf("%d x %s: %s GB/s, want %s (%s)", c.nodes, c.topology, b.Exact, c.exact, b.Proof)
		}
	}
}
