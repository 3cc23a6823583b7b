package intervals

// Model says how far the times simulated on one system may be off.
type Model struct {
	Name   string // the system's
	System System // zero: of no kind that was measured
	Table  *Table
}

// Program returns the interval of the time of a program of a family at a size, or, in words,
// what nothing measured supports.
func (m *Model) Program(family, collective string, bytes int64) (i Interval, lacks string) {
	i, lacks = m.at(Program, collective, bytes)
	if m.System.Zones(Program, collective, bytes) != nil && !m.Table.Measured(family) {
		lacks = "programs of " + family
	}
	return i, lacks
}

// Library returns the same of the vendor's library.
func (m *Model) Library(collective string, bytes int64) (i Interval, lacks string) {
	return m.at(Library, collective, bytes)
}

func (m *Model) at(ran, collective string, bytes int64) (i Interval, lacks string) {
	zones := m.System.Zones(ran, collective, bytes)
	e, _, ok := m.Table.At(zones)
	switch {
	case ok:
		return e.Interval, ""
	case m.System == System{}:
		return i, "systems such as " + m.Name
	case zones == nil:
		return i, collective
	}
	return i, zones[0].String()
}
