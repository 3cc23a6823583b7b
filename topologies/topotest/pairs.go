package topotest

import (
	_ "embed"

	"github.com/colltune/colltune/topologies"
)

var (
	//go:embed pairs.toml
	pairs []byte
	//go:embed pairs-alone.toml
	pairsAlone []byte
)

// Pairs returns nodes of 4 GPUs, each with its own NIC on its own PCIe switch.
// NVLink joins the GPUs in pairs; other traffic crosses one narrow processor.
func Pairs(t TB, nodes int) *topologies.Topology {
	t.Helper()
	return read(t, pairs, topologies.Options{Nodes: nodes})
}

// PairsAlone returns two nodes of 4 GPUs, each with its own NIC. NVLink joins
// the GPUs in pairs, and no link within the node joins two pairs.
func PairsAlone(t TB) *topologies.Topology {
	t.Helper()
	return read(t, pairsAlone, topologies.Options{})
}

func read(t TB, file []byte, o topologies.Options) *topologies.Topology {
	t.Helper()
	topology, err := topologies.Read("pairs.toml", file, o)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}
