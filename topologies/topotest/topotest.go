package topotest

import "github.com/colltune/colltune/topologies"

// TB is the common interface of *testing.T, *testing.B and *rapid.T that is
// used here.
type TB interface {
	Helper()
	Fatal(...any)
}

// Resolve returns the system of a catalogue name, a file or a generator, with
// the given number of nodes; 0 means the system's own. An error ends the test.
func Resolve(t TB, arg string, nodes int) *topologies.Topology {
	t.Helper()
	top, err := topologies.Resolve(arg, topologies.Options{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	return top
}
