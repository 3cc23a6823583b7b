package intervals

import (
	"fmt"
	"slices"
	"strings"
)

// Model says how far the times simulated on one system may be off.
type Model struct {
	Name   string // the system's
	System System // zero: like no machine
	Table  *Table
	// UpAndDown is that of a program by its hash; nil: not known.
	UpAndDown func(hash string) bool
}

// Program returns the interval of the time of a call that a program makes, or, in words, what
// nothing measured supports.
func (m *Model) Program(c Call) (i Interval, lacks string) {
	c.Clock = Instructions
	return m.Of(c)
}

// Library returns the same of a call that the vendor's library makes, by the name of its time.
func (m *Model) Library(name, collective string, bytes int64) (i Interval, lacks string) {
	return m.Of(LibraryCall(name, collective, bytes))
}

// Of is Look for what no measurement judges. From 1 MiB over PCIe rings tell nothing of programs
// that go up and down, and trees of the same generation only where they take about what is simulated:
// the forced ones of L40S of 16 MiB and more take 1.2 times that, so that a tree faster than a ring there
// may be the error alone.
func (m *Model) Of(c Call) (Interval, string) {
	e, i, lacks := m.Look(c)
	if lacks == "" && c.UpAndDown && e.Link == "PCIe" && e.large() && (e.Work != upAndDown || e.Arch != m.System.Arch || i.Median > mostSlower) {
		return Interval{}, m.System.Zones(c)[0].String()
	}
	return i, lacks
}

// mostSlower is how many times what is simulated measured trees take at most, in the median, where they
// are evidence for others.
const mostSlower = 1.2

// LibraryCall is a call of the library by the name of its time: ring ×24 LL of a program, nvls
// Simple of a closed form.
func LibraryCall(name, collective string, bytes int64) Call {
	c := Call{Clock: Instructions, Collective: collective, Bytes: bytes}
	words := strings.Fields(strings.ReplaceAll(name, ",", " "))
	for _, word := range words {
		if slices.Contains([]string{"LL", "LL128", "Simple"}, word) {
			c.Protocol = word
		}
	}
	if len(words) > 0 {
		c.UpAndDown = words[0] == "double-binary-tree" && collective == "allreduce"
		if !strings.Contains(name, "×") {
			c.Clock = words[0]
		}
	}
	return c
}

// Look returns the interval of a call's time, and the entry that it follows from; lacks says what
// nothing measured supports. The entry is that of the narrowest zone that rows were measured of.
func (m *Model) Look(c Call) (e Entry, i Interval, lacks string) {
	zones := m.System.Zones(c)
	if len(zones) == 0 {
		return e, i, "systems such as " + m.Name
	}
	e, _, ok := m.Table.At(zones)
	if !ok {
		return e, i, zones[0].String()
	}
	if why := e.unsupported(); why != "" {
		return e, i, e.Zone.String() + why
	}
	i = e.Interval
	if !m.Table.Measured(m.System) {
		if i = i.Wider(Unmeasured); e.tooWide(i) {
			return e, i, fmt.Sprintf("systems such as %s, whose constants no measurement tells", m.Name)
		}
	}
	return e, i, ""
}
