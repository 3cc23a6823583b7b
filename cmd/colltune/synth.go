package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/constraints/solver"
	"github.com/colltune/colltune/constraints/synth"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/topologies"
)

func synthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "synth -t TOPOLOGY -c COLLECTIVE --chunks C --steps S --rounds R",
		Short: "Find a new routing with a solver, or prove that there is none",
		Long: `synth searches for a routing of C chunks in S steps and R rounds in all; a round is
the time of one chunk on the slowest link. It prints whether there is such a routing,
and whether a bound or a solver decided; --out writes the routing as a program. With
--pareto it finds the frontier of steps (latency) against rounds per chunk
(bandwidth), and prints the proof status of each point.

  colltune synth -t dgx-1 -c allgather --chunks 6 --steps 3 --rounds 7 --out ag.json
  colltune synth -t dgx-1 -c allgather --pareto

--timeout limits each query, with its bounds and flows; a query that reaches it is
reported as not settled. The frontier takes many queries: --budget limits all of them
together, and the points found by then are printed.

Chunks are counted as in the literature: of a rank's input (allgather, gather,
alltoall), of a rank's output (reducescatter, scatter), of the buffer (the others);
of the vector forms, of a count of 1.`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error { return runSynth(cmd) },
	}
	topologyFlags(cmd)
	collectiveFlag(cmd)
	countsFlag(cmd)
	rootFlag(cmd)
	placementFlag(cmd, "in place or out of place", "in", "out")
	cmd.Flags().Int("chunks", 0, "chunks C; with --pareto, the most to try (default then: 6 a rank)")
	cmd.Flags().Int("steps", 0, "steps S; with --pareto, the most to try (default then: twice the least, plus 3)")
	cmd.Flags().Int("rounds", 0, "rounds R, of all steps together")
	cmd.Flags().Bool("pareto", false, "find the whole Pareto frontier of latency (S) against bandwidth (R/C)")
	cmd.Flags().String("unit", "", "the bandwidth `BW` that carries one chunk a round (default: that of the slowest link)")
	choiceFlag(cmd, "solver", "", "auto", solver.Names, "which solver decides queries that bounds do not")
	cmd.Flags().Duration("timeout", time.Minute, "time limit of a query, bounds included; with --pareto of each query (default with --budget: a twentieth of it)")
	cmd.Flags().Duration("budget", 0, "with --pareto, time limit of the whole walk (default: none)")
	cmd.Flags().String("dump", "", "write the query as a formula to `FILE`: .smt2 or .opb")
	choiceFlag(cmd, "format", "o", "table", formats, "how to print the result")
	columnFlags(cmd)
	cmd.Flags().String("out", "", "write the routing's program (IR) to `FILE`")
	return cmd
}

// queryTimeout returns the timeout of a query of a walk without --timeout: at most a
// twentieth of the budget (0: none), so that one hard query does not use it up.
func queryTimeout(timeout, budget time.Duration) time.Duration {
	if budget == 0 {
		return timeout
	}
	return min(timeout, budget/20)
}

// runSynth answers the query of the flags, or walks the frontier.
func runSynth(cmd *cobra.Command) error {
	q, err := synthQuery(cmd)
	if err != nil {
		return err
	}
	pareto, _ := cmd.Flags().GetBool("pareto")
	if path := flagValue(cmd, "dump"); path != "" && !pareto {
		if err := dumpQuery(path, q); err != nil {
			return err
		}
	}
	timeout, _ := cmd.Flags().GetDuration("timeout")
	if timeout <= 0 {
		return usagef("--timeout %v: want more than 0", timeout)
	}
	budget, _ := cmd.Flags().GetDuration("budget")
	switch {
	case !pareto && typed(cmd, "budget"):
		return usagef("--budget limits a walk: want --pareto too, or --timeout for one query")
	case pareto && cmd.Flags().Changed("budget") && budget <= 0:
		return usagef("--budget %v: want more than 0", budget)
	}
	if pareto && !cmd.Flags().Changed("timeout") {
		timeout = queryTimeout(timeout, budget)
	}
	s, err := solver.Open(solver.Options{Solver: flagValue(cmd, "solver"), MemoryCap: solverMemory(cmd), Timeout: timeout,
		Notice: func(s string) { fmt.Fprintln(cmd.ErrOrStderr(), s) }})
	if err != nil {
		return err
	}
	defer s.Close()
	if pareto {
		return synthFrontier(cmd, s, q)
	}
	return synthOne(cmd, s, q)
}

// synthQuery reads the query from the flags.
func synthQuery(cmd *cobra.Command) (q synth.Query, err error) {
	if q.Topology, err = topology(cmd); err != nil {
		return q, err
	}
	name, err := collectiveName(cmd)
	if err != nil {
		return q, err
	}
	counts, err := countsOf(cmd, name, len(q.Topology.Ranks))
	if err != nil {
		return q, err
	}
	if text := flagValue(cmd, "unit"); text != "" {
		if q.Unit, err = units.ParseBandwidth(text); err != nil || q.Unit <= 0 {
			return q, usagef("--unit %s: want a bandwidth such as 25 GB/s, above 0", text)
		}
	}
	pareto, _ := cmd.Flags().GetBool("pareto")
	chunks, _ := cmd.Flags().GetInt("chunks")
	q.Steps, _ = cmd.Flags().GetInt("steps")
	q.Rounds, _ = cmd.Flags().GetInt("rounds")
	n := len(q.Topology.Ranks)
	each := 1
	for _, f := range []string{"chunks", "steps", "rounds"} {
		set := cmd.Flags().Changed(f)
		if !set && !pareto {
			return q, usagef("--%s is missing: want all of --chunks, --steps and --rounds, or --pareto", f)
		}
		if v, _ := cmd.Flags().GetInt(f); set && v < 1 {
			return q, usagef("--%s %d: want 1 or more", f, v)
		}
	}
	switch {
	case !pareto:
		if each, err = synth.ChunksOf(name, n, chunks); err != nil {
			return q, usage(err)
		}
	case cmd.Flags().Changed("rounds"):
		return q, usagef("--rounds with --pareto: leave it out, the frontier finds the rounds")
	case cmd.Flags().Changed("dump") || cmd.Flags().Changed("out"):
		return q, usagef("--dump and --out are for one query: leave out --pareto")
	}
	root, _ := cmd.Flags().GetInt("root")
	q.Collective, err = collective.New(collective.Spec{Name: name, Ranks: n, Chunks: each, Root: root, InPlace: inPlaceOf(cmd, name), Counts: counts})
	return q, usage(err)
}

// dumpQuery writes a query's formula, in the format of the file's suffix.
func dumpQuery(path string, q synth.Query) error {
	f, err := synth.Encode(q)
	if err != nil {
		return usage(err)
	}
	var write func(io.Writer) error
	switch {
	case strings.HasSuffix(path, ".smt2"):
		write = f.WriteSMT2
	case strings.HasSuffix(path, ".opb"):
		write = f.WriteOPB
	default:
		return usagef("--dump %s: want a name that ends in .smt2 or .opb", path)
	}
	return writeFile(path, write)
}

// synthDocument is the answer to one query, in JSON.
type synthDocument struct {
	Topology   string      `json:"topology"`
	Collective string      `json:"collective"`
	Ranks      int         `json:"ranks"`
	Status     string      `json:"status"`
	By         string      `json:"by"`
	Detail     string      `json:"detail,omitempty"`
	Chunks     int         `json:"chunks"`
	Steps      int         `json:"steps"`
	Rounds     int         `json:"rounds"`
	UnitGBps   float64     `json:"unit_gbps"`
	Seconds    float64     `json:"seconds"`
	Schedule   []synthStep `json:"schedule,omitempty"`
}

// synthStep is one step of a schedule, in JSON.
type synthStep struct {
	Rounds int         `json:"rounds"`
	Sends  []synthSend `json:"sends"`
}

// synthSend is one send of a chunk. Source is the rank whose input the chunk is part of,
// -1 for the sum over all ranks; Chunk is its index there.
type synthSend struct {
	Source int  `json:"source"`
	Chunk  int  `json:"chunk"`
	From   int  `json:"from"`
	To     int  `json:"to"`
	Reduce bool `json:"reduce,omitempty"`
}

// stepsOf returns an answer's schedule for JSON.
func stepsOf(a synth.Answer) []synthStep {
	var all []synthStep
	for _, step := range a.Schedule {
		s := synthStep{Rounds: step.Rounds, Sends: []synthSend{}}
		for _, m := range step.Sends {
			it := a.Items[m.Item]
			s.Sends = append(s.Sends, synthSend{it.Source, it.Index, m.From, m.To, m.Reduce})
		}
		all = append(all, s)
	}
	return all
}

// synthOne answers one query, and writes the routing's program to --out.
func synthOne(cmd *cobra.Command, s *solver.Pool, q synth.Query) error {
	a, err := synth.Find(cmd.Context(), s, q)
	var bad *synth.QueryError
	if errors.As(err, &bad) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	chunks, _ := cmd.Flags().GetInt("chunks")
	if path := flagValue(cmd, "out"); path != "" && a.Status == solver.Sat {
		if err := synthProgram(path, q, a, chunks); err != nil {
			return err
		}
	}
	d := synthDocument{q.Topology.Name, q.Collective.Name, q.Collective.Ranks, a.Status.String(), a.By, a.Detail,
		chunks, q.Steps, q.Rounds, a.Unit.GBps(), a.Seconds, stepsOf(a)}
	t := sheet{columns: []column{text("topology"), text("collective"), number("chunks"), number("steps"), number("rounds"), number("unit GB/s"), text("status"), text("by"), number("seconds"), text("because")}}
	t.add(d.Topology, d.Collective, strconv.Itoa(chunks), strconv.Itoa(q.Steps), strconv.Itoa(q.Rounds), short(d.UnitGBps), d.Status, d.By, seconds(a.Seconds), d.Detail)
	if err := writeResult(cmd, cmd.OutOrStdout(), "synth", d, t); err != nil {
		return err
	}
	query := fmt.Sprintf("%s on %s with %s in %s of %s", d.Collective, d.Topology, units.Count(chunks, "chunk"), units.Count(q.Steps, "step"), units.Count(q.Rounds, "round"))
	switch a.Status {
	case solver.Unsat:
		because := ""
		if a.Detail != "" {
			because = ": " + a.Detail
		}
		return &nothingError{fmt.Errorf("%s: impossible, by %s%s", query, a.By, because)}
	case solver.Timeout:
		return &limitError{fmt.Errorf("%s: not settled: %s, %s", query, a.By, a.Detail)}
	}
	return nil
}

// synthProgram compiles a routing, verifies it and writes the IR.
func synthProgram(path string, q synth.Query, a synth.Answer, chunks int) error {
	p, err := compileRouting(q.Topology, q, a, chunks)
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error { return ir.Encode(w, p) })
}

// compileRouting compiles and verifies the routing of an answer.
func compileRouting(t *topologies.Topology, q synth.Query, a synth.Answer, chunks int) (*ir.Program, error) {
	program, err := synth.Program(q, a, "synthesised")
	if err != nil {
		return nil, &wrongError{err}
	}
	r, err := compiler.Compile(program, compiler.Options{})
	if err != nil {
		return nil, &wrongError{err}
	}
	if err := verify.Check(r.Program, verify.Options{Linked: t.Linked}).Err(); err != nil {
		return nil, &wrongError{err}
	}
	r.Program.Comment = fmt.Sprintf("%s on %s synthesised by=%s chunks=%d steps=%d rounds=%d unit=%v", q.Collective.Name, t.Name, a.By, chunks, q.Steps, q.Rounds, a.Unit)
	return r.Program, nil
}

// synthPoint is a point of the frontier, in JSON. Refuted are queries with
// fewer rounds per chunk for which no routing was found.
type synthPoint struct {
	Chunks   int            `json:"chunks"`
	Steps    int            `json:"steps"`
	Rounds   int            `json:"rounds"`
	Status   string         `json:"status"`
	By       string         `json:"by"`
	Seconds  float64        `json:"seconds"`
	Optimal  bool           `json:"bandwidth_optimal"`
	Proved   bool           `json:"proved"`
	Proof    string         `json:"proof"`
	Refuted  []synthRefuted `json:"refuted"`
	Schedule []synthStep    `json:"schedule"`
}

// synthRefuted is a query without a routing, in JSON.
type synthRefuted struct {
	Chunks  int     `json:"chunks"`
	Steps   int     `json:"steps"`
	Rounds  int     `json:"rounds"`
	Status  string  `json:"status"`
	By      string  `json:"by"`
	Seconds float64 `json:"seconds"`
	Detail  string  `json:"detail,omitempty"`
}

// synthFrontier walks the frontier and prints its points.
func synthFrontier(cmd *cobra.Command, s *solver.Pool, q synth.Query) error {
	w := synth.FrontierOptions{Steps: q.Steps}
	w.Chunks, _ = cmd.Flags().GetInt("chunks")
	answers, open := 0, 0
	w.OnAnswer = func(chunks, steps, rounds int, a synth.Answer) {
		if answers++; a.Status == solver.Timeout {
			open++
		}
		if verbose(cmd) {
			fmt.Fprintf(cmd.ErrOrStderr(), "(%d,%d,%d) %v by %s in %s s\n", chunks, steps, rounds, a.Status, a.By, seconds(a.Seconds))
		}
	}
	ctx, cancel := cmd.Context(), context.CancelFunc(func() {})
	spent := (*autotune.LimitError)(nil)
	budget, _ := cmd.Flags().GetDuration("budget")
	if budget > 0 {
		ctx, cancel = context.WithTimeout(ctx, budget)
	}
	defer cancel()
	points, least, err := synth.Frontier(ctx, s, q, w)
	if open > 0 {
		longer := "--timeout"
		if budget > 0 {
			longer = "--budget"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d queries were not settled within %v each: a longer %s may find or prove more\n", open, answers, s.Timeout(), longer)
	}
	var bad *synth.QueryError
	var none *synth.TooFewStepsError
	switch {
	case errors.As(err, &bad):
		return usage(err)
	case errors.As(err, &none):
		return &nothingError{err}
	case errors.Is(err, context.DeadlineExceeded):
		spent, err = &autotune.LimitError{Limit: "budget", Value: budget.String()}, nil
	case err != nil && !errors.Is(err, context.Canceled):
		return err
	}
	d := struct {
		Topology   string       `json:"topology"`
		Collective string       `json:"collective"`
		Ranks      int          `json:"ranks"`
		UnitGBps   float64      `json:"unit_gbps"`
		Bound      string       `json:"rounds_per_chunk_bound"`
		Points     []synthPoint `json:"points"`
		Finished   bool         `json:"finished"` // the budget sufficed
	}{Topology: q.Topology.Name, Collective: q.Collective.Name, Ranks: q.Collective.Ranks, Bound: least.RatString(), Points: []synthPoint{}, Finished: spent == nil && err == nil}
	t := sheet{columns: []column{number("chunks"), number("steps"), number("rounds"), number("rounds/chunk"), text("by"), number("seconds"), text("proof")}}
	for _, p := range points {
		d.UnitGBps = p.Unit.GBps()
		sp := synthPoint{p.Chunks, p.Steps, p.Rounds, p.Status.String(), p.By, p.Seconds, p.Optimal, p.Proved, p.Proof, []synthRefuted{}, stepsOf(p.Answer)}
		for _, r := range p.Refuted {
			sp.Refuted = append(sp.Refuted, synthRefuted{r.Chunks, r.Steps, r.Rounds, r.Status.String(), r.By, r.Seconds, r.Detail})
		}
		d.Points = append(d.Points, sp)
		t.add(strconv.Itoa(p.Chunks), strconv.Itoa(p.Steps), strconv.Itoa(p.Rounds), big.NewRat(int64(p.Rounds), int64(p.Chunks)).RatString(), p.By, seconds(p.Seconds), p.Proof)
	}
	if out := writeResult(cmd, cmd.OutOrStdout(), "synth", d, t); out != nil || err != nil {
		return errors.Join(out, err)
	}
	switch {
	case len(points) == 0 && spent != nil:
		return &limitError{fmt.Errorf("%s on %s: no routing found: %s", d.Collective, d.Topology, spent.Spent())}
	case len(points) == 0:
		return &limitError{fmt.Errorf("%s on %s: no routing found within the limits", d.Collective, d.Topology)}
	case spent != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s; there may be more points\n", spent.Spent())
	}
	return nil
}
