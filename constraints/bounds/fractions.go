package bounds

import "math/big"

// modulus is a prime whose square fits into 64 bits.
const modulus = 1<<31 - 1

// solveExactly solves a square system of linear equations with integer coefficients. It
// inverts the matrix modulo a prime, lifts the solution to higher and higher powers of
// the prime (Dixon 1982), and stops when rational reconstruction succeeds, which is
// early for simple fractions. It returns nil if the system is singular, or if the
// fractions have thousands of digits.
func solveExactly(a [][]*big.Int, b []*big.Int) []*big.Rat {
	n := len(a)
	inverse := invert(a)
	if inverse == nil {
		return nil
	}
	p := big.NewInt(modulus)
	left := make([]*big.Int, n) // b minus what is explained so far, divided by the power
	sum := make([]*big.Int, n)  // the solution so far
	for i := range left {
		left[i], sum[i] = new(big.Int).Set(b[i]), new(big.Int)
	}
	power := big.NewInt(1)
	digit, rest := make([]uint64, n), new(big.Int)
	const most = 1 << 10
	for digits, look := 1, 4; digits <= most; digits++ {
		residue := make([]uint64, n)
		for i := range left {
			residue[i] = rest.Mod(left[i], p).Uint64()
		}
		for i, row := range inverse {
			d := uint64(0)
			for j, x := range row {
				d = (d + x*residue[j]) % modulus
			}
			digit[i] = d
		}
		term := new(big.Int)
		for i := range n {
			for j, x := range a[i] {
				if x.Sign() != 0 && digit[j] != 0 {
					left[i].Sub(left[i], term.Mul(x, rest.SetUint64(digit[j])))
				}
			}
			left[i].Quo(left[i], p)
			sum[i].Add(sum[i], term.Mul(power, rest.SetUint64(digit[i])))
		}
		power.Mul(power, p)
		if digits < look {
			continue
		}
		look *= 2
		if x := fractions(sum, power); x != nil && solves(a, b, x) {
			return x
		}
	}
	return nil
}

// invert returns the inverse modulo the prime, or nil if there is none.
func invert(a [][]*big.Int) [][]uint64 {
	n := len(a)
	p := big.NewInt(modulus)
	both := make([][]uint64, n)
	for i, row := range a {
		both[i] = make([]uint64, 2*n)
		both[i][n+i] = 1
		for j, x := range row {
			both[i][j] = new(big.Int).Mod(x, p).Uint64()
		}
	}
	for c := range n {
		r := c
		for r < n && both[r][c] == 0 {
			r++
		}
		if r == n {
			return nil
		}
		both[c], both[r] = both[r], both[c]
		by := new(big.Int).ModInverse(new(big.Int).SetUint64(both[c][c]), p).Uint64()
		for j := range both[c] {
			both[c][j] = both[c][j] * by % modulus
		}
		for i, row := range both {
			if x := modulus - row[c]; i != c && row[c] != 0 {
				for j, y := range both[c] {
					row[j] = (row[j] + x*y) % modulus
				}
			}
		}
	}
	for i := range both {
		both[i] = both[i][n:]
	}
	return both
}

// fractions reconstructs fractions from their residues modulo the power (rational
// reconstruction). It returns nil if some fraction's numerator and denominator are not
// small compared to the power.
func fractions(residues []*big.Int, power *big.Int) []*big.Rat {
	most := new(big.Int).Sqrt(new(big.Int).Rsh(power, 1))
	all := make([]*big.Rat, len(residues))
	for i, r := range residues {
		// Euclid's algorithm; in every row the remainder is the residue times its
		// factor, modulo the power.
		before, factorBefore := new(big.Int).Set(power), new(big.Int)
		remainder, factor := new(big.Int).Set(r), big.NewInt(1)
		for remainder.Cmp(most) > 0 {
			q, next := new(big.Int).QuoRem(before, remainder, new(big.Int))
			before, remainder = remainder, next
			factorBefore, factor = factor, new(big.Int).Sub(factorBefore, q.Mul(q, factor))
		}
		if factor.Sign() == 0 || factor.CmpAbs(most) > 0 {
			return nil
		}
		all[i] = new(big.Rat).SetFrac(remainder, factor)
	}
	return all
}

// solves reports whether x satisfies the equations.
func solves(a [][]*big.Int, b []*big.Int, x []*big.Rat) bool {
	for i, row := range a {
		sum := new(big.Rat)
		for j, c := range row {
			if c.Sign() != 0 {
				sum.Add(sum, new(big.Rat).Mul(new(big.Rat).SetInt(c), x[j]))
			}
		}
		if sum.Cmp(new(big.Rat).SetInt(b[i])) != 0 {
			return false
		}
	}
	return true
}
