package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// part is what a search made of its programs for one placement, as a campaign
// keeps it, so that continuing the search need not enumerate, compile and verify
// them again.
type part struct {
	Enumerated int         `json:"enumerated"`
	Candidates []kept      `json:"candidates"`
	Refusals   []Refusal   `json:"refusals"`
	Baselines  []keptPoint `json:"baselines"`
	Notices    []string    `json:"notices"`
}

// memory is what an earlier run of the same search made: its parts by placement,
// and their programs by hash.
type memory struct {
	parts    []part
	programs map[string]*ir.Program
}

// kept is a candidate without its program, which is stored beside it, and without
// its bound, which is computed again.
type kept struct {
	Algorithm  string           `json:"algorithm"`
	Source     string           `json:"source"`
	Parameters map[string]any   `json:"parameters"`
	Channels   int              `json:"channels"`
	Instances  int              `json:"instances"`
	Program    string           `json:"ir"`
	Slots      int              `json:"slots"`
	Baseline   []autotune.Point `json:"baseline,omitempty"`
	Reference  bool             `json:"reference,omitempty"`
}

// keptPoint is a Baseline in a file.
type keptPoint struct {
	Bytes    int64            `json:"bytes"`
	InPlace  bool             `json:"in_place"`
	Name     string           `json:"name"`
	Protocol topologies.Proto `json:"protocol"`
	Program  string           `json:"ir"`
}

// memoryKey identifies everything that a search's programs depend on: its plan,
// what the back end decides by itself, how long solvers had, and this very build.
func memoryKey(plan results.Plan, o *Options, coll string) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	fmt.Fprintf(h, "%s %v %v %v %v %d", plan.Hash(), o.Timeout, o.known().NativeOnly, o.chooses(coll), o.Baseline != nil, o.Memory)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// recall reads what an earlier run of the same search made of its programs. It
// returns nil if there is nothing, or nothing usable.
func recall(ctx context.Context, c *results.Campaign, key string, p *Problem, o *Options) *memory {
	var m memory
	var err error
	m.programs, err = c.Candidates(ctx, key, &m.parts, o.jobs())
	switch {
	case ctx.Err() != nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, results.ErrOtherCandidates):
		return nil
	case err != nil:
		o.notice(fmt.Sprintf("candidates are made again: %v", err))
		return nil
	}
	if len(m.parts) != len(p.placements()) {
		return nil
	}
	for i := range m.parts {
		if err := m.parts[i].check(m.programs); err != nil {
			o.notice(fmt.Sprintf("candidates are made again: %v", err))
			return nil
		}
	}
	if err := m.verify(ctx, p, o.jobs()); err != nil {
		if ctx.Err() == nil {
			o.notice(fmt.Sprintf("candidates are made again: %v", err))
		}
		return nil
	}
	return &m
}

// verify verifies programs from files as if they had just been compiled: their
// hashes prove that they are the same programs, not that these are correct.
func (m *memory) verify(ctx context.Context, p *Problem, jobs int) error {
	needed := map[string]int{}
	for _, made := range m.parts {
		for _, c := range made.Candidates {
			needed[c.Program] = c.Slots
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(jobs)
	for hash, program := range m.programs {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := p.isOf(program); err != nil {
				return fmt.Errorf("program %.12s %w", hash, err)
			}
			report := verify.Check(program, verify.Options{Linked: p.Topology.Linked})
			if err := report.Err(); err != nil {
				return fmt.Errorf("program %.12s: %w", hash, err)
			}
			if slots, kept := needed[hash]; kept && slots != max(report.SlotsNeeded, report.SlotsNeededSplit) {
				return fmt.Errorf("program %.12s needs other slots than was kept", hash)
			}
			return nil
		})
	}
	return group.Wait()
}

// isOf reports a program from a file that belongs to another problem.
func (p *Problem) isOf(program *ir.Program) error {
	if spec := program.Collective; spec.Name != p.Collective || spec.Ranks != len(p.Topology.Ranks) || spec.Root != p.Root {
		return fmt.Errorf("is of %s over %d ranks", spec.Name, spec.Ranks)
	}
	return nil
}

// check refuses a part that no search has written.
func (p *part) check(programs map[string]*ir.Program) error {
	known := func(proto topologies.Proto) bool { return slices.Contains(topologies.AllProtocols[:], proto) }
	for _, c := range p.Candidates {
		switch {
		case programs[c.Program] == nil:
			return fmt.Errorf("%s has no program", c.Algorithm)
		case c.Channels < 0 || c.Instances < 0 || c.Slots < 0:
			return fmt.Errorf("%s has a negative count", c.Algorithm)
		case slices.ContainsFunc(c.Baseline, func(at autotune.Point) bool { return !known(at.Protocol) || at.Bytes < 1 }):
			return fmt.Errorf("%s is compared with at a point that is none", c.Algorithm)
		}
	}
	if slices.ContainsFunc(p.Baselines, func(b keptPoint) bool { return !known(b.Protocol) || b.Bytes < 1 }) {
		return errors.New("a baseline at a point that is none")
	}
	return nil
}

// take turns a placement's part into the enumeration's space.
func (e *enumeration) take(ctx context.Context, m *memory, placement int) error {
	made := &m.parts[placement]
	elem, err := collective.ElemBytes(e.problem.DType)
	if err != nil {
		return err
	}
	e.space.Candidates = make([]autotune.Candidate, len(made.Candidates))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.options.jobs())
	for i := range made.Candidates {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			k := &made.Candidates[i]
			program := m.programs[k.Program]
			bound, err := boundFor(e.options.Executor, program, e.problem.Topology, elem)
			e.space.Candidates[i] = autotune.Candidate{
				Algorithm: k.Algorithm, Source: k.Source, Parameters: whole(k.Parameters), Channels: k.Channels, Instances: k.Instances,
				Program: program, Hash: k.Program, SlotsNeeded: k.Slots, Bound: bound,
				Protocols: e.options.Protocols, Baseline: k.Baseline, Reference: k.Reference,
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, n := range made.Notices {
		e.notice(n)
	}
	for _, r := range made.Refusals {
		e.refuse(r.Candidate, r.Reason, r.Detail)
	}
	e.space.Enumerated = made.Enumerated
	for _, b := range made.Baselines {
		e.space.Baselines = append(e.space.Baselines, Baseline{Bytes: b.Bytes, InPlace: b.InPlace, Name: b.Name, Protocol: b.Protocol, hash: b.Program})
	}
	return nil
}

// part is the space in the form that a campaign keeps.
func (e *enumeration) part() part {
	made := part{Enumerated: e.space.Enumerated, Refusals: e.space.Refusals, Notices: e.notices}
	for _, c := range e.space.Candidates {
		made.Candidates = append(made.Candidates, kept{
			Algorithm: c.Algorithm, Source: c.Source, Parameters: c.Parameters, Channels: c.Channels, Instances: c.Instances,
			Program: c.Hash, Slots: c.SlotsNeeded, Baseline: c.Baseline, Reference: c.Reference,
		})
	}
	for _, b := range e.space.Baselines {
		made.Baselines = append(made.Baselines, keptPoint{b.Bytes, b.InPlace, b.Name, b.Protocol, b.hash})
	}
	return made
}

// keep stores a space's programs in the campaign, unless they are too large.
func (s *Space) keep(c *results.Campaign, key string) error {
	var hashes []string
	var programs []*ir.Program
	seen := map[string]bool{}
	for _, candidate := range s.Candidates {
		if candidate.Program != nil && !seen[candidate.Hash] {
			seen[candidate.Hash] = true
			hashes, programs = append(hashes, candidate.Hash), append(programs, candidate.Program)
		}
	}
	err := c.SaveCandidates(key, s.parts, hashes, programs)
	if errors.Is(err, results.ErrTooLarge) {
		return nil // the next run makes them again
	}
	return err
}

// whole restores the types of parameters' numbers, which JSON has lost.
func whole(parameters map[string]any) map[string]any {
	for name, v := range parameters {
		parameters[name] = wholeValue(v)
	}
	return parameters
}

func wholeValue(v any) any {
	switch v := v.(type) {
	case float64:
		if v == float64(int(v)) {
			return int(v)
		}
	case []any:
		for i := range v {
			v[i] = wholeValue(v[i])
		}
		if list, ok := allOf[int](v); ok {
			return list
		}
		if list, ok := allOf[[]int](v); ok {
			return list
		}
	}
	return v
}

// allOf converts a list to one type, if all its values have that type; an empty
// list has none.
func allOf[T any](values []any) (list []T, ok bool) {
	for _, v := range values {
		one, ok := v.(T)
		if !ok {
			return nil, false
		}
		list = append(list, one)
	}
	return list, len(list) > 0
}
