package workload

import "cmp"

// links are those of a program's ranks. Of n calls in progress on them, each gets the n-th
// part, so that they take together what they take one after another.
type links struct {
	given float64 // what each call in progress since the start was given, in us of its time
	at    float64 // when that was so
	open  queue[part]
	turn  int32 // how often the first of open to end has changed
}

// part is a call on the links of one of its programs: it ends when they have given so much.
type part struct {
	until float64
	call  int32
}

func (p part) before(o part) bool {
	return cmp.Or(cmp.Compare(p.until, o.until), cmp.Compare(p.call, o.call)) < 0
}

// moment is when something happens to a node, or to the first part of a program's links.
type moment struct {
	us   float64
	what event
	of   int32 // the node, or the program
	turn int32 // of the links
}

type event int8

const (
	begins event = iota
	moves        // a call whose latency is over
	ends
	partEnds
)

func (m moment) before(o moment) bool {
	return cmp.Or(cmp.Compare(m.us, o.us), cmp.Compare(m.what, o.what), cmp.Compare(m.of, o.of)) < 0
}

// sharing runs a graph whose calls share links.
type sharing struct {
	*graph
	callUS  func(call int) float64
	latency func(call int) float64
	t       times
	waiting []int32 // per node: preds that have not ended
	parts   []int32 // per call: its parts that have not ended
	links   []links // per program
	coming  queue[moment]
}

// noLatency is that of calls which use their links all the time.
func noLatency(int) float64 { return 0 }

// runShared is run where the calls in progress on a program's ranks share their links, each
// when its latency is over, a part of its time. A call of several programs ends when its part
// on the links of each has.
func (g *graph) runShared(callUS, latency func(call int) float64) times {
	if !g.overlap {
		return g.run(callUS)
	}
	s := sharing{
		graph: g, callUS: callUS, latency: latency, t: times{begin: make([]float64, len(g.preds)), end: make([]float64, len(g.preds))},
		waiting: make([]int32, len(g.preds)), parts: make([]int32, len(g.step.Calls)), links: make([]links, len(g.step.Programs)),
	}
	for v := range g.preds {
		if s.waiting[v] = int32(len(g.preds[v])); s.waiting[v] == 0 {
			s.coming.push(moment{us: s.delay(int32(v)), what: begins, of: int32(v)})
		}
	}
	for len(s.coming) > 0 {
		switch m := s.coming.pop(); m.what {
		case begins:
			s.begin(m.of, m.us)
		case moves:
			s.move(m.of, m.us)
		case ends:
			s.end(m.of, m.us)
		case partEnds:
			if m.turn == s.links[m.of].turn {
				s.partEnds(m.of, m.us)
			}
		}
	}
	return s.t
}

func (s *sharing) begin(v int32, now float64) {
	s.t.begin[v] = now
	us, what := s.us(v, s.callUS), ends
	if int(v) < len(s.parts) && !s.by(int(v)).apart {
		if latency := s.latency(int(v)); latency < us {
			us, what = latency, moves
		}
	}
	s.coming.push(moment{us: now + us, what: what, of: v})
}

// move puts a call on the links of each of its programs.
func (s *sharing) move(v int32, now float64) {
	us := s.callUS(int(v)) - s.latency(int(v))
	s.parts[v] = int32(len(s.programs[v]))
	for _, p := range s.programs[v] {
		l := &s.links[p]
		l.advance(now)
		l.open.push(part{l.given + us, v})
		s.foresee(p, now)
	}
}

// advance moves links on to a moment.
func (l *links) advance(now float64) {
	if n := len(l.open); n > 0 {
		l.given += (now - l.at) / float64(n)
	}
	l.at = now
}

// foresee expects when the first part of a program's links ends, if nothing begins before.
func (s *sharing) foresee(p int32, now float64) {
	l := &s.links[p]
	l.turn++
	if n := len(l.open); n > 0 {
		s.coming.push(moment{us: now + max(0, l.open[0].until-l.given)*float64(n), what: partEnds, of: p, turn: l.turn})
	}
}

// partEnds ends the first part on a program's links.
func (s *sharing) partEnds(p int32, now float64) {
	l := &s.links[p]
	first := l.open.pop()
	l.given, l.at = first.until, now
	s.foresee(p, now)
	if s.parts[first.call]--; s.parts[first.call] == 0 {
		s.end(first.call, now)
	}
}

// end ends a node, and lets those begin that waited for it alone.
func (s *sharing) end(v int32, now float64) {
	s.t.end[v] = now
	s.t.total = max(s.t.total, now)
	for _, w := range s.after(v) {
		if s.waiting[w]--; s.waiting[w] == 0 {
			s.coming.push(moment{us: now + s.delay(w), what: begins, of: w})
		}
	}
}
