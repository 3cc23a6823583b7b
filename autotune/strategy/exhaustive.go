package strategy

import "math/rand/v2"

// Table lists the strategies.
var Table = []Row{
	{"exhaustive", "every configuration at every size", func(s *Space, _ Options) Strategy { return &listed{s, s.points()} }},
	{"random", "the points in random order", func(s *Space, o Options) Strategy {
		all := s.points()
		first := len(all)
		for i, p := range all {
			if !s.Configs[p.Config].Baseline {
				first = i
				break
			}
		}
		rest := all[first:]
		rand.New(rand.NewPCG(uint64(o.Seed), 0)).Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
		return &listed{s, all}
	}},
}

// listed measures all points of a space in an order known from the start.
type listed struct {
	space *Space
	order []Point
}

// points lists the points of a space that can be run, by size and then configuration.
func (s *Space) points() (all []Point) {
	for size := range s.Sizes {
		for c := range s.Configs {
			if p := (Point{c, size}); s.Never == nil || !s.Never(p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Next returns the first points in order that are not measured.
func (l *listed) Next(history []Observation, n int) (next []Point) {
	seen := map[Point]bool{}
	for _, o := range history {
		seen[o.Point] = true
	}
	for _, p := range l.order {
		if len(next) == n {
			break
		}
		if !seen[p] {
			next = append(next, p)
		}
	}
	return next
}

// Outlook returns each size's incumbent. Nothing is expected of the points that are left,
// so a size is done only with the last of them.
func (l *listed) Outlook(history []Observation) []Outlook {
	all := make([]Outlook, len(l.space.Sizes))
	best, seen := make([]float64, len(all)), map[Point]bool{}
	for i := range all {
		all[i] = Outlook{Size: i, Incumbent: -1, Done: true}
	}
	for _, o := range history {
		seen[o.Point] = true
		if at := &all[o.Size]; !o.Failed && (at.Incumbent < 0 || o.TimeUS < best[o.Size]) {
			at.Incumbent, best[o.Size] = o.Config, o.TimeUS
		}
	}
	for i := len(l.order) - 1; i >= 0; i-- {
		if p := l.order[i]; !seen[p] {
			all[p.Size].Done, all[p.Size].Next = false, p
		}
	}
	return all
}
