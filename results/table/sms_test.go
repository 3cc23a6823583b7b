package table_test

import (
	"testing"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// of is a measurement of a program that takes so many SMs.
func of(sms int, us float64, repeats ...[]float64) table.Measured {
	return table.Measured{Trial: &results.Trial{Threadblocks: sms}, TimeUS: us, Repeats: repeats}
}

// The smallest of those about as fast wins, if it is faster than the library where the fastest is, and
// if measurements do not tell them apart.
func TestSmallestOfAboutAsFastWins(t *testing.T) {
	native := of(8, 10.1)
	native.Source = results.SourceNative
	reference := of(2, 10.05)
	reference.Reference = true
	steady, slower := []float64{10, 10, 10, 10, 10, 10, 10, 10}, []float64{10.1, 10.1, 10.1, 10.1, 10.1, 10.1, 10.1, 10.1}
	scattered := []float64{9.9, 10.2, 10.1, 10, 9.9, 10.1, 10.3, 10}
	for _, test := range []struct {
		name    string
		ms      []table.Measured
		exact   bool
		library float64
		want    int
	}{
		{"none", nil, true, 0, -1},
		{"fewer SMs within 2 %", []table.Measured{of(108, 10), of(32, 10.1), of(8, 10.2), of(4, 10.21)}, true, 0, 2},
		{"of equal SMs the faster", []table.Measured{of(108, 10), of(8, 10.1), of(8, 10.15)}, true, 0, 1},
		{"of equal SMs the library's own", []table.Measured{of(108, 10), of(8, 10.05), native}, true, 0, 2},
		{"a reference wins nothing", []table.Measured{of(108, 10), reference}, true, 0, 0},
		{"what does not tell its SMs is the fastest or nothing", []table.Measured{of(0, 10), of(4, 10.1)}, true, 0, 0},
		{"nor does it win by being small", []table.Measured{of(16, 10), of(0, 10.1)}, true, 0, 0},
		{"no slower than a library that the fastest beats", []table.Measured{of(108, 10), of(32, 10.05), of(8, 10.15)}, true, 10.1, 1},
		{"a library that beats all is of no matter", []table.Measured{of(108, 10), of(8, 10.15)}, true, 9, 1},
		{"measured once", []table.Measured{of(108, 10, steady), of(8, 10.1, slower)}, false, 0, 0},
		{"told apart", []table.Measured{of(108, 10, steady, steady), of(8, 10.1, slower, slower)}, false, 0, 0},
		{"not told apart", []table.Measured{of(108, 10, steady, scattered), of(8, 10.1, slower, scattered)}, false, 0, 1},
	} {
		if got := table.Winner(test.ms, test.exact, test.library); got != test.want {
			t.Errorf("%s: %d wins, want %d", test.name, got, test.want)
		}
	}
}
