package bounds

import (
	"fmt"
	"math/big"
	"math/bits"
)

// partitions is gossip for every partition of a small system's ranks at once:
// least holds, for each set of ranks and each number of groups, the least that
// can leave the groups together when the set is split into so many.
//
//	least(set, k) = min over the groups g with the set's first rank of out(g) + least(set - g, k-1)
func (p *problem) partitions() (best limit) {
	full := 1<<p.n - 1
	for _, net := range []*network{p.forward, p.backward} {
		f := newFlow(net)
		out := make([]int64, full+1)
		inside := make([]bool, p.n)
		for set := 1; set < full; set++ {
			p.look()
			for r := range inside {
				inside[r] = set>>r&1 == 1
			}
			out[set] = f.leaving(inside)
		}
		least := make([][]int64, p.n+1)
		group := make([][]int32, p.n+1) // the group that contains the set's first rank
		least[1], group[1] = out, nil
		for k := 2; k <= p.n; k++ {
			least[k], group[k] = make([]int64, full+1), make([]int32, full+1)
			for set := 1; set <= full; set++ {
				if bits.OnesCount(uint(set)) < k {
					continue
				}
				first := set & -set
				rest := set &^ first
				for more := rest; ; more = (more - 1) & rest {
					g := first | more
					if left := set &^ g; bits.OnesCount(uint(left)) >= k-1 {
						if sum := out[g] + least[k-1][left]; group[k][set] == 0 || sum < least[k][set] {
							least[k][set], group[k][set] = sum, int32(g)
						}
					}
					if more == 0 {
						break
					}
				}
			}
		}
		verb := "leave"
		if net == p.backward {
			verb = "enter"
		}
		for k := p.n; k > 1; k-- {
			rate := big.NewRat(least[k][full], 1)
			best.least(limit{algbw: new(big.Rat).Mul(rate, big.NewRat(1, int64(2*(k-1)))),
				proof: fmt.Sprintf("%d times the size must %s %s, which can do %s together", 2*(k-1), verb, p.groups(group, k), p.rate(rate))})
		}
	}
	return best
}

// groups names the groups of the best partition into k.
func (p *problem) groups(group [][]int32, k int) string {
	if k == p.n {
		return fmt.Sprintf("the %d ranks", k)
	}
	text, set := "", 1<<p.n-1
	for ; k > 0; k-- {
		g := set
		if k > 1 {
			g = int(group[k][set])
		}
		var members []int
		for r := range p.n {
			if g>>r&1 == 1 {
				members = append(members, r)
			}
		}
		if set &^= g; text != "" {
			text += " and "
		}
		text += ranks(members)
	}
	return text
}
