package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
)

// explainFlags adds --explain and --trace.
func explainFlags(cmd *cobra.Command) {
	cmd.Flags().Bool("explain", false, "say where the simulated time goes, what is in use, and what would help most")
	cmd.Flags().String("trace", "", "write what every simulated threadblock and link does to `FILE`, for Perfetto or chrome://tracing; of one size")
}

// explainOptions are the values of explainFlags.
type explainOptions struct {
	on      bool
	trace   string        // file; empty: none
	timeout time.Duration // of an explanation, or a trace
}

// explainOptionsOf reads the flags of explainFlags. It refuses them with an executor that is
// not the simulator, and a trace that could not be written.
func explainOptionsOf(cmd *cobra.Command) (o explainOptions, err error) {
	o.on, _ = cmd.Flags().GetBool("explain")
	o.trace = flagValue(cmd, "trace")
	if o.timeout, _ = cmd.Flags().GetDuration("timeout"); o.timeout == 0 {
		o.timeout = executor.DefaultTrialTimeout
	}
	name := flagValue(cmd, "executor")
	if !executor.IsModel(name) && (o.on || o.trace != "") {
		flag := "trace"
		if o.on {
			flag = "explain"
		}
		return o, usagef("--%s: only the simulator knows where time goes, and the executor is %s: want --executor sim", flag, name)
	}
	if o.trace == "" && isSet(cmd, "trace") {
		return o, usagef("--trace: want the name of a file")
	}
	if o.trace != "" {
		return o, checkOutputFile("trace", o.trace)
	}
	return o, nil
}

// explanation is why a size takes its time, in JSON.
type explanation struct {
	Causes    []causeOf         `json:"causes"` // of the critical path; they sum to time_us
	Path      pathOf            `json:"path"`
	Resources []sim.Utilisation `json:"resources"`
	Changes   []sim.Change      `json:"changes"` // the most helpful first
	Tiles     tilesOf           `json:"tiles"`
}

type causeOf struct {
	Cause  string  `json:"cause"`
	TimeUS float64 `json:"time_us"`
	Share  float64 `json:"share"`
}

type pathOf struct {
	Messages    int64 `json:"messages"`
	Rank        int   `json:"rank"` // where it ends
	Threadblock int   `json:"threadblock"`
}

type tilesOf struct {
	Total     int    `json:"total"`
	Simulated int    `json:"simulated"`
	Method    string `json:"method"`
}

// explainRows adds its explanation to each row.
func (r *runRequest) explainRows(ctx context.Context, timeout time.Duration, rows []runRow) error {
	for i := range rows {
		t := r.trial
		t.Bytes = rows[i].Bytes
		err := within(ctx, timeout, func(ctx context.Context) error {
			x, err := sim.Explain(ctx, t)
			if err != nil {
				return err
			}
			changes, err := sim.Changes(ctx, t)
			rows[i].Explanation = newExplanation(x, changes)
			return err
		})
		if err != nil {
			return fmt.Errorf("explaining %d bytes: %w", t.Bytes, err)
		}
	}
	return nil
}

// within calls f with the time that a trial may take. The error wraps executor.ErrTimeout
// where that was not enough.
func within(ctx context.Context, timeout time.Duration, f func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := f(limited)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("not done after %s: %w", timeout, executor.ErrTimeout)
	}
	return err
}

// checkOneSize refuses a trace of several sizes.
func (r *runRequest) checkOneSize() error {
	if n := len(r.sizes); n > 1 {
		return usagef("--trace: shows one size, and there are %d: want -b and -e the same, as -b 1M -e 1M", n)
	}
	return nil
}

// writeTrace writes the trace of the only size, and returns a note on what it shows.
func (r *runRequest) writeTrace(ctx context.Context, timeout time.Duration, path string) (note string, err error) {
	t := r.trial
	t.Bytes = r.sizes[0]
	var says sim.Traced
	err = writeFile(path, func(w io.Writer) error {
		return within(ctx, timeout, func(ctx context.Context) (err error) {
			says, err = sim.Trace(ctx, t, w)
			return err
		})
	})
	if err != nil {
		return "", fmt.Errorf("--trace: %w", err)
	}
	note = fmt.Sprintf("trace of %s in %s", units.Count(says.Events, "event"), path)
	switch {
	case says.UntilUS > 0:
		note += fmt.Sprintf(": cut at %s of %s us, as there are more than fit", fixed(says.UntilUS), fixed(says.TimeUS))
	case says.Method != sim.Whole:
		note += fmt.Sprintf(": of the first of %d tiles, as the others go alike and were not simulated", says.Tiles)
	}
	return note, nil
}

func newExplanation(x *sim.Explanation, changes []sim.Change) *explanation {
	e := &explanation{
		Path: pathOf{x.Messages, x.Rank, x.TB}, Resources: x.Resources, Changes: changes,
		Tiles: tilesOf{x.Tiles, x.Simulated, x.Method.String()},
	}
	for _, p := range x.Causes {
		c := causeOf{Cause: p.Cause.String(), TimeUS: p.TimeUS}
		if x.TimeUS > 0 {
			c.Share = p.TimeUS / x.TimeUS
		}
		e.Causes = append(e.Causes, c)
	}
	return e
}

// causeTexts name the causes in tables.
var causeTexts = map[string]string{
	"launch":      "launch",
	"latency":     "latency",
	"link":        "links",
	"memory":      "memories",
	"threadblock": "threadblocks' own rate",
	"slots":       "waiting for slots",
	"dependency":  "dependencies",
}

// leastGain is the gain below which a change is not worth naming.
const leastGain = 1.005

// writeExplanation writes the explanation of a row below the table.
func writeExplanation(w io.Writer, row *runRow) error {
	e := row.Explanation
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s bytes, %s us: the critical path ends at rank %d threadblock %d, after %s\n\n", units.Bytes(row.Bytes), fixed(row.TimeUS), e.Path.Rank, e.Path.Threadblock, units.Count(int(e.Path.Messages), "message"))
	causes := sheet{columns: []column{text("time goes to"), number("us"), number("%")}}
	for _, c := range e.Causes {
		causes.add(causeTexts[c.Cause], fixed(c.TimeUS), percentText(c.Share))
	}
	if err := causes.writeTable(&b, look{}); err != nil {
		return err
	}
	b.WriteString("\n")
	uses := sheet{columns: []column{text("in use"), number("count"), number("used"), number("mean %"), number("most %"), text("busiest")}}
	for _, u := range e.Resources {
		most, names := "", []string{}
		for i, x := range u.Most {
			if i == 0 {
				most = percentText(x.Of)
			}
			names = append(names, x.Name)
		}
		uses.add(u.Resource, strconv.Itoa(u.N), strconv.Itoa(u.Used), percentText(u.Mean), most, strings.Join(names, ", "))
	}
	if err := uses.writeTable(&b, look{}); err != nil {
		return err
	}
	if len(e.Changes) > 0 && e.Changes[0].Gain >= leastGain {
		c := e.Changes[0]
		fmt.Fprintf(&b, "\nwould help most: %s: %s us, %s times as fast\n", c.What, fixed(c.TimeUS), fixed(c.Gain))
	} else {
		b.WriteString("\nno single constant of the system, halved or doubled, would help\n")
	}
	switch t := e.Tiles; t.Method {
	case sim.Periodic.String():
		fmt.Fprintf(&b, "%d of %d tiles simulated: the others are taken to go as the last of these\n", t.Simulated, t.Total)
	case sim.Linear.String():
		fmt.Fprintf(&b, "%d tiles: most are taken to go as the last of those that were simulated\n", t.Total)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func percentText(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) }

// explain adds the rows' explanations to the sheet: below the table, and as columns of the
// other formats.
func (s *sheet) explain(rows []runRow) {
	plain := *s
	plain.rows = slices.Clone(s.rows)
	s.instead = func(w io.Writer, l look) error {
		if l.names != nil {
			return s.writeRows(w, l)
		}
		if err := plain.writeTable(w, l); err != nil {
			return err
		}
		for i := range rows {
			if err := writeExplanation(w, &rows[i]); err != nil {
				return err
			}
		}
		return nil
	}
	causes := rows[0].Explanation.Causes
	for _, c := range causes {
		s.columns = append(s.columns, number(causeTexts[c.Cause]+" us").As(c.Cause+"_us"))
	}
	s.columns = append(s.columns, text("helps most"), number("gain"))
	for i := range rows {
		e := rows[i].Explanation
		for _, c := range e.Causes {
			s.rows[i] = append(s.rows[i], fixed(c.TimeUS))
		}
		s.rows[i] = append(s.rows[i], e.Changes[0].What, fixed(e.Changes[0].Gain))
	}
}
