package route

// Send moves a chunk along the lane from one rank to another, within a step.
type Send struct {
	Item     int // which chunk, as the problem numbers them
	From, To int
	Reduce   bool // combined with what is there, rather than replacing it
}

// Step is a set of sends that happen at once: each reads what was there before the
// step.
type Step struct {
	Rounds int // how long it takes
	Sends  []Send
}

// Schedule is a routing, step by step.
type Schedule []Step

// prune drops, from a schedule without reductions, sends that bring nothing new or
// that nobody needs.
func (p *problem) prune(s Schedule) Schedule {
	type at struct{ item, rank int }
	first := map[at][2]int{} // step and index of the send that brings it
	for i, step := range s {
		for j, m := range step.Sends {
			k := at{m.Item, m.To}
			if _, ok := first[k]; !ok && m.To != p.items[m.Item].source {
				first[k] = [2]int{i, j}
			}
		}
	}
	needed := map[[2]int]bool{}
	for x, it := range p.items {
		for _, r := range it.wanted {
			for r != it.source {
				f, ok := first[at{x, r}]
				if !ok || needed[f] {
					break
				}
				needed[f] = true
				r = s[f[0]].Sends[f[1]].From
			}
		}
	}
	out := make(Schedule, len(s))
	for i, step := range s {
		out[i].Rounds = step.Rounds
		for j, m := range step.Sends {
			if needed[[2]int{i, j}] {
				out[i].Sends = append(out[i].Sends, m)
			}
		}
	}
	return out
}

// reversed is the schedule with time and directions reversed, combining where the
// original copies: what was spread from a rank is collected there.
func (s Schedule) reversed() Schedule {
	out := make(Schedule, len(s))
	for i, step := range s {
		back := Step{Rounds: step.Rounds}
		for _, m := range step.Sends {
			back.Sends = append(back.Sends, Send{m.Item, m.To, m.From, true})
		}
		out[len(s)-1-i] = back
	}
	return out
}
