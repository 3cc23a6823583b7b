package sim

// Calls of LL and LL128. Data and flag arrive together, pass by pass, so a
// receiver works on a message while it is still being sent:
//
//	sender    ├─ take a slot ─├─ flow ──────────┤ cs
//	                          ts                te
//	receiver       ts + L ────├─ P·b ... ───────├ te + L + b ┤ cr
//
// and a call that receives and sends forwards each pass as it arrives. What leaves the node
// is sent by the host, which waits for all of a message.

// pass continues a call. It returns false if the threadblock must wait.
func (e *engine) pass(i int32, s *blockState, b *block, o *op, size *call) bool {
	switch o.kind {
	case recv:
		return e.passReceive(i, s, b, o, size)
	case send:
		return e.passSend(i, s, b, o, size)
	}
	return e.passForward(i, s, b, o, size)
}

func (e *engine) passSend(i int32, s *blockState, b *block, o *op, size *call) bool {
	c := &e.conns[b.tx]
	switch s.stage {
	case calling:
		free, ok := e.credit(c)
		if !ok {
			return false
		}
		at := max(s.ready, free)
		if e.rec != nil {
			e.rec.waits(i, s.ready, at, nil, e.rec.credited(c))
		}
		return e.passStart(i, s, b, o, size, at, size.first.send)
	case starting:
		return e.passStart(i, s, b, o, size, s.ready, size.first.send)
	case landed:
		e.passSent(b.tx, c, s.end, size.first.send, 0, &size.first)
		s.ready = s.end + e.c.sendCall
		e.called(s, o)
		return true
	}
	return false
}

// passStart puts the call's message on the wire, or records it at once if it is
// empty. It returns false if the message's time lies ahead or its flow is running.
func (e *engine) passStart(i int32, s *blockState, b *block, o *op, size *call, at, unloaded float64) bool {
	if size.bytes > 0 {
		if !e.launch(i, s, o, e.p.conns[b.tx].lane, &size.first, unloaded, at) {
			return false
		}
	} else {
		s.stage, s.end = landed, at
	}
	c := &e.conns[b.tx]
	if e.rec != nil {
		e.rec.starts(b.tx, c)
	}
	e.slot(c, c.started).start = at
	c.started++
	e.arrives(b.tx, c)
	return s.stage == landed
}

// passSent records when the connection's next message has been sent. One to another node is
// written first, which alone takes the time own, and then sent by the host. Its flow is the
// longer of the two; the shorter comes on top. It is not written before a given time.
func (e *engine) passSent(conn int32, c *connState, at, own, written float64, p *part) {
	m, l := e.slot(c, c.sent), &e.p.lanes[e.p.conns[conn].lane]
	if m.arrive = at; l.net {
		wire := p.wire / l.cap
		m.start = max(m.start+own, written)
		m.arrive = max(at+min(own, wire), m.start+wire)
	}
	if e.rec != nil {
		e.rec.sends(conn, c, at)
		if l.net {
			e.rec.leaves(c, m)
		}
	}
	c.sent++
	e.arrives(conn, c)
}

func (e *engine) passReceive(i int32, s *blockState, b *block, o *op, size *call) bool {
	c := &e.conns[b.rx]
	if c.sent <= c.received {
		c.rxWaits = true
		return false
	}
	m := e.slot(c, c.received)
	lane := e.p.conns[b.rx].lane
	latency := e.c.latency[lane]
	from, end := max(s.ready, m.start+latency), m.arrive+latency+size.first.tail
	if e.rec != nil {
		e.rec.receives(i, s.ready, from, c, end > from+size.first.recv, m.arrive+latency)
	}
	s.ready = max(from+size.first.recv, end) + e.c.recvCall
	e.took(b.rx, c, s.ready+e.c.credit[lane])
	e.called(s, o)
	return true
}

func (e *engine) passForward(i int32, s *blockState, b *block, o *op, size *call) bool {
	in, out := &e.conns[b.rx], &e.conns[b.tx]
	lane := e.p.conns[b.rx].lane
	latency := e.c.latency[lane]
	switch s.stage {
	case calling:
		if in.started <= in.received || in.sent <= in.received && e.p.lanes[lane].net {
			in.rxWaits = true
			return false
		}
		free, ok := e.credit(out)
		if !ok {
			return false
		}
		at := max(s.ready, e.slot(in, in.received).start+latency, free)
		if e.rec != nil {
			e.rec.waits(i, s.ready, at, &e.rec.slot(in, in.received).start, e.rec.credited(out))
		}
		return e.passStart(i, s, b, o, size, at, size.first.both)
	case starting:
		return e.passStart(i, s, b, o, size, s.ready, size.first.both)
	case landed, trailing:
		if in.sent <= in.received {
			s.stage = trailing // its last pass cannot leave before it has come in
			in.rxWaits = true
			return false
		}
		arrive := e.slot(in, in.received).arrive + latency
		end := max(s.end, arrive+size.first.tailBoth)
		if e.rec != nil && end > s.end {
			e.rec.follows(i, arrive, &e.rec.slot(in, in.received).arrive)
		}
		e.passSent(b.tx, out, end, size.first.both, arrive+size.first.tailBoth, &size.first)
		e.took(b.rx, in, end+e.c.credit[lane])
		s.ready = end + max(e.c.sendCall, e.c.recvCall)
		e.called(s, o)
		return true
	}
	return false
}
