package lang

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A place holds an input chunk or a sum of input chunks. A sum is identified by
// a fingerprint: the 128-bit sum of a fixed random weight for every occurrence
// of an input chunk in it. Sums of the same chunks, in any order, have equal
// fingerprints; a missing, wrong or repeated chunk changes the fingerprint
// (with a chance of 2^-128 that it does not). So a sum takes two additions and
// no table; a ring of 2,048 ranks has four million sums. The two operands of
// each are recorded too, so that errors can name its contributions.

// value identifies an input chunk (negative), a sum (positive), or no value
// (0).
type value int32

const nothing value = 0

// input returns the value of the nth input chunk, ranks in order.
func input(n int32) value { return value(-1 - n) }

// fingerprint is a multiset of input chunks.
type fingerprint struct{ hi, lo uint64 }

func (f fingerprint) add(g fingerprint) fingerprint {
	lo, carry := bits.Add64(f.lo, g.lo, 0)
	hi, _ := bits.Add64(f.hi, g.hi, carry)
	return fingerprint{hi, lo}
}

// sum is one reduction's result.
type sum struct {
	is   fingerprint
	a, b value // what was added
}

type values struct {
	inputs []int32 // rank r's input chunks are inputs[r] to inputs[r+1]
	sums   [][]sum // value v > 0 is the v-1st, in blocks, so that growing moves none
	summed int     // how many there are
}

// sumBlock is the number of sums of a block.
const sumBlock = 1 << 10

// of returns how a sum came about.
func (vs *values) of(v value) *sum { return &vs.sums[(v-1)/sumBlock][(v-1)%sumBlock] }

// sum adds two values. It reports false beyond MaxPlaces sums.
func (vs *values) sum(a, b value) (value, bool) {
	if vs.summed >= MaxPlaces {
		return 0, false
	}
	if vs.summed%sumBlock == 0 {
		vs.sums = append(vs.sums, make([]sum, 0, sumBlock))
	}
	last := &vs.sums[len(vs.sums)-1]
	*last = append(*last, sum{vs.fingerprint(a).add(vs.fingerprint(b)), a, b})
	vs.summed++
	return value(vs.summed), true
}

func (vs *values) source(v value) (rank, index int) {
	n := int32(-1 - v)
	rank = sort.Search(len(vs.inputs)-1, func(r int) bool { return vs.inputs[r+1] > n })
	return rank, int(n - vs.inputs[rank])
}

func (vs *values) fingerprint(v value) fingerprint {
	if v > 0 {
		return vs.of(v).is
	}
	rank, index := vs.source(v)
	return weight(rank, index)
}

// weight returns the fixed random number of input chunk index of rank.
func weight(rank, index int) fingerprint {
	key := uint64(rank)<<32 | uint64(uint32(index))
	return fingerprint{mix(key ^ 0x6a09e667f3bcc908), mix(key ^ 0xbb67ae8584caa73b)}
}

// mix spreads a key over 64 bits (two rounds of multiply and shift, with odd
// multipliers taken from the fractions of square roots).
func mix(x uint64) uint64 {
	for _, m := range [...]uint64{0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f} {
		x = (x + m) * m
		x ^= x >> 29
	}
	return x ^ x>>32
}

// maxNamed limits the contributions that describe lists: sums can be doubled,
// so a program of a hundred lines can hold 2^100 of a chunk.
const maxNamed = 1 << 14

// describe formats v: in[2] of rank 5, or in[2] of ranks 0-3, 5 (rank 3 twice).
func (vs *values) describe(v value) string {
	if v == nothing {
		return "nothing"
	}
	times := map[int]map[int]int{} // index → rank → how often
	stack := []value{v}
	for looked := 0; len(stack) > 0; looked++ {
		if looked > maxNamed {
			return fmt.Sprintf("a sum of more than %d contributions", maxNamed/2)
		}
		v, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if v > 0 {
			stack = append(stack, vs.of(v).a, vs.of(v).b)
			continue
		}
		rank, index := vs.source(v)
		if times[index] == nil {
			times[index] = map[int]int{}
		}
		times[index][rank]++
	}
	indices := slices.Sorted(maps.Keys(times))
	var parts []string
	for n, i := range indices {
		if n == 4 {
			parts = append(parts, fmt.Sprintf("%d other chunks", len(indices)-n))
			break
		}
		parts = append(parts, fmt.Sprintf("in[%d] of %s", i, rankRanges(times[i])))
	}
	return strings.Join(parts, " ⊕ ")
}

// rankRanges formats ranks as ranges, and lists those that occur more than
// once.
func rankRanges(times map[int]int) string {
	ranks := slices.Sorted(maps.Keys(times))
	var ranges, repeated []string
	for i := 0; i < len(ranks); {
		j := i + 1
		for j < len(ranks) && ranks[j] == ranks[j-1]+1 {
			j++
		}
		text := strconv.Itoa(ranks[i])
		if j-i > 1 {
			text = fmt.Sprintf("%d-%d", ranks[i], ranks[j-1])
		}
		ranges, i = append(ranges, text), j
	}
	for _, r := range ranks {
		switch n := times[r]; {
		case n == 2:
			repeated = append(repeated, fmt.Sprintf("rank %d twice", r))
		case n > 2:
			repeated = append(repeated, fmt.Sprintf("rank %d %d times", r, n))
		}
	}
	noun := "rank "
	if len(ranks) > 1 {
		noun = "ranks "
	}
	s := noun + joinFirst(ranges, "others")
	if len(repeated) > 0 {
		s += " (" + joinFirst(repeated, "more") + ")"
	}
	return s
}

// joinFirst joins the first eight strings of a list; rest stands for the
// others.
func joinFirst(list []string, rest string) string {
	if len(list) > 8 {
		list = append(list[:8:8], fmt.Sprintf("%d %s", len(list)-8, rest))
	}
	return strings.Join(list, ", ")
}
