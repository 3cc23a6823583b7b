package results

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCover(t *testing.T) {
	c := func(times ...float64) (all []choice) {
		for id, us := range times {
			if us > 0 {
				all = append(all, choice{id, us})
			}
		}
		return all
	}
	for _, test := range []struct {
		name  string
		sizes [][]choice
		limit int
		want  []int
	}{
		{"nothing", [][]choice{nil, nil}, 4, []int{none, none}},
		{"the fastest", [][]choice{c(1, 2), c(2, 1), c(2, 1)}, 2, []int{0, 1, 1}},
		{"of equals the first", [][]choice{c(1, 1)}, 1, []int{0}},
		{"one file for three sizes", [][]choice{c(1, 2), c(2, 1), c(2, 1)}, 1, []int{1, 1, 1}},
		{"one file, the cheaper", [][]choice{c(1, 9), c(2, 1), c(2, 1)}, 1, []int{0, 0, 0}},
		{"a gap takes a file more", [][]choice{c(1), nil, c(1)}, 1, []int{none, none, 0}},
		{"a gap, two files", [][]choice{c(1), nil, c(1)}, 2, []int{0, none, 0}},
		{"to serve comes before to serve fast", [][]choice{c(0, 1), c(1, 100), c(1, 100)}, 1, []int{1, 1, 1}},
	} {
		if got := cover(test.sizes, test.limit); !slices.Equal(got, test.want) {
			// Which of two sizes either side of a gap is served is a toss-up.
			if test.name == "a gap takes a file more" && slices.Equal(got, []int{0, none, none}) {
				continue
			}
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// No other choice within the limit serves more sizes, or as many in less time.
func TestCoverIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const ids = 3
		sizes := make([][]choice, rapid.IntRange(1, 6).Draw(t, "sizes"))
		for i := range sizes {
			for id := range ids {
				if us := rapid.IntRange(0, 6).Draw(t, "time"); us > 0 {
					sizes[i] = append(sizes[i], choice{id, float64(us)})
				}
			}
		}
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		cost := func(chosen []int) float64 {
			if files(chosen) > limit {
				return math.Inf(1)
			}
			total := 0.0
			for i, id := range chosen {
				at := slices.IndexFunc(sizes[i], func(c choice) bool { return c.id == id })
				switch {
				case id == none && len(sizes[i]) > 0:
					total += unserved
				case id == none:
				case at < 0:
					return math.Inf(1)
				default:
					total += math.Log(sizes[i][at].time / sizes[i][least(sizes[i])].time)
				}
			}
			return total
		}
		best := math.Inf(1)
		chosen := make([]int, len(sizes))
		for n := range int(math.Pow(ids+1, float64(len(sizes)))) {
			for i := range chosen {
				chosen[i] = n%(ids+1) - 1
				n /= ids + 1
			}
			best = min(best, cost(chosen))
		}
		got := cover(sizes, limit)
		if c := cost(got); c > best+1e-9 {
			t.Fatalf("%v costs %v, the best %v (limit %d, %v)", got, c, best, limit, sizes)
		}
	})
}
