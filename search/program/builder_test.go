package program

import (
	"os"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/child"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// TestMain lets the test binary be the solvers' worker.
func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}

// builderOn builds programs of a collective on a topology.
func builderOn(t testing.TB, top *topologies.Topology, coll string, o Options) *Builder {
	b := New(Target{Call: collective.Call{Collective: coll, Op: "sum", DType: "f32"}, Topology: top, InPlace: collective.DefaultInPlace(coll)}, o)
	t.Cleanup(b.Close)
	return b
}

// on is the same on a number of nodes of a system.
func on(t testing.TB, system string, nodes int, coll string, o Options) *Builder {
	t.Helper()
	return builderOn(t, topotest.Resolve(t, system, nodes), coll, o)
}

func familyFor(t testing.TB, name, collective string) *templates.Family {
	t.Helper()
	f, err := templates.Find(templates.Builtin(), name, collective)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
