package collective

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// vector is a form of a collective in which every rank has a count of its own.
//
//	allgatherv of counts 2, 0, 1           alltoallv of counts 0 2
//	                                                           1 0
//	in   r0: a0 a1   r1: -   r2: c0        in   r0: b0 b1   r1: a0
//	out  r*: a0 a1 c0                      out  r0: a0      r1: b0 b1
type vector struct {
	plain string              // the form in which all counts are 1
	wants func(ranks int) int // number of counts
	kind  func(s Spec) kind   // built for the counts of s, once checked
}

var vectors = map[string]vector{
	"allgatherv": {"allgather", oneEach, func(s Spec) kind {
		begin := prefixSums(s.Counts)
		return kind{in: part(s.Counts), out: total(begin), overlap: inInsideOut, at: from(begin), loop: whole(begin), uniform: true, busbw: unit,
			want: func(s Spec, _, i int) Want { return holder(begin, s.Chunks, i) }}
	}},
	"gatherv": {"gather", oneEach, func(s Spec) kind {
		begin := prefixSums(s.Counts)
		return kind{in: part(s.Counts), out: rootOnly(total(begin)), overlap: rootInInsideOut, at: from(begin), loop: whole(begin), rooted: true, busbw: unit,
			want: func(s Spec, _, i int) Want { return holder(begin, s.Chunks, i) }}
	}},
	"scatterv": {"scatter", oneEach, func(s Spec) kind {
		begin := prefixSums(s.Counts)
		return kind{in: rootOnly(total(begin)), out: part(s.Counts), overlap: rootOutInsideIn, at: from(begin), loop: whole(begin), rooted: true, busbw: unit,
			want: func(s Spec, r, i int) Want { return input(s.Root, begin[r]*s.Chunks+i) }}
	}},
	"alltoallv": {"alltoall", everyPair, func(s Spec) kind {
		sent, got := make([][]int, s.Ranks), make([][]int, s.Ranks) // where a peer's part begins
		all := 0
		for r := range s.Ranks {
			column := make([]int, s.Ranks)
			for a := range column {
				column[a] = s.Counts[a*s.Ranks+r]
			}
			sent[r], got[r] = prefixSums(s.Counts[r*s.Ranks:(r+1)*s.Ranks]), prefixSums(column)
			all += sent[r][s.Ranks]
		}
		return kind{busbw: unit,
			in:   func(s Spec, r int) int { return sent[r][s.Ranks] * s.Chunks },
			out:  func(s Spec, r int) int { return got[r][s.Ranks] * s.Chunks },
			loop: func(s Spec) int { return all * s.Chunks },
			want: func(s Spec, r, i int) Want {
				w := holder(got[r], s.Chunks, i)
				w.Index += sent[w.Rank][r] * s.Chunks
				return w
			}}
	}},
}

// maxUnits limits the units of all counts, or of all buffers of a custom
// collective. A file that exceeds it is taken to be a mistake.
const maxUnits = 1 << 26

func oneEach(ranks int) int   { return ranks }
func everyPair(ranks int) int { return ranks * ranks }

// VectorForms lists the collectives that take counts, sorted.
func VectorForms() []string { return slices.Sorted(maps.Keys(vectors)) }

// Plain returns the form of a collective without counts: allgather for
// allgatherv. It returns any other name unchanged.
func Plain(name string) string {
	if v, ok := vectors[name]; ok {
		return v.plain
	}
	return name
}

// CountsOf returns the number of counts that a collective takes over a number
// of ranks, or 0 if it takes none.
func CountsOf(name string, ranks int) int {
	if v, ok := vectors[name]; ok {
		return v.wants(ranks)
	}
	return 0
}

// dividedByGCD divides counts by their greatest common divisor, so that a
// program has as few chunks as possible.
func dividedByGCD(counts []int) []int {
	by := 0
	for _, n := range counts {
		for n != 0 {
			by, n = n, by%n
		}
	}
	if by < 2 {
		return counts
	}
	least := make([]int, len(counts))
	for i, n := range counts {
		least[i] = n / by
	}
	return least
}

func (v vector) check(s Spec) error {
	if s.Ranks > maxRanks {
		return fmt.Errorf("%d ranks: want at most %d", s.Ranks, maxRanks)
	}
	if want := v.wants(s.Ranks); len(s.Counts) != want {
		return fmt.Errorf("%d counts for %d ranks: want %d", len(s.Counts), s.Ranks, want)
	}
	sum := 0
	for i, n := range s.Counts {
		if n < 0 || n > maxUnits {
			return fmt.Errorf("count %d is %d: want 0 to %d", i, n, maxUnits)
		}
		if sum += n; sum > maxUnits {
			return fmt.Errorf("counts of more than %d in all", maxUnits)
		}
	}
	if sum == 0 {
		return fmt.Errorf("all counts are 0")
	}
	return nil
}

// prefixSums returns the index at which each part begins, and the end.
func prefixSums(counts []int) []int {
	begin := make([]int, len(counts)+1)
	for i, n := range counts {
		begin[i+1] = begin[i] + n
	}
	return begin
}

func part(counts []int) func(Spec, int) int {
	return func(s Spec, r int) int { return counts[r] * s.Chunks }
}

func from(begin []int) func(Spec, int) int {
	return func(s Spec, r int) int { return begin[r] * s.Chunks }
}

func total(begin []int) func(Spec, int) int {
	return func(s Spec, _ int) int { return begin[len(begin)-1] * s.Chunks }
}

func whole(begin []int) func(Spec) int {
	return func(s Spec) int { return begin[len(begin)-1] * s.Chunks }
}

// holder returns the input chunk at index of the concatenated parts of all
// ranks.
func holder(begin []int, chunks, index int) Want {
	r := sort.Search(len(begin)-1, func(r int) bool { return begin[r+1]*chunks > index })
	return input(r, index-begin[r]*chunks)
}
