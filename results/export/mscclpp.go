package export

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/internal/safe"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/table"
)

// exportPlans writes an execution plan for every range of sizes that one program
// serves with one protocol and tile. A plan is not the program that was measured:
// it is one-sided, and its tiles are the passes of a pipeline. So it is verified
// as a plan, and its times are those of the program that it was made from.
func exportPlans(c *results.Campaign, o Options, report *Report) error {
	e := &planExport{programs: programs{campaign: c}, plan: c.Plan(), node: o.Node, verdicts: map[fileKey]planVerdict{}}
	if why := e.lacks(); why != "" {
		return fmt.Errorf("%s: %w", why, ErrNothingFits)
	}
	choice, err := newChooser(c, o, mscclpp.Name, planReader{}, e.refuses)
	if err != nil {
		return err
	}
	served, err := choice.choose(report)
	if err != nil {
		return err
	}
	return e.write(o, served, report)
}

type planExport struct {
	programs
	plan     results.Plan
	node     func(rank int) int
	verdicts map[fileKey]planVerdict
}

// planVerdict is the reason for which there is no plan of a program, or the largest size
// of one.
type planVerdict struct {
	why  string
	most int64
}

// lacks returns the reason for which no plan can serve the campaign's calls; "" if one
// can.
func (e *planExport) lacks() string {
	if !mscclpp.Supports(e.plan.Collective) {
		return fmt.Sprintf("no plans of %s: they are written for %s", e.plan.Collective, mscclpp.Collectives())
	}
	op := operation(e.plan.Spec(e.plan.Topology.Ranks, 1, false), e.plan.Op)
	return planReader{}.Computes(op, e.plan.DType)
}

// refuses returns the reason for which no plan serves a configuration at that size; "" if
// one does.
func (e *planExport) refuses(m *table.Measured) (string, error) {
	if why := (planReader{}).Runs(m.Trial, 0); why != "" {
		return why, nil
	}
	of := planReader{}.fileKey(m.Trial)
	verdict, asked := e.verdicts[of]
	if !asked {
		plan, err := e.lower(m, "plan", 0, 0)
		var refused *notPlanned
		switch {
		case errors.As(err, &refused):
			verdict.why = refused.why
		case err != nil:
			return "", err
		default:
			verdict.most = int64(plan.MaxBytes)
		}
		e.verdicts[of] = verdict
	}
	if verdict.why == "" && m.Bytes > verdict.most {
		return fmt.Sprintf("the runtime counts the bytes of its buffers in 32 bits: up to %d of a call", verdict.most), nil
	}
	return verdict.why, nil
}

// notPlanned is the error of a program without a plan, or without one that the runtime
// would run.
type notPlanned struct{ why string }

func (e *notPlanned) Error() string { return e.why }

// lower makes a verified plan from a measured configuration.
func (e *planExport) lower(m *table.Measured, name string, least, most int64) (*mscclpp.Plan, error) {
	p, err := e.program(m.Program)
	if err != nil {
		return nil, err
	}
	plan, err := mscclpp.Lower(p, mscclpp.LowerOptions{
		Protocol: m.Protocol, Name: name, MinBytes: least, MaxBytes: most, TileBytes: planReader{}.fileKey(m.Trial).tile, Node: e.node,
	})
	if err != nil {
		return nil, &notPlanned{err.Error()}
	}
	if err := judge(mscclpp.Verify(plan, verify.Options{})); err != nil {
		return nil, fmt.Errorf("the plan of %s: %w", m.Title(), err)
	}
	return plan, nil
}

// judge returns nil for a verified plan that the runtime would run. A plan too large to
// be verified is a *notPlanned; a wrong one is a bug of colltune, and another error.
func judge(v *mscclpp.Verdict) error {
	if err := v.Report.Err(); err != nil {
		var limit string
		for _, f := range v.Report.Findings {
			switch {
			case f.Severity != verify.Error:
			case f.Kind != verify.Limit:
				return err
			case limit == "":
				limit = f.Message
			}
		}
		return &notPlanned{"its plan is too large to be verified: " + limit}
	}
	if !v.Accepts {
		return &notPlanned{strings.Join(v.Why, "; ")}
	}
	return nil
}

// write writes the files and completes the report.
func (e *planExport) write(o Options, served []servedRange, report *Report) error {
	f := newFolder(o.Out, e.plan, `\d+-.*\.plan\.json`)
	called := namesFor(e.plan)
	for i, s := range served {
		o.reach(Writing, i, len(served))
		name := called.next(&s) // the runtime tells plans apart by their names
		plan, err := e.lower(&s.Measured, name, s.min, s.max)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var text bytes.Buffer
		if err := mscclpp.Write(&text, plan, provenance(e.campaign, s.Evidence)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		f.add(name+".plan.json", text.Bytes())
		report.Files = append(report.Files, File{Name: name + ".plan.json", Placement: s.Placement, Algorithm: s.Algorithm, Protocol: s.Protocol,
			MinBytes: s.min, MaxBytes: int64(plan.MaxBytes), Granularity: planReader{}.granularity(s.Trial), TileBytes: s.TileBytes, IR: s.Program, Unchecked: s.Unchecked > 0})
	}
	left, err := f.write()
	if err != nil {
		return err
	}
	report.note(left...)
	if len(served) == 0 {
		return nil
	}
	report.note("a plan does what its program does, one-sided: the times are those of the program, and the runtime's own are to be measured there")
	report.Load = []string{
		"to load one, in Python, on every rank: plan = mscclpp.ExecutionPlan(FILE, rank), then mscclpp.Executor(communicator).execute(rank, send_buff, recv_buff, send_bytes, recv_bytes, dtype, plan, stream)",
		"a plan refuses sizes that are not in its range or no multiple of its granularity: choose by size before",
	}
	if try := e.try(o.Out, report.Files[0]); try != "" {
		report.Load = append(report.Load, "to try the first, in MSCCL++'s sources: "+try)
	}
	return nil
}

// tryTypes are the element types that MSCCL++'s own test program has, by NumPy's names.
var tryTypes = []string{"bf16", "f16", "f32", "i32"}

// try is a command that runs a plan with MSCCL++'s own test program; empty if that
// lacks the element type.
func (e *planExport) try(out string, f File) string {
	if !slices.Contains(tryTypes, e.plan.DType) {
		return ""
	}
	inPlace := ""
	if f.Placement == "in" {
		inPlace = " --in_place"
	}
	return fmt.Sprintf("mpirun -np %d python3 python/test/executor_test.py -path %s --size %d%s --dtype %s",
		e.plan.Topology.Ranks, safe.Path(filepath.Join(out, f.Name)), f.MinBytes, inPlace, collective.NumPy.OfDType(e.plan.DType))
}
