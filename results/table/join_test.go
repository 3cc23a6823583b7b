package table_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
)

// A map's table has the rows of each number of nodes, which the ranges name, too, and counts
// are sums.
func TestJoin(t *testing.T) {
	var tables []*table.Table
	for _, nodes := range []int{1, 4} {
		plan := resultstest.Plan()
		plan.Topology.Nodes = nodes
		c := resultstest.Create(t, plan)
		for _, n := range plan.Sizes[:3] {
			resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 0, true), "ring", "LL", 32768, n, float64(nodes)*float64(n)))
		}
		if err := c.SetTally(results.Tally{Finished: nodes == 1, Enumerated: 5, Tuned: nodes, Refused: map[string]int{"no-link": 2}}); err != nil {
			t.Fatal(err)
		}
		one, err := table.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		tables = append(tables, one)
	}
	all := table.Join(tables)
	if n := len(all.Rows); n != 6 || all.Rows[2].Nodes != 1 || all.Rows[3].Nodes != 4 {
		t.Errorf("%d rows: want 3 of 1 node, then 3 of 4", n)
	}
	if len(all.Ranges) != 2 || all.Ranges[1].Nodes != 4 || tables[1].Ranges[0].Nodes != 0 {
		t.Errorf("ranges %+v: want one for each number of nodes, which only a map's name", all.Ranges)
	}
	c, s := all.Candidates, all.Campaign
	if c.Enumerated != 10 || c.Tuned != 5 || c.Refused["no-link"] != 4 || s.Trials != 6 || s.Seconds != 1.5 || s.Finished {
		t.Errorf("%+v, %+v: want sums, and an unfinished search", c, s)
	}
	for format, want := range map[string]string{
		"table": "allreduce on ring:4, 1 to 4 nodes, 4 to 4 ranks, measured by fake", "json": `"nodes": 4,`, "csv": "allreduce,ring:4,4,4,1024,in,ring", "md": "| nodes | size |",
	} {
		var b bytes.Buffer
		if err := all.Write(&b, format, table.Look{}); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s, %v:\n%s\nwant %q", format, err, &b, want)
		}
		if format == "json" && !json.Valid(b.Bytes()) {
			t.Error("no JSON")
		}
	}
}
