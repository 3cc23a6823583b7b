package synth

// Send moves a chunk from one rank to another, within a step.
type Send struct {
	Item     int  // index into Answer.Items
	From, To int  // ranks
	Reduce   bool // combine with the receiver's value, instead of replacing it
}

// Step is a set of simultaneous sends: each reads the values from before the step.
type Step struct {
	Rounds int // duration, at least 1
	Sends  []Send
}

// Schedule is a routing, step by step.
type Schedule []Step

// prune drops, from a schedule without reductions, sends that are redundant.
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

// reversed returns the schedule with time and directions reversed, and copies turned into
// reductions.
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
