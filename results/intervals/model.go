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
	return m.at(Program, family, collective, bytes)
}

// Library returns the same of an algorithm of the vendor's library. One that was measured
// as a program alone has a program's: RCCL's files are programs.
func (m *Model) Library(algorithm, collective string, bytes int64) (i Interval, lacks string) {
	if i, lacks = m.at(Library, algorithm, collective, bytes); lacks != "" {
		if program, none := m.at(Program, algorithm, collective, bytes); none == "" {
			return program, ""
		}
	}
	return i, lacks
}

func (m *Model) at(ran, kind, collective string, bytes int64) (i Interval, lacks string) {
	zones := m.System.Zones(ran, collective, bytes)
	e, _, ok := m.Table.At(zones)
	switch {
	case m.System == System{}:
		return i, "systems such as " + m.Name
	case zones == nil:
		return i, collective
	case !ok:
		return i, zones[0].String()
	case !m.Table.Measured(zones[0], kind):
		lacks = "programs of " + kind
		if ran == Library {
			lacks = "the library's " + kind
		}
		if !zones[0].oneNode() {
			lacks += " over nodes"
		}
		return i, lacks
	}
	return e.Interval, ""
}
