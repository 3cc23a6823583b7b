package results

import "math"

// choice is one way to serve a size: a program and protocol, as an index that also
// settles ties, and the time it takes.
type choice struct {
	id   int
	time float64
}

// none marks a size that nothing serves.
const none = -1

// cover decides, for every size in order, which of its choices is exported. At
// most limit files are loaded, and a file serves neighbouring sizes with the same
// choice. If the fastest choice at every size would take more files, cover serves
// as many sizes as possible and, among the ways to do that, takes the one with the
// least geometric mean of slowdowns against the fastest.
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

// least is the index of the fastest choice; -1 for none. Of equal times the lowest
// id wins.
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

// unserved is the cost of leaving a size out: more than any slowdown's.
const unserved = 1e6

// served is one way to serve the sizes so far.
type served struct {
	cost float64 // sum of the logarithms of slowdowns against the fastest
	id   int     // chosen for the last size
	from int     // which of the ways for the sizes before it extends
	used int     // files so far
}

// coverWithin is dynamic programming over (size, files used, last choice).
func coverWithin(sizes [][]choice, limit int) []int {
	layers := make([][]served, len(sizes)+1)
	layers[0] = []served{{id: none, from: -1}}
	for i, choices := range sizes {
		layers[i+1] = serve(layers[i], choices, limit)
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

// serve extends the ways for the sizes before by one size. It is left out, or
// served by a new file, or by the file that served the size before.
func serve(before []served, choices []choice, limit int) (now []served) {
	cheapest := make([]int, limit+1) // by files used: the way that a new file extends
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
	for used, c := range cheapest {
		if c >= 0 {
			cost := before[c].cost
			if len(choices) > 0 {
				cost += unserved
			}
			now = append(now, served{cost, none, c, used})
		}
	}
	best := least(choices)
	if best < 0 {
		return now
	}
	for _, c := range choices {
		slower := math.Log(c.time / choices[best].time)
		for used := 1; used <= limit; used++ {
			from := cheapest[used-1]
			if s, going := same[[2]int{used, c.id}]; going && (from < 0 || before[s].cost <= before[from].cost) {
				from = s
			}
			if from >= 0 {
				now = append(now, served{before[from].cost + slower, c.id, from, used})
			}
		}
	}
	return now
}
