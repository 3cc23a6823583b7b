package verify

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// value identifies the content of a chunk: a multiset of input chunks, in which a
// contribution that is reduced in twice counts twice.
//
//	0                  uninitialised, or computed from uninitialised chunks
//	1 … inputs         that input chunk
//	beyond             a sum: see values.sum
type value int32

// garbage is the value of uninitialised memory, and of everything computed from it.
const garbage value = 0

// values are the inputs and the sums of a program. A multiset is known by its
// fingerprint: the sum, in two 64-bit words that wrap, of fixed pseudo-random
// fingerprints of its members. It does not depend on the order of reduction, and two
// different multisets collide with a probability of 2 to the -128.
type values struct {
	first  []int32 // number before the first input chunk of a rank; one more than there are
	sums   [][]sum // in blocks, so that growing moves none
	summed int     // how many there are
}

// sumBlock is the number of sums of a block.
const sumBlock = 1 << 10

type sum struct {
	print fingerprint
	a, b  value // its operands
}

type fingerprint struct{ lo, hi uint64 }

func newValues(col collective.Collective) *values {
	v, n := &values{}, int32(0)
	for r := range col.Ranks {
		v.first = append(v.first, n)
		n += int32(col.InChunks(r))
	}
	v.first = append(v.first, n)
	return v
}

func (v *values) inputs() value { return value(v.first[len(v.first)-1]) }

func (v *values) input(rank, index int) value { return value(v.first[rank]+int32(index)) + 1 }

func (v *values) origin(x value) (rank, index int) {
	n := int32(x - 1)
	rank = sort.Search(len(v.first)-1, func(r int) bool { return v.first[r+1] > n })
	return rank, int(n - v.first[rank])
}

// sum returns how a value beyond the inputs came about.
func (v *values) sum(x value) *sum {
	n := x - v.inputs() - 1
	return &v.sums[n/sumBlock][n%sumBlock]
}

func (v *values) print(x value) fingerprint {
	if x > v.inputs() {
		return v.sum(x).print
	}
	return fingerprint{mix(uint64(x)), mix(uint64(x) ^ 0x6a09e667f3bcc908)}
}

func (p fingerprint) plus(q fingerprint) fingerprint { return fingerprint{p.lo + q.lo, p.hi + q.hi} }

// mix is splitmix64's finaliser, a bijection of 64-bit words.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (v *values) add(a, b value) value {
	if a == garbage || b == garbage {
		return garbage
	}
	if v.summed%sumBlock == 0 {
		v.sums = append(v.sums, make([]sum, 0, sumBlock))
	}
	last := &v.sums[len(v.sums)-1]
	*last = append(*last, sum{v.print(a).plus(v.print(b)), a, b})
	v.summed++
	return v.inputs() + value(v.summed)
}

// members counts the input chunks in a value. It reports false if there are too
// many.
func (v *values) members(x value) (count map[value]int, ok bool) {
	const most = 1 << 14
	count = map[value]int{}
	stack := []value{x}
	for steps := 0; len(stack) > 0; steps++ {
		if steps > most {
			return nil, false
		}
		x, stack = stack[len(stack)-1], stack[:len(stack)-1]
		if x > v.inputs() {
			stack = append(stack, v.sum(x).a, v.sum(x).b)
			continue
		}
		count[x]++
	}
	return count, true
}

func (v *values) describe(x value) string {
	switch {
	case x == garbage:
		return "uninitialised memory"
	case x <= v.inputs():
		r, i := v.origin(x)
		return fmt.Sprintf("input chunk %d of rank %d", i, r)
	}
	count, ok := v.members(x)
	if !ok {
		return "a reduction of very many chunks"
	}
	terms := slices.Sorted(maps.Keys(count))
	parts := make([]string, len(terms))
	for n, m := range terms {
		r, i := v.origin(m)
		parts[n] = fmt.Sprintf("%d of rank %d", i, r)
		if count[m] > 1 {
			parts[n] += fmt.Sprintf(" %d times", count[m])
		}
	}
	return "the reduction of input chunks " + list(parts)
}

// describeReduction describes how a value differs from the reduction of input
// chunk index over all ranks.
func (v *values) describeReduction(x value, index, ranks int) string {
	count, ok := v.members(x)
	if x == garbage || !ok {
		return v.describe(x)
	}
	var lacks, twice []string
	for r := range ranks {
		m := v.input(r, index)
		switch n := count[m]; {
		case n == 0:
			lacks = append(lacks, fmt.Sprint(r))
		case n > 1:
			twice = append(twice, fmt.Sprint(r))
		}
		delete(count, m)
	}
	var parts []string
	if len(lacks) > 0 {
		parts = append(parts, "without rank "+list(lacks))
	}
	if len(twice) > 0 {
		parts = append(parts, "more than once with rank "+list(twice))
	}
	if len(count) > 0 {
		parts = append(parts, "with chunks of another index")
	}
	if len(lacks) == ranks {
		return v.describe(x)
	}
	return fmt.Sprintf("the reduction of input chunk %d %s", index, strings.Join(parts, ", "))
}

func list(words []string) string {
	if len(words) > 8 {
		words = append(words[:8:8], fmt.Sprintf("%d more", len(words)-8))
	}
	return strings.Join(words, ", ")
}
