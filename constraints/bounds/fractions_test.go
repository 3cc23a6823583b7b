package bounds

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestSolveExactly solves equations made from known solutions, and detects singular ones.
func TestSolveExactly(t *testing.T) {
	solved := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "unknowns") // no determinant is as large as the prime
		entry := rapid.Int64Range(-9, 9)
		a, b := make([][]*big.Int, n), make([]*big.Int, n)
		for i := range a {
			for range n {
				a[i] = append(a[i], big.NewInt(entry.Draw(t, "entry")))
			}
			b[i] = big.NewInt(entry.Draw(t, "right side"))
		}
		x, want := solveExactly(a, b), eliminated(a, b)
		if (x == nil) != (want == nil) {
			t.Fatalf("%v, want %v", x, want)
		}
		for i := range x {
			if x[i].Cmp(want[i]) != 0 {
				t.Fatalf("%v, want %v", x, want)
			}
		}
		if x != nil {
			solved++
		}
	})
	if solved == 0 {
		t.Error("no equations had an answer")
	}
}

// eliminated solves equations by elimination in fractions; nil if they are singular.
func eliminated(a [][]*big.Int, b []*big.Int) []*big.Rat {
	n := len(a)
	rows := make([][]*big.Rat, n)
	for i := range rows {
		for _, x := range append(a[i][:n:n], b[i]) {
			rows[i] = append(rows[i], new(big.Rat).SetInt(x))
		}
	}
	for c := range n {
		r := c
		for r < n && rows[r][c].Sign() == 0 {
			r++
		}
		if r == n {
			return nil
		}
		rows[c], rows[r] = rows[r], rows[c]
		by := new(big.Rat).Inv(rows[c][c])
		for j := range rows[c] {
			rows[c][j] = new(big.Rat).Mul(rows[c][j], by)
		}
		for i := range rows {
			if times := rows[i][c]; i != c {
				for j := range rows[i] {
					rows[i][j] = new(big.Rat).Sub(rows[i][j], new(big.Rat).Mul(times, rows[c][j]))
				}
			}
		}
	}
	x := make([]*big.Rat, n)
	for i := range x {
		x[i] = rows[i][n]
	}
	return x
}

// TestLargeFractions: solutions of many digits are found, or refused beyond the limit.
func TestLargeFractions(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 300)
	x := solveExactly([][]*big.Int{{new(big.Int).Add(huge, big.NewInt(1))}}, []*big.Int{huge})
	if x == nil || x[0].Num().Cmp(huge) != 0 {
		t.Errorf("2^300 over one more is %v", x)
	}
	if x := solveExactly([][]*big.Int{{big.NewInt(modulus)}}, []*big.Int{big.NewInt(1)}); x != nil {
		t.Errorf("%v: what has no inverse modulo the prime is left", x)
	}
}
