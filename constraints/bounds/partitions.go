package bounds

import (
	"fmt"
	"math/big"
	"math/bits"
)

// allPartitions is partitionBound over all partitions of a small system's ranks.
func (p *problem) allPartitions() (best bandwidthBound) {
	full := 1<<p.n - 1
	for _, net := range []*scaledNetwork{p.forward, p.backward} {
		least, group := p.split(p.capacitiesOut(net))
		verb := "leave"
		if net == p.backward {
			verb = "enter"
		}
		for k := p.n; k > 1; k-- {
			rate := big.NewRat(least[k][full], 1)
			best.tighten(bandwidthBound{algbw: new(big.Rat).Mul(rate, big.NewRat(1, int64(2*(k-1)))),
				proof: fmt.Sprintf("%d times the size must %s %s, which can do %s together", 2*(k-1), verb, p.formatGroups(group, k), p.formatRate(rate))})
		}
	}
	return best
}

// capacitiesOut returns the capacity out of each proper set of ranks, by bit mask.
func (p *problem) capacitiesOut(net *scaledNetwork) []int64 {
	f := newFlow(net)
	out := make([]int64, 1<<p.n)
	inside := make([]bool, p.n)
	for set := 1; set < len(out)-1; set++ {
		if p.ended() {
			break
		}
		for r := range inside {
			inside[r] = set>>r&1 == 1
		}
		out[set] = f.capacityOut(inside)
	}
	return out
}

// split finds, for each number k of groups and each set of ranks, the partition of the
// set into k groups with the least capacity out of all groups together: that capacity,
// and the group with the set's first rank.
//
//	least(set, k) = min over the groups g with the set's first rank of out(g) + least(set - g, k-1)
func (p *problem) split(out []int64) (least [][]int64, group [][]int32) {
	least, group = make([][]int64, p.n+1), make([][]int32, p.n+1)
	least[1] = out
	for k := 2; k <= p.n; k++ {
		least[k], group[k] = make([]int64, len(out)), make([]int32, len(out))
		for set := 1; set < len(out); set++ {
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
	return least, group
}

func (p *problem) formatGroups(group [][]int32, k int) string {
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
		text += formatRanks(members)
	}
	return text
}
