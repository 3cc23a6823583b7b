package compiler

// reach is a range of a buffer's chunks: from is the first, to one more than the last.
type reach struct{ from, to int32 }

// add extends the range to the chunks.
func (s *reach) add(c chunks) {
	if s.to == 0 {
		s.from = c.off
	}
	s.from, s.to = min(s.from, c.off), max(s.to, c.end())
}

func (s *reach) meets(c chunks) bool { return c.off < s.to && s.from < c.end() }

// of returns those of the chunks that lie in the range.
func (s *reach) of(c chunks) chunks {
	from := (max(s.from-c.off, 0) + c.stride - 1) / c.stride
	to := min((max(s.to-c.off, 0)+c.stride-1)/c.stride, c.count)
	return c.part(from, max(to-from, 0))
}
