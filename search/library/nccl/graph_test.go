package nccl_test

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest/reported"
)

// TestGraphsOfNCCL holds graphs to what NCCL 2.31.2's own search finds on the same systems. Rows that
// end in a column more differ, as that says: docs/reference/nccl-graphs.md has why.
func TestGraphsOfNCCL(t *testing.T) {
	f, err := os.Open("testdata/graphs.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		row := strings.Split(lines.Text(), "\t")
		if strings.HasPrefix(row[0], "#") {
			continue
		}
		rows++
		o := topologies.Options{}
		if o.Nodes, err = strconv.Atoi(row[2]); err != nil {
			t.Fatal(err)
		}
		for _, g := range strings.Split(strings.Trim(row[1], "-"), ",") {
			if gpu, err := strconv.Atoi(g); err == nil {
				o.GPUs = append(o.GPUs, gpu)
			}
		}
		if strings.Contains(row[0], ":") {
			o.Nodes = 0
		}
		name := strings.Join(row[:3], " ")
		top := reported.Resolve(t, row[0], o)
		for i := range top.Edges {
			if e := &top.Edges[i]; e.Kind == topologies.Net {
				e.Counted = 0 // NCCL was given the rates that NICs reach
			}
		}
		c := nccl.NewSystem(top, nil, nil).Communicator()
		want := strings.Join(row[3:6], " ")
		if len(row) > 6 {
			if row[6] == want {
				t.Errorf("%s: %s is what NCCL has, and marked as another", name, want)
			}
			want = row[6]
		}
		if got := graphOf(c); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if rows < 70 {
		t.Errorf("%d rows", rows)
	}
}

// graphOf is a graph in the words of testdata/graphs.tsv: rings, trees and heads of NVLS, with the
// GB/s of each inside a node and, of the latter two, between nodes.
func graphOf(c *nccl.Communicator) string {
	plain, heads := "", "-"
	if c.PlainTree {
		plain = " plain"
	}
	tree := fmt.Sprintf("%dx%g", c.Tree.Channels, c.Tree.Intra)
	if c.Nodes > 1 {
		tree += fmt.Sprintf("/%g", c.Tree.Inter)
	}
	if c.Switched && c.OldestGPU >= 90 {
		heads = fmt.Sprintf("%dx%g/%g", c.NVLS.Channels, c.NVLS.Intra, c.NVLS.Inter)
	}
	return fmt.Sprintf("%dx%g %s%s %s", c.Ring.Channels, c.Ring.Intra, tree, plain, heads)
}
