package importer_test

import (
	"fmt"

	"github.com/colltune/colltune/topologies/importer"
)

// The output of nvidia-smi topo -m on a machine with two GPUs becomes a topology
// file. The text does not name the GPUs' model, so the caller does.
func ExampleImport() {
	const text = `
	GPU0	GPU1	CPU Affinity	NUMA Affinity
GPU0	 X 	NV12	0-31	0
GPU1	NV12	 X 	0-31	0
`
	r, err := importer.Import("pair.txt", []byte(text), importer.Options{GPU: "a100", CPU: "amd"})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := r.Topology
	fmt.Println(t.Name, "has", len(t.Ranks), "GPUs of", t.Arch)
	for _, e := range t.Edges {
		fmt.Printf("%d → %d: %d links, %v\n", e.From, e.To, e.Count, e.Bandwidth)
	}
	// Output:
	// pair has 2 GPUs of ampere
	// 0 → 1: 12 links, 300 GB/s
	// 1 → 0: 12 links, 300 GB/s
}
