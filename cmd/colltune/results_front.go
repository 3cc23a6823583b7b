package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// setFront gives a table its front: the winners within each of table.Caps, and those of the table.
func setFront(ctx context.Context, t *table.Table, all []*results.Campaign, o tableOptions) error {
	whole := t
	for _, sms := range table.Caps {
		if o.sms > 0 && sms >= o.sms {
			break
		}
		within, err := tableOf(ctx, all, tableOptions{o.baseline, sms})
		if err != nil {
			return err
		}
		t.AddFront(sms, within)
	}
	t.AddFront(o.sms, whole)
	return nil
}

// writeFront writes the front of a table: for people, a line for each step of it, and else one for each
// number of SMs.
func writeFront(cmd *cobra.Command, w io.Writer, t *table.Table) error {
	format := flagValue(cmd, "format")
	if format == "json" {
		return t.Write(w, format, table.Look{})
	}
	s := sheet{columns: []column{number("size bytes"), number("max SMs"), number("SMs"), number("time us"), number("of all"), text("winner")}}
	several := func(of func(r *table.FrontRow) string) bool {
		return slices.ContainsFunc(t.Front, func(r table.FrontRow) bool { return of(&r) != of(&t.Front[0]) })
	}
	placement := func(r *table.FrontRow) string { return r.Placement }
	nodes := func(r *table.FrontRow) string { return strconv.Itoa(r.Nodes) }
	var more []func(r *table.FrontRow) string
	if several(placement) {
		s.columns, more = append(s.columns, text("placement")), append(more, placement)
	}
	if several(nodes) {
		s.columns, more = append(s.columns, number("nodes")), append(more, nodes)
	}
	size, us := func(n int64) string { return strconv.FormatInt(n, 10) }, func(us float64) string { return strconv.FormatFloat(us, 'g', -1, 64) }
	rows := t.Front
	if format != "csv" {
		size, us = func(n int64) string { return units.Bytes(n).String() }, func(us float64) string { return strconv.FormatFloat(us, 'f', 2, 64) }
		rows = table.Steps(t.Front)
		if len(rows) > 0 {
			s.notes = []string{fmt.Sprintf("%s on %s: time by the SMs of a GPU that a program may take, and as a multiple of that with all", rows[0].Collective, rows[0].Topology)}
		}
	}
	for i := range rows {
		r := &rows[i]
		cells := []string{size(r.Bytes), r.MaxText(), r.SMsText(), us(r.TimeUS), strconv.FormatFloat(r.OfAll, 'f', 2, 64), r.What()}
		for _, cell := range more {
			cells = append(cells, cell(r))
		}
		s.add(cells...)
	}
	return writeResult(cmd, w, "results", t, s)
}
