package dispatcher

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/results/table"
)

var at = table.Cell{Placement: "out", Bytes: 1 << 20}

func ringOf(channels string, instances int, protocol string, tile int64) recipe {
	return recipe{"ring", "ring channels=" + channels, instances, protocol, tile}
}

// A recipe is corrected by its closest kin.
func TestClosestKin(t *testing.T) {
	guess := ringOf("4", 2, "LL", 1024)
	other := recipe{"tree", "tree", 1, "Simple", 512}
	for _, tc := range []struct {
		name  string
		known recipe // measured at twice its estimate
		close int
	}{
		{"itself", guess, 0},
		{"another tile", ringOf("4", 2, "LL", 512), 1},
		{"other instances", ringOf("4", 8, "LL", 512), 2},
		{"another routing of the family", ringOf("8", 2, "LL", 1024), 3},
		{"another protocol of the family", ringOf("4", 2, "Simple", 1024), 4},
		{"another family with the protocol", recipe{"tree", "tree", 2, "LL", 1024}, 5},
		{"anything else", other, 6},
	} {
		estimated := times{at: {tc.known: 10, other: 10}}
		measured := times{at: {tc.known: 20}}
		if tc.known != other {
			measured[at][other] = 50
		}
		log, close := correct(measured, estimated).of(at, guess)
		if close != tc.close || tc.close < 6 && math.Abs(log-math.Log(2)) > 1e-12 {
			t.Errorf("%s: factor %.3f of kin %d, want 2 of %d", tc.name, math.Exp(log), close, tc.close)
		}
	}
	if _, close := correct(times{at: {guess: 1}}, times{}).of(at, guess); close != len(kin) {
		t.Errorf("without an estimate there is kin %d", close)
	}
}

// Corrections are straight in the logarithms; a side that knows the routing itself counts alone
// where the other does not.
func TestBetween(t *testing.T) {
	r := ringOf("4", 2, "LL", 1024)
	factor := func(known recipe, by float64) corrections {
		return correct(times{at: {known: 10 * by}}, times{at: {known: 10}})
	}
	stranger := recipe{"tree", "tree", 1, "Simple", 512}
	for _, tc := range []struct {
		name      string
		low, high corrections
		want      float64
	}{
		{"both know it", factor(r, 2), factor(r, 8), 4},
		{"only the lower does", factor(r, 2), factor(stranger, 8), 2},
		{"only the upper does", factor(stranger, 2), factor(r, 8), 8},
		{"neither does", factor(stranger, 2), factor(stranger, 8), 4},
		{"nothing below", corrections{}, factor(stranger, 8), 8},
		{"nothing above", factor(stranger, 2), corrections{}, 2},
		{"nothing at all", corrections{}, corrections{}, 1},
	} {
		if got := math.Exp(between(tc.low, tc.high, 0.5, at, r)); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("%s: %.3f, want %.3f", tc.name, got, tc.want)
		}
	}
}

// Where estimates are off by a factor that is a power of the number of nodes, for each routing,
// predictions are exact, and the fastest routing is among the promising ones.
func TestPredictionsOfPowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "routings")
		weight := rapid.Float64Range(0, 1).Draw(t, "weight")
		low, high, estimated := times{at: {}}, times{at: {}}, times{at: {}}
		truth := map[recipe]float64{}
		best := recipe{}
		for i := range n {
			r := ringOf(string(rune('a'+i)), 1, "LL", 1024)
			guess, a, b := rapid.Float64Range(1, 100).Draw(t, "us"), rapid.Float64Range(0.5, 2).Draw(t, "low"), rapid.Float64Range(0.5, 2).Draw(t, "high")
			estimated[at][r], low[at][r], high[at][r] = guess, guess*a, guess*b
			truth[r] = guess * math.Exp((1-weight)*math.Log(a)+weight*math.Log(b))
			if best.family == "" || truth[r] < truth[best] {
				best = r
			}
		}
		all := predict(estimated, correct(low, estimated), correct(high, estimated), weight)
		for _, p := range all[at] {
			if math.Abs(p.us/truth[p.recipe]-1) > 1e-9 {
				t.Fatalf("%v: %g, want %g", p.recipe, p.us, truth[p.recipe])
			}
		}
		if kept := promising(all); !kept[best.routing] || len(kept) != min(n, perSize) {
			t.Fatalf("%v of %d kept, without the best, %s", kept, n, best.routing)
		}
	})
}
