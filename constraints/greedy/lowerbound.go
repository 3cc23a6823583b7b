package greedy

import "math"

// lowerBound returns a time, in microseconds, that no schedule with messages of one chunk
// can beat: the time that the links into some rank need for the chunks that it lacks, or
// those into some node for the chunks that the node lacks, plus the time to spread the last
// chunk within the node.
func (n *hopGraph) lowerBound(part float64) float64 {
	least := 0.0
	for v, hops := range n.in {
		least = max(least, n.minDelivery(hops, n.ranks-1, part, n.inRate[v]))
	}
	if n.disjoint && n.t.Nodes > 1 {
		least = max(least, n.nodeLowerBound(part))
	}
	return least * (1 + tolerance)
}

// minDelivery returns the least time in which hops can deliver a number of chunks. speed is
// the rate of the last edges of the hops together, in bytes a microsecond.
func (n *hopGraph) minDelivery(hops []int32, lacks int, part, speed float64) float64 {
	if !n.disjoint {
		latency := math.Inf(1)
		for _, h := range hops {
			latency = min(latency, n.hops[h].Latency)
		}
		return float64(lacks)*part/speed + latency
	}
	low, high := 0.0, math.Inf(1) // too short for all messages; long enough
	each, alike := make([]float64, 0, len(hops)), true
	for _, h := range hops {
		each, _ = n.cost(h, part, each)
		last := each[len(each)-1]
		high = min(high, float64(lacks)*last)
		alike = alike && last == each[0]
	}
	if alike {
		return math.Ceil(float64(lacks)/float64(len(hops))) * each[0]
	}
	for range 60 {
		mid, count := (low+high)/2, 0.0
		for _, e := range each {
			count += math.Floor(mid / e)
		}
		if count < float64(lacks) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// nodeLowerBound returns the largest lower bound of any node. If only one rank of a node has
// links from outside, the others get the last chunk only after that rank.
func (n *hopGraph) nodeLowerBound(part float64) float64 {
	least := 0.0
	for node := range n.t.Nodes {
		inside := n.t.NodeRanks(node)
		var entries []int32
		speed, spread, gates, gate := 0.0, 0.0, 0, 0
		for _, v := range inside {
			count := len(entries)
			for _, h := range n.in[v] {
				if n.t.Ranks[n.hops[h].From].Node != node {
					entries = append(entries, h)
					speed += n.t.Edges[n.hops[h].Edges[0]].Bandwidth.PerMicro()
				}
			}
			if len(entries) > count {
				gates++
				gate = v
			}
		}
		if gates == 1 {
			spread = n.farthest(gate, inside, part)
		}
		if gates > 0 {
			least = max(least, n.minDelivery(entries, n.ranks-len(inside), part, speed)+spread)
		}
	}
	return least
}

// farthest returns the longest shortest-path time of a chunk from a rank to those of a list.
func (n *hopGraph) farthest(from int, list []int, part float64) (longest float64) {
	at := make([]float64, n.ranks)
	for v := range at {
		at[v] = math.Inf(1)
	}
	at[from] = 0
	for changed := true; changed; {
		changed = false
		for h := range n.hops {
			hop := &n.hops[h]
			_, arrive := n.cost(int32(h), part, nil)
			if t := at[hop.From] + arrive; t < at[hop.To] {
				at[hop.To], changed = t, true
			}
		}
	}
	for _, v := range list {
		longest = max(longest, at[v])
	}
	return longest
}
