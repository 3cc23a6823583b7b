package sim

import "github.com/colltune/colltune/topologies"

// Calls of Simple. A call is two slices; each is copied, then fenced and
// posted, and only then can the receiver see it:
//
//	sender    ccs ├─ slot ─├─ flow ──┤ csl ├─ slot ─├─ flow ──┤ csl
//	                                       ╲ LS               ╲ LS
//	receiver  ccr           waits ─────────├─ copy ─┤ cslr ────├─ copy ─┤ cslr

// slotted reports whether calls move in slices.
func (c *costs) slotted() bool { return c.proto == topologies.Simple }

// slice continues a call. It returns false if the threadblock must wait.
func (e *engine) slice(i int32, s *blockState, b *block, o *op, size *call) bool {
	if s.stage == calling {
		s.second = false
		s.stage = slicing
		switch o.kind {
		case send:
			s.ready += e.c.sendCall
		case recv:
			s.ready += e.c.recvCall
		default:
			s.ready += max(e.c.sendCall, e.c.recvCall)
		}
	}
	half := &size.first
	if s.second {
		half = &size.second
	}
	var ok bool
	switch o.kind {
	case send:
		ok = e.sliceSend(i, s, b, o, half)
	case recv:
		ok = e.sliceReceive(i, s, b, half)
	default:
		ok = e.sliceForward(i, s, b, o, half)
	}
	switch {
	case !ok:
		return false
	case s.second:
		e.called(s, o)
	default:
		s.second, s.stage = true, slicing
	}
	return true
}

func (e *engine) sliceSend(i int32, s *blockState, b *block, o *op, half *part) bool {
	c := &e.conns[b.tx]
	switch s.stage {
	case slicing:
		free, ok := e.credit(c)
		if !ok {
			return false
		}
		at := max(s.ready, free)
		if e.rec != nil {
			e.rec.waits(i, s.ready, at, nil, e.rec.credited(c))
		}
		if !e.sliceStart(i, s, b, o, half, at, half.send) {
			return false
		}
	case starting:
		e.sliceStart(i, s, b, o, half, s.ready, half.send)
		return false
	case landed:
	default:
		return false
	}
	s.ready = s.end + half.over(e.c.sendSlice)
	e.slicePosted(b.tx, c, s.ready)
	return true
}

// sliceStart puts a slice on the wire. It returns true if the slice is empty, and so
// has landed already.
func (e *engine) sliceStart(i int32, s *blockState, b *block, o *op, half *part, at, unloaded float64) bool {
	if half.bytes > 0 {
		if e.launch(i, s, o, e.p.conns[b.tx].lane, half, unloaded, at) {
			e.conns[b.tx].started++
		}
		return false
	}
	e.conns[b.tx].started++
	s.stage, s.end = landed, at
	return true
}

// slicePosted records that the connection's next slice has been posted.
func (e *engine) slicePosted(conn int32, c *connState, at float64) {
	if e.rec != nil {
		e.rec.sends(conn, c, at)
	}
	e.slot(c, c.sent).arrive = at
	c.sent++
	e.arrives(conn, c)
}

func (e *engine) sliceReceive(i int32, s *blockState, b *block, half *part) bool {
	c := &e.conns[b.rx]
	if c.sent <= c.received {
		c.rxWaits = true
		return false
	}
	lane := e.p.conns[b.rx].lane
	at := max(s.ready, e.slot(c, c.received).arrive+e.c.latency[lane])
	if e.rec != nil {
		e.rec.waits(i, s.ready, at, &e.rec.slot(c, c.received).arrive, nil)
	}
	s.ready = at + half.recv + half.over(e.c.recvSlice)
	e.took(b.rx, c, s.ready+e.c.credit[lane])
	return true
}

func (e *engine) sliceForward(i int32, s *blockState, b *block, o *op, half *part) bool {
	in, out := &e.conns[b.rx], &e.conns[b.tx]
	lane := e.p.conns[b.rx].lane
	switch s.stage {
	case slicing:
		if in.sent <= in.received {
			in.rxWaits = true
			return false
		}
		free, ok := e.credit(out)
		if !ok {
			return false
		}
		at := max(s.ready, free, e.slot(in, in.received).arrive+e.c.latency[lane])
		if e.rec != nil {
			e.rec.waits(i, s.ready, at, &e.rec.slot(in, in.received).arrive, e.rec.credited(out))
		}
		if !e.sliceStart(i, s, b, o, half, at, half.both) {
			return false
		}
	case starting:
		e.sliceStart(i, s, b, o, half, s.ready, half.both)
		return false
	case landed:
	default:
		return false
	}
	e.slicePosted(b.tx, out, s.end+half.over(e.c.sendSlice))
	e.took(b.rx, in, s.end+half.over(e.c.recvSlice)+e.c.credit[lane])
	s.ready = s.end + half.over(max(e.c.sendSlice, e.c.recvSlice))
	return true
}

// over returns a slice's cost t besides its copy; 0 for an empty one.
func (h *part) over(t float64) float64 {
	if h.bytes == 0 {
		return 0
	}
	return t
}
