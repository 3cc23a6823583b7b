package cost

import (
	"encoding/json"
	"fmt"
)

// numbers lists all fields of a summary, in the order in which files keep them.
func (m *Summary) numbers() []any {
	all := []any{
		&m.Whole, &m.Loop, &m.edge, &m.inside, &m.messages, &m.Moved, &m.calls, &m.connected, &m.localCalls, &m.local,
		&m.Connections, &m.Ends, &m.SMs, &m.Channels,
		&m.network.starts, &m.network.calls, &m.network.chunks, &m.network.latency, &m.network.wire,
	}
	for i := range m.criticalPaths {
		c := &m.criticalPaths[i]
		all = append(all,
			&c.messages, &c.net, &c.sums, &c.local, &c.stored, &c.queued, &c.crossings,
			&c.latency, &c.occupied, &c.wire, &c.chunks, &c.forwarded, &c.forwardedWire, &c.summed, &c.worked, &c.crossed)
	}
	return all
}

// MarshalJSON writes a summary as a list of its numbers.
func (m *Summary) MarshalJSON() ([]byte, error) { return json.Marshal(m.numbers()) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Summary) UnmarshalJSON(text []byte) error {
	var values []json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	numbers := m.numbers()
	if len(values) != len(numbers) {
		return fmt.Errorf("a cost of %d numbers: want %d", len(values), len(numbers))
	}
	for i := range values {
		if err := json.Unmarshal(values[i], numbers[i]); err != nil {
			return err
		}
	}
	return nil
}
