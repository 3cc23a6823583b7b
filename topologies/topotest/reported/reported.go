package reported

import (
	"embed"

	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/importer"
	"github.com/colltune/colltune/topologies/topotest"
)

//go:embed *.txt
var texts embed.FS

// machines is what the texts beside this file, printed by nvidia-smi topo -m, do not say.
var machines = map[string]importer.Options{
	"v100x4-two-links":       {GPU: "v100", NIC: importer.NIC{None: true}},
	"a100-pcie-pairs":        {GPU: "a100-pcie", CPU: "intel", NIC: importer.NIC{None: true}},
	"a10g-one-processor":     {GPU: "a10g", CPU: "intel", NIC: importer.NIC{None: true}},
	"h100-nics-at-even-gpus": {GPU: "h100", NIC: importer.NIC{Bandwidth: 50e9}},
	"h100-nics-in-pairs":     {GPU: "h100", NIC: importer.NIC{Bandwidth: 50e9}},
}

// Resolve returns a machine of a public report, if name is one, and otherwise the system that
// topologies.Resolve has.
func Resolve(t topotest.TB, name string, o topologies.Options) *topologies.Topology {
	t.Helper()
	from, known := machines[name]
	if !known {
		top, err := topologies.Resolve(name, o)
		if err != nil {
			t.Fatal(err)
		}
		return top
	}
	text, err := texts.ReadFile(name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	r, err := importer.Import(name+".txt", text, from)
	if err != nil {
		t.Fatal(err)
	}
	top, err := topologies.Read(name+".toml", r.TOML, o)
	if err != nil {
		t.Fatal(err)
	}
	return top
}
