package verify

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/ir"
)

// connection is (sending rank, receiving rank, channel).
type connection struct{ from, to, channel int }

func (k connection) String() string {
	return fmt.Sprintf("%d → %d on channel %d", k.from, k.to, k.channel)
}

// connections finds the two ends of every connection and pairs the k-th send
// with the k-th receive: messages arrive in the order in which they were sent.
func (c *checker) connections() {
	n := len(c.tbGPU)
	c.receiver, c.sender = fill(n, -1), fill(n, -1)
	sends, receives := make(map[connection]int32, n), make(map[connection]int32, n)
	sending, receiving := make([]bool, n), make([]bool, n) // by threadblock: it owns that end
	for t := range c.tbGPU {
		t := int32(t)
		g, tb := int(c.tbGPU[t]), c.tb(t)
		if tb.Send >= 0 {
			sending[t] = c.claim(sends, connection{g, tb.Send, tb.Channel}, t, "send", ir.Op.Sends)
		}
		if tb.Recv >= 0 {
			receiving[t] = c.claim(receives, connection{tb.Recv, g, tb.Channel}, t, "receive", ir.Op.Receives)
		}
	}
	if !c.r.OK() {
		return
	}
	for t := range c.tbGPU {
		if tb := c.tb(int32(t)); sending[t] {
			if other, ok := receives[connection{int(c.tbGPU[t]), tb.Send, tb.Channel}]; ok {
				c.receiver[t], c.sender[other] = other, int32(t)
			}
		}
	}
	// In threadblock order, so that reports do not depend on the map's.
	c.from = fill(c.r.Steps, -1)
	for t := range c.tbGPU {
		t := int32(t)
		g, tb := int(c.tbGPU[t]), c.tb(t)
		if sending[t] {
			c.pair(connection{g, tb.Send, tb.Channel}, t, c.receiver[t])
		}
		if receiving[t] && c.sender[t] < 0 {
			c.pair(connection{tb.Recv, g, tb.Channel}, -1, t)
		}
	}
}

// claim gives an end of a connection to a threadblock and reports whether it
// did. It fails if another threadblock owns the end. An unused end has no
// owner.
func (c *checker) claim(ends map[connection]int32, k connection, t int32, verb string, uses func(ir.Op) bool) bool {
	g := c.tbGPU[t]
	at := func(kind Kind, s Severity, format string, args ...any) {
		c.r.findingAt(kind, s, int(g), int(t-c.firstTB[g]), -1, format, args...)
	}
	if c.next(t, -1, uses) < 0 {
		at(Lint, Warning, "has connection %v and no step to %s on it", k, verb)
		return false
	}
	if other, taken := ends[k]; taken {
		at(SharedConnection, Error, "%ss on connection %v, as threadblock %d does", verb, k, other-c.firstTB[g])
		return false
	}
	ends[k] = t
	return true
}

// pair pairs the messages of one connection. sender or receiver may be missing
// (-1).
func (c *checker) pair(k connection, sender, receiver int32) {
	i, j := c.next(sender, -1, ir.Op.Sends), c.next(receiver, -1, ir.Op.Receives)
	for m := 0; ; m++ {
		switch {
		case i < 0 && j < 0:
			return
		case j < 0:
			g, t, s := c.where(i)
			c.r.findingAt(Malformed, Error, g, t, s, "sends message %d on connection %v, which nobody receives", m, k)
			return
		case i < 0:
			g, t, s := c.where(j)
			c.r.findingAt(Malformed, Error, g, t, s, "receives message %d on connection %v, which nobody sends", m, k)
			return
		}
		if a, b := c.step(i).Count, c.step(j).Count; a != b {
			g, t, s := c.where(j)
			c.r.findingAt(Malformed, Error, g, t, s, "receives %d chunks as message %d on connection %v, where %s sends %d", b, m, k, c.name(i), a)
			return
		}
		c.from[j] = i
		i, j = c.next(sender, i, ir.Op.Sends), c.next(receiver, j, ir.Op.Receives)
	}
}

// next returns the number of the first step after s (-1: from the start) of
// threadblock t that satisfies is, or -1.
func (c *checker) next(t, s int32, is func(ir.Op) bool) int32 {
	if t < 0 {
		return -1
	}
	if s < 0 {
		s = c.first[t] - 1
	}
	steps := c.tb(t).Steps
	for s++; s < c.first[t+1]; s++ {
		if is(steps[s-c.first[t]].Op) {
			return s
		}
	}
	return -1
}

// fill returns a slice of n equal values.
func fill(n int, value int32) []int32 { return slices.Repeat([]int32{value}, n) }
