package trees

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/constraints"
	"github.com/colltune/colltune/topologies"
)

// gates draws nodes whose ways out are elsewhere than their ways in, so that the
// fabric seems to lead from some of a node's GPUs to others: no message goes there.
func gates(t *rapid.T) *topologies.Topology {
	nodes, gpus := rapid.IntRange(2, 3).Draw(t, "nodes"), rapid.IntRange(2, 4).Draw(t, "gpus")
	width := func(of string) string { return fmt.Sprintf("%d GB/s", rapid.IntRange(1, 4).Draw(t, of)*25) }
	some := func(of string) string {
		all := rapid.Permutation([]string{"0", "1", "2", "3"}[:gpus]).Draw(t, of)
		return strings.Join(all[:rapid.IntRange(1, gpus).Draw(t, "of "+of)], ", ")
	}
	var pairs []string
	for g := range gpus {
		pairs = append(pairs, fmt.Sprintf("[%d, %d]", g, (g+1)%gpus))
	}
	top, err := topologies.Read("gates.toml", fmt.Appendf(nil, `
name    = "gates"
nodes   = %d
runtime = "nccl"
arch    = "ampere"
[node]
gpus   = %d
sms    = 108
source = "made up"
[[node.link]]
pairs     = [%s]
one_way   = true
kind      = "nvlink"
bandwidth = "%s"
latency   = "0.5 us"
source    = "made up"
[[node.nic]]
sends     = [[%s]]
receives  = [[%s]]
bandwidth = "%s"
latency   = "0.7 us"
message   = "1 us"
source    = "made up"
[fabric]
latency = "1.3 us"
source  = "made up"
[protocol]
like   = "dgx-a100"
source = "made up"
`, nodes, gpus, strings.Join(pairs, ", "), width("link"), some("senders"), some("receivers"), width("nic")), topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// TestWaysThatNoMessageTakes packs trees where a packing of flows would leave a node and
// come back to it.
func TestWaysThatNoMessageTakes(t *testing.T) {
	packed, asked := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		top := gates(t)
		for _, name := range Collectives() {
			asked++
			p, err := Pack(context.Background(), top, Options{Collective: name})
			if err != nil {
				continue // of few trees, none may do without such a way
			}
			packed++
			if err := p.Check(top); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			program, err := p.Program(false)
			if name == "broadcast" || name == "reduce" {
				program, err = p.Program(true)
			}
			if err != nil {
				t.Fatal(err)
			}
			if refused := constraints.CheckRouting(program, top); len(refused) > 0 {
				t.Fatalf("%s: %v", name, refused[0])
			}
		}
	})
	t.Logf("%d of %d packed", packed, asked)
	if packed < asked/4 {
		t.Errorf("%d of %d packed: too few to mean much", packed, asked)
	}
}
