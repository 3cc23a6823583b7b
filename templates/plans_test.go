package templates

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// TestPlans writes every family as execution plans for MSCCL++, over one node and
// over several, and holds each to the verifier of plans, which executes it and
// shares nothing with what wrote it.
func TestPlans(t *testing.T) {
	machines := map[string]script.Machine{
		"one node of 4":  {Nodes: 1, GPUsPerNode: []int{4}},
		"2 nodes of 4":   {Nodes: 2, GPUsPerNode: []int{4, 4}},
		"3 nodes of 2":   {Nodes: 3, GPUsPerNode: []int{2, 2, 2}},
		"one node of 8":  {Nodes: 1, GPUsPerNode: []int{8}},
		"one node of 16": {Nodes: 1, GPUsPerNode: []int{16}},
	}
	for _, f := range Builtin() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for name, m := range machines {
				if m.Ranks() > 6 && !everything() {
					continue
				}
				for _, coll := range []string{"allgather", "allreduce", "alltoall", "reducescatter"} {
					if !slices.Contains(f.Collectives, coll) {
						continue
					}
					for _, q := range requests(coll, m) {
						grid, err := f.GridFor(m, q, nil, 1)
						if err != nil {
							t.Fatal(err)
						}
						for i, p := range grid {
							if i > 0 && i < len(grid)-1 && !everything() {
								continue
							}
							writePlans(t, fmt.Sprintf("%s, %s %v %v", name, coll, q.InPlace, p), f, m, q, p)
						}
					}
				}
			}
		})
	}
}

func writePlans(t *testing.T, name string, f *Family, m script.Machine, q script.Request, params script.Params) {
	t.Helper()
	program, err := f.Trace(m, q, params)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile(program, compiler.Options{MaxChannels: 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	node := func(rank int) int {
		n := 0
		for rank >= m.GPUsPerNode[n] {
			rank -= m.GPUsPerNode[n]
			n++
		}
		return n
	}
	for _, o := range []mscclpp.LowerOptions{
		{Protocol: "Simple", Node: node},
		{Protocol: "Simple", Node: node, TileBytes: 1 << 16},
		{Protocol: "LL", Node: node},
	} {
		o.Name = "plan"
		plan, err := mscclpp.Lower(compiled.Program, o)
		if err != nil {
			t.Fatalf("%s %+v: %v", name, o, err)
		}
		var text bytes.Buffer
		if err := mscclpp.Write(&text, plan, []string{"a comment"}); err != nil {
			t.Fatal(err)
		}
		read, err := mscclpp.Read(bytes.NewReader(text.Bytes()))
		if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, text.String())
		}
		v := mscclpp.Verify(read, verify.Options{})
		if !v.OK() || !v.Accepts || len(v.Report.Findings) > 0 {
			t.Errorf("%s, %s, tile %d: %v %v %v", name, o.Protocol, o.TileBytes, v.Report.Err(), v.Why, v.Report.Findings)
			if strings.Contains(name, "one node of 4") {
				t.Log(text.String())
				t.FailNow()
			}
		}
	}
}
