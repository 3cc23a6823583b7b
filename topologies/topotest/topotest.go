package topotest

import "github.com/colltune/colltune/topologies"

// TB is what is needed of a *testing.T, a *testing.B or a *rapid.T.
type TB interface {
	Helper()
	Fatal(...any)
}

// Resolve returns the system that a catalogue name, a file or a generator names, of so
// many nodes; 0: as many as it says itself.
func Resolve(t TB, arg string, nodes int) *topologies.Topology {
	t.Helper()
	top, err := topologies.Resolve(arg, topologies.Options{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	return top
}
