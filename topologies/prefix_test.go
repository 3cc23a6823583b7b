package topologies_test

import (
	"testing"

	"github.com/colltune/colltune/topologies"
)

// TestFirstNodes: the first n nodes of a catalogue's system are the system of n nodes.
func TestFirstNodes(t *testing.T) {
	for _, name := range topologies.Names() {
		all, err := topologies.Resolve(name, topologies.Options{Nodes: 6})
		if err != nil {
			continue // a system of one size
		}
		few, err := topologies.Resolve(name, topologies.Options{Nodes: 3})
		if err != nil {
			t.Fatal(err)
		}
		if !all.Alike() {
			continue
		}
		if got := all.FirstNodes(3); got.Hash() != few.Hash() {
			t.Errorf("%s: the first 3 of 6 nodes are not 3 nodes", name)
		}
		if all.FirstNodes(6) != all || all.FirstNodes(7) != all {
			t.Errorf("%s: the first 6 of 6 nodes are another system", name)
		}
	}
}

// TestAlike: nodes of one kind below one switch are alike; those of two kinds, with a
// faster link, or below different leaves are not.
func TestAlike(t *testing.T) {
	alike, err := topologies.Resolve("frontier", topologies.Options{Nodes: 4})
	if err != nil || !alike.Alike() {
		t.Fatalf("4 nodes of frontier are not alike: %v", err)
	}
	for i, e := range alike.Edges {
		changed := alike.Calibrated(topologies.Calibration{})
		changed.Edges[i].Bandwidth *= 2
		if changed.Alike() {
			t.Errorf("alike with a faster edge from %d to %d", e.From, e.To)
		}
	}
	for r := range alike.Ranks {
		changed := alike.Calibrated(topologies.Calibration{})
		changed.Ranks = append([]topologies.Rank(nil), alike.Ranks...)
		changed.Ranks[r].SMs++
		if changed.Alike() {
			t.Errorf("alike with another GPU %d", r)
		}
	}
}
