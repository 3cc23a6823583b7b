package nccl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/executor/nccl/debuglog"
	"github.com/colltune/colltune/executor/nccl/nccltests"
	"github.com/colltune/colltune/internal/lazyregexp"
)

// launched is the executor that runs nccl-tests, on all hosts that its launcher
// reaches.
type launched struct {
	settings
	known     *facts           // nil before the first Describe
	confirmed map[string]error // by setting: nil if the log confirmed it
	swept     map[string][]nccltests.Row
	repeat    string // the option that repeats a size; "": -N
}

// withMargin shortens the time that ctx has left by a tenth, by 5 s at most.
func withMargin(ctx context.Context) (context.Context, context.CancelFunc) {
	end, limited := ctx.Deadline()
	if !limited {
		return context.WithCancel(ctx)
	}
	const most = 5 * time.Second
	return context.WithDeadline(ctx, end.Add(-min(time.Until(end)/10, most)))
}

// wrongResults matches the end of the tests' output if results were wrong. Their exit
// status is not 0 then, either.
var wrongResults = lazyregexp.New(`Out of bounds values : \d+ FAILED`)

// launch runs a test program on all its ranks and returns its output. Wrong results are no
// error: the table has them.
func (l *launched) launch(ctx context.Context, env []string, program string, args ...string) (string, error) {
	output, err := launch(ctx, l.launcher, env, program, args...)
	if err != nil && ctx.Err() == nil && wrongResults().MatchString(output) {
		err = nil
	}
	return output, err
}

// arguments returns a test program's arguments for a trial. If timed, they cover the whole
// sweep that the trial's size belongs to, repeated as the settings say.
func (l *launched) arguments(t *executor.Trial, coll string, timed bool) []string {
	least, most, factor := t.Bytes, t.Bytes, int64(2)
	if timed && l.sweeps(t) {
		least, most, factor = l.sweep.least, l.sweep.most, l.sweep.factor
	}
	args := []string{
		"-b", strconv.FormatInt(least, 10), "-e", strconv.FormatInt(most, 10), "-f", strconv.FormatInt(factor, 10),
		"-g", strconv.Itoa(l.gpus), "-n", strconv.Itoa(max(t.Iters, 1)), "-w", strconv.Itoa(t.Warmup), "-c", "1",
		"-d", collective.NCCLTests.OfDType(t.DType),
	}
	c, err := collective.New(collective.Spec{Name: coll, Ranks: 2, Chunks: 1})
	if err == nil && c.Reduces() {
		args = append(args, "-o", t.Op)
	}
	if err == nil && c.Rooted() {
		args = append(args, "-r", strconv.Itoa(t.Collective.Root))
	}
	if l.registers(t) {
		args = append(args, "-R", "2")
	}
	if timed {
		args = append(args, l.repeatOption()...)
	}
	return args
}

// registers reports whether a trial's buffers are registered as windows. Where they are, the
// library runs symmetric kernels whatever NCCL_ALGO says.
func (l *launched) registers(t *executor.Trial) bool {
	return l.symmetric && t.Native != nil && (t.Native.Algorithm == symmetric || t.Native.Algorithm == libraryChoice)
}

// repeatOption returns the option that measures each size l.cycles times.
func (l *launched) repeatOption() []string {
	if l.cycles == 1 {
		return nil
	}
	return []string{cmp.Or(l.repeat, "-N"), strconv.Itoa(l.cycles)}
}

// sweeps reports whether a trial's size is measured together with others.
func (l *launched) sweeps(t *executor.Trial) bool { return l.sweep != nil && l.sweep.has(t.Bytes) }

// Run measures one trial.
func (l *launched) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	if l.known == nil {
		if _, err := l.Describe(ctx); err != nil {
			return executor.Measurement{}, err
		}
	}
	if t.Program != nil {
		t.Collective = t.Program.Collective
	}
	c, err := collective.New(t.Collective)
	if err != nil {
		return executor.Measurement{}, err
	}
	program := nccltests.Program(c.Name)
	switch {
	case program == "":
		return executor.Measurement{}, unsupported("nccl-tests measures no %s", c.Name)
	case c.Ranks != l.known.ranks:
		return executor.Measurement{}, unsupported("%d ranks: the launcher starts %d", c.Ranks, l.known.ranks)
	case !slices.Contains(data.Operations(), t.Op):
		return executor.Measurement{}, unsupported("operation %q: want one of %s", t.Op, strings.Join(data.Operations(), ", "))
	case collective.NCCLTests.OfDType(t.DType) == "":
		return executor.Measurement{}, unsupported("nccl-tests has no dtype %s", t.DType)
	}
	var s selection
	if t.Program != nil {
		s, err = l.selectProgram(&t)
	} else {
		s, err = l.selectNative(&t)
	}
	if err != nil {
		return executor.Measurement{}, err
	}
	defer s.drop()
	if err := l.confirm(ctx, &t, c.Name, &s); err != nil {
		return executor.Measurement{}, err
	}
	return l.measure(ctx, &t, c, &s)
}

// unsupported returns an error that wraps executor.ErrUnsupported.
func unsupported(format string, args ...any) error {
	return executor.Unsupported(fmt.Errorf(format, args...))
}

// selection makes the library run the trial's algorithm or program.
type selection struct {
	key   string // identifies it, without the size
	env   []string
	check func(*debuglog.Log) error // an error if the log does not confirm it; nil: nothing to confirm
	note  string
	drop  func() // to be called after the trial
}

// selectNative selects one of the library's own algorithms.
func (l *launched) selectNative(t *executor.Trial) (selection, error) {
	env, err := environment(t.Native, t.Protocol)
	if err != nil {
		return selection{}, unsupported("%s", err)
	}
	h := selection{key: t.Native.String() + " " + t.Protocol.String(), env: env, drop: func() {}}
	if t.Native.Algorithm == libraryChoice {
		h.key = libraryChoice
		return h, nil // the library chooses, and anything is right
	}
	c := confirmation{tells: l.known.tells, trusted: l.trusted}
	h.check = func(log *debuglog.Log) error { return c.native(t, log, variableNames(env)) }
	if !l.known.tells {
		h.note = unconfirmedNote
	}
	return h, nil
}

// confirm checks once for each selection that the library's log confirms it. That takes a
// launch of its own, because the log slows down short calls and breaks into the table.
func (l *launched) confirm(ctx context.Context, t *executor.Trial, coll string, h *selection) error {
	if h.check == nil {
		return nil
	}
	key := fmt.Sprintf("%s %s %s %s %d", h.key, coll, t.DType, t.Op, t.Collective.Root)
	if err, known := l.confirmed[key]; known {
		return err
	}
	once := *t
	once.Iters, once.Warmup = 1, 0
	output, err := l.launch(ctx, append(slices.Clone(debugEnvironment), h.env...), l.program(nccltests.Program(coll)), l.arguments(&once, coll, false)...)
	if ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	log := debuglog.Read(output)
	switch {
	case lacksAlgorithm(output):
		err = unsupported("%s: the library has no such algorithm and protocol here", h.key)
	case err != nil:
		// Not remembered, because it may work next time.
		return fmt.Errorf("%s: %w%s", h.key, err, tail(output))
	default:
		if why := h.check(log); why != nil {
			err = unsupported("%s had no effect: %s", h.key, why)
		}
	}
	l.confirmed[key] = err
	return err
}

// measure times a trial, or returns its time from an earlier sweep.
func (l *launched) measure(ctx context.Context, t *executor.Trial, c collective.Collective, h *selection) (executor.Measurement, error) {
	key := fmt.Sprintf("%s %s %s %s %d %d %d", h.key, c.Name, t.DType, t.Op, t.Collective.Root, t.Iters, t.Warmup)
	rows := l.swept[key]
	if !slices.ContainsFunc(rows, func(r nccltests.Row) bool { return r.Bytes == t.Bytes }) {
		program := l.program(nccltests.Program(c.Name))
		output, failed := l.launch(ctx, h.env, program, l.arguments(t, c.Name, true)...)
		if ctx.Err() != nil {
			return executor.Measurement{}, cmp.Or(failed, ctx.Err())
		}
		report, err := nccltests.Parse(program, []byte(output))
		if err == nil && len(report.Tables) == 1 {
			rows = report.Tables[0].Rows
		}
		has := slices.ContainsFunc(rows, func(r nccltests.Row) bool { return r.Bytes == t.Bytes })
		switch {
		case failed != nil && !(l.sweeps(t) && has): // sizes that a sweep measured before it failed count
			return executor.Measurement{}, fmt.Errorf("%w%s", failed, tail(output))
		case err != nil:
			return executor.Measurement{}, fmt.Errorf("%w%s", err, tail(output))
		case len(report.Tables) != 1:
			return executor.Measurement{}, fmt.Errorf("%d tables from one launch", len(report.Tables))
		case report.Tables[0].Ranks != l.known.ranks:
			return executor.Measurement{}, fmt.Errorf("measured on %d ranks, where %d were found before", report.Tables[0].Ranks, l.known.ranks)
		}
	}
	var mine, others []nccltests.Row
	for _, r := range rows {
		if r.Bytes == t.Bytes {
			mine = append(mine, r)
		} else {
			others = append(others, r)
		}
	}
	if l.sweeps(t) {
		l.swept[key] = others // each is used once, so that a repetition is measured again
	}
	if len(mine) == 0 {
		return executor.Measurement{}, unsupported("nccl-tests measures %s bytes instead of %d", sizes(others), t.Bytes)
	}
	return measurement(mine, t, h.note)
}

// measurement makes one measurement of a size's rows, for the trial's placement.
func measurement(rows []nccltests.Row, t *executor.Trial, note string) (executor.Measurement, error) {
	m := executor.Measurement{Note: note, Checked: true}
	placement := "out"
	if t.Collective.InPlace {
		placement = "in"
	}
	for _, r := range rows {
		if r.DType() != t.DType {
			return m, fmt.Errorf("nccl-tests measured %s elements, not %s", r.Type, t.DType)
		}
		at := r.Timing(placement)
		if at == nil {
			return m, unsupported("nccl-tests does not measure it %s", map[string]string{"in": "in place", "out": "out of place"}[placement])
		}
		if len(at.EachUS) > 0 {
			m.TimesUS = append(m.TimesUS, at.EachUS...)
		} else {
			m.TimesUS = append(m.TimesUS, at.TimeUS)
		}
		m.Wrong += at.Wrong
		m.Checked = m.Checked && at.Checked
	}
	return m, nil
}

// sizes lists the first three of the rows' sizes.
func sizes(rows []nccltests.Row) string {
	var all []string
	for _, r := range rows {
		if s := strconv.FormatInt(r.Bytes, 10); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) > 3 {
		all = append(all[:3], "…")
	}
	if len(all) == 0 {
		return "no"
	}
	return strings.Join(all, ", ")
}
