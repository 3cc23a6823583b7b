package results

import "math"

// choice is one way to serve a size: which program and protocol (an index that
// orders equals), and the time it takes.
type choice struct {
	id   int
	time float64
}

// none marks a size that nothing serves.
const none = -1

// cover chooses for every size, in order, which of its choices is exported; at
// most limit files are loaded, and a file serves neighbouring sizes that chose
// alike. Where the fastest at every size would take more files than that, the
// choice is the one that serves the most sizes and, among those, takes the
// least time in the geometric mean over the fastest.
func cover(sizes [][]choice, limit int) []int {
	fastest := make([]int, len(sizes))
	for i, choices := range sizes {
		fastest[i] = none
		if best := least(choices); best >= 0 {
			fastest[i] = choices[best].id
		}
	}
	if files(fastest) <= limit {
		return fastest
	}
	return coverWithin(sizes, limit)
}

// least is the index of the fastest choice, the first id among equals; -1 for
// none.
func least(choices []choice) int {
	best := -1
	for i, c := range choices {
		if best < 0 || c.time < choices[best].time || c.time == choices[best].time && c.id < choices[best].id {
			best = i
		}
	}
	return best
}

// files counts the runs of equal choices.
func files(chosen []int) int {
	n, last := 0, none
	for _, id := range chosen {
		if id != none && id != last {
			n++
		}
		last = id
	}
	return n
}

// unserved is what leaving a size out costs: more than any slowdown.
const unserved = 1e6

// coverWithin is dynamic programming over (size, files used, last choice). The
// cost of a choice is the logarithm of how much longer than the fastest it
// takes.
func coverWithin(sizes [][]choice, limit int) []int {
	type state struct {
		cost float64
		id   int // chosen for this size
		from int // index into the states of the size before
		used int
	}
	layers := make([][]state, len(sizes)+1)
	layers[0] = []state{{id: none, from: -1}}
	for i, choices := range sizes {
		before := layers[i]
		// The cheapest state by files used, for a new file to start after.
		cheapest := make([]int, limit+1)
		for used := range cheapest {
			cheapest[used] = -1
		}
		same := map[[2]int]int{} // by (used, id)
		for s, st := range before {
			if c := cheapest[st.used]; c < 0 || st.cost < before[c].cost {
				cheapest[st.used] = s
			}
			same[[2]int{st.used, st.id}] = s
		}
		var now []state
		for used := 0; used <= limit; used++ {
			if c := cheapest[used]; c >= 0 {
				cost := before[c].cost
				if len(choices) > 0 {
					cost += unserved
				}
				now = append(now, state{cost, none, c, used})
			}
		}
		if best := least(choices); best >= 0 {
			for _, c := range choices {
				slower := math.Log(c.time / choices[best].time)
				for used := 1; used <= limit; used++ {
					from := cheapest[used-1]
					if s, going := same[[2]int{used, c.id}]; going && (from < 0 || before[s].cost <= before[from].cost) {
						from = s
					}
					if from >= 0 {
						now = append(now, state{before[from].cost + slower, c.id, from, used})
					}
				}
			}
		}
		layers[i+1] = now
	}
	at := 0
	for s, st := range layers[len(sizes)] {
		if st.cost < layers[len(sizes)][at].cost {
			at = s
		}
	}
	chosen := make([]int, len(sizes))
	for i := len(sizes); i > 0; i-- {
		st := layers[i][at]
		chosen[i-1] = st.id
		at = st.from
	}
	return chosen
}
