package main

import (
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/constraints/bounds"
	"github.com/colltune/colltune/topologies"
)

func topologyBoundsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bounds T -c COLLECTIVE",
		Short: "Print the best that any algorithm can reach on a system, with the proof",
		Long: `bounds prints the fewest steps and the highest algorithm bandwidth that any algorithm
for a collective can reach on a system. The bandwidth is an exact fraction, with its
proof: a cut, or lengths of links (docs/reference/bounds.md). For alltoall, alltonext and
sendrecv it also prints the bandwidth of a multicommodity flow: where the two are
equal, the bound is tight.

  colltune topology bounds dgx-a100 --nodes 2 -c allgather`,
		Args: exactArgs("the topology T"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := topology(cmd, args[0])
			if err != nil {
				return err
			}
			name, err := collectiveName(cmd)
			if err != nil {
				return err
			}
			counts, err := countsOf(cmd, name, len(t.Ranks))
			if err != nil {
				return err
			}
			root, _ := cmd.Flags().GetInt("root")
			c, err := collective.New(collective.Spec{Name: name, Ranks: len(t.Ranks), Chunks: 1, Root: root, Counts: counts})
			if err != nil {
				return usage(err)
			}
			b, err := bounds.Of(cmd.Context(), t, c)
			if err != nil {
				return err
			}
			return printBound(cmd, t, c, b)
		},
		ValidArgsFunction: firstArg(completeTopology),
	}
	topologyPartFlags(cmd)
	collectiveFlag(cmd)
	countsFlag(cmd)
	rootFlag(cmd)
	outputFlags(cmd)
	return cmd
}

// linkLength is a link and its length in the proof of a bound, in JSON.
type linkLength struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	GBps   float64 `json:"bandwidth_gbps"`
	Length int64   `json:"length"`
}

// lengthsOf returns the links with a length above 0.
func lengthsOf(t *topologies.Topology, b bounds.Bound) []linkLength {
	all := []linkLength{}
	for e, l := range b.Lengths {
		if l > 0 {
			edge := t.Edges[e]
			all = append(all, linkLength{vertexName(t, edge.From), vertexName(t, edge.To), edge.Bandwidth.GBps(), l})
		}
	}
	return all
}

// writeProof writes the sheet of a bound, and below it the lengths of its proof.
func writeProof(w io.Writer, l look, s sheet, lengths []linkLength) error {
	if err := s.writeTable(w, l); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	under := sheet{columns: []column{text("from"), text("to"), number("GB/s"), number("length")}}
	for _, l := range lengths {
		under.add(l.From, l.To, short(l.GBps), strconv.FormatInt(l.Length, 10))
	}
	return under.writeTable(w, look{wide: l.wide})
}

// printBound prints a bound in the format of -o.
func printBound(cmd *cobra.Command, t *topologies.Topology, c collective.Collective, b bounds.Bound) error {
	var algbw, busbw *float64
	printed := [2]string{"unlimited", "unlimited"}
	if b.AlgbwBps != nil {
		a, _ := b.AlgbwBps.Float64()
		a /= 1e9
		bus := a * c.BusFactor()
		algbw, busbw = &a, &bus
		printed = [2]string{fixed(a), fixed(bus)}
	}
	cut := b.Cut
	if cut == nil {
		cut = []int{}
	}
	s := sheet{columns: []column{text("topology").OnceAbove(), text("collective").OnceAbove(), number("ranks").OnceAbove(), number("steps"), number("latency us"), number("algbw GB/s"), number("busbw GB/s"), text("exact GB/s"), text("cut"), text("because")}}
	s.add(t.Name, c.Name, strconv.Itoa(c.Ranks), strconv.Itoa(b.LatencySteps), short(math.Round(b.LatencyUS*1e6)/1e6), printed[0], printed[1], b.Exact, ranges(cut), b.Proof)
	var composed *float64
	if b.Composed != nil {
		x, _ := b.Composed.Float64()
		x /= 1e9
		composed = &x
		s.columns = append(s.columns, number("composed GB/s"))
		s.rows[0] = append(s.rows[0], fixed(x))
	}
	var reached *float64
	if b.ReachedBps > 0 {
		x := math.Round(b.ReachedBps/1e3) / 1e6
		reached = &x
		s.columns = append(s.columns, number("reached GB/s"))
		s.rows[0] = append(s.rows[0], fixed(x))
	}
	lengths := lengthsOf(t, b)
	if len(lengths) > 0 && flagValue(cmd, "format") == "table" {
		return writeOut(cmd, func(w io.Writer) error { return writeProof(w, lookOf(cmd), s, lengths) })
	}
	return printResult(cmd, "bounds", struct {
		Topology   string       `json:"topology"`
		Collective string       `json:"collective"`
		Ranks      int          `json:"ranks"`
		Steps      int          `json:"latency_steps"`
		LatencyUS  float64      `json:"latency_us"`
		AlgBW      *float64     `json:"algbw_gbps"` // null: no data has to move
		BusBW      *float64     `json:"busbw_gbps"`
		Exact      string       `json:"exact"` // GB/s, as a fraction
		Cut        []int        `json:"cut"`
		Lengths    []linkLength `json:"lengths"`
		Proof      string       `json:"proof"`
		Composed   *float64     `json:"composed_gbps,omitempty"` // an allreduce as a reducescatter and an allgather
		Reached    *float64     `json:"reached_gbps,omitempty"`  // the bandwidth of a multicommodity flow; the bound is tight where they are equal
	}{t.Name, c.Name, c.Ranks, b.LatencySteps, b.LatencyUS, algbw, busbw, b.Exact, cut, lengths, b.Proof, composed, reached}, s)
}
