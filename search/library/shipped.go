package library

import (
	_ "embed"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// Where the simulator is known to be far off, what was measured of the library on a system of the
// catalogue ships with colltune: simulated RCCL is 1.5 to 14 times too fast over 64 and 256 nodes of
// Frontier. Times are of the sizes measured, with nothing between them.

//go:embed shipped.csv
var shippedText string

// shippedCall is a call that was measured.
type shippedCall struct {
	system     string
	nodes      int
	collective string
	bytes      int64
}

// shippedUS are the times that ship, in microseconds.
var shippedUS = sync.OnceValue(func() map[shippedCall]float64 {
	r := csv.NewReader(strings.NewReader(shippedText))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		panic(err) // it is embedded
	}
	all := map[shippedCall]float64{}
	for _, row := range rows[1:] {
		nodes, _ := strconv.Atoi(row[1])
		bytes, _ := strconv.ParseInt(row[3], 10, 64)
		all[shippedCall{row[0], nodes, row[2], bytes}], _ = strconv.ParseFloat(row[4], 64)
	}
	return all
})

// shipped returns what ships of a call of the target on buffers that the library takes as in a state; ok is
// false where nothing does, or where programs are not timed by the simulator.
func (l *Library) shipped(bytes int64, state nccl.Registered) (_ Time, ok bool) {
	t := l.target.Topology
	us, ok := shippedUS()[shippedCall{t.Name, t.Nodes, l.target.Collective, bytes}]
	if !ok || !l.options.Shipped || l.options.Measured || state != nccl.None || l.target.DType != "f32" || l.target.Op != "sum" || !l.target.InPlace || !catalogued(t) {
		return Time{}, false
	}
	return Time{Bytes: bytes, Name: LibraryOf(t) + " measured", From: Shipped, US: us, Registered: l.options.Registered, Reached: state, Evidence: nccl.Measured}, true
}

// catalogued reports whether a system is that of its name in the catalogue.
func catalogued(t *topologies.Topology) bool {
	own, err := topologies.Resolve(t.Name, topologies.Options{Nodes: t.Nodes})
	return err == nil && own.Hash() == t.Hash()
}

// sayScatter says of networks on which the library's measured times scatter far more than elsewhere
// that a file of one's own is worth more than the simulator.
func (l *Library) sayScatter(sizes []int64) {
	t := l.target.Topology
	slingshot := slices.ContainsFunc(t.Vertices, func(v topologies.Vertex) bool {
		return v.Kind == topologies.Fabric && strings.HasPrefix(v.Name, "slingshot")
	})
	middle := func(bytes int64) bool { return bytes >= 256<<10 && bytes <= 4<<20 }
	const advice = "give --baseline FILE with times of your own"
	switch {
	case !slingshot || l.options.Measured || l.options.Given:
	case t.Nodes >= 64:
		l.say("slingshot over 64 nodes and more: measured times of the library are 0.5 to 14 times those simulated here: " + advice)
	case slices.ContainsFunc(sizes, middle):
		l.say("slingshot, 256 KiB to 4 MiB: measured times of the library are a fifth to five times those simulated here: " + advice)
	}
}
