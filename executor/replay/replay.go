package replay

import (
	"context"
	"fmt"
	"sync"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/replay/recorded"
)

// Name is the executor's name.
const Name = "replay"

// version changes whenever a trial would give another time than before.
const version = "2"

// operations are the reductions. A table that names none is of whichever is asked for.
var operations = []string{"sum", "prod", "min", "max", "avg"}

// Register registers the executor, its settings, and what doctor says of it.
func Register() {
	executor.RegisterBuiltin(Name, New)
	executor.RegisterSettings(Name, registered)
	executor.RegisterDoctor(Name, func() []executor.Finding {
		return []executor.Finding{{What: "needs", Found: true, Detail: "a table of recorded times, as file in [executor." + Name + "]"}}
	})
}

// New returns the executor that the settings of this process describe. Wrong settings, and
// a table that can't be read, are errors of its methods.
func New() executor.Executor { return &player{} }

// player plays a table back.
type player struct {
	once sync.Once
	err  error // why there is nothing to play

	settings *settings
	table    *recorded.Table // one space for each collective

}

// load reads settings and table, once.
func (p *player) load() error {
	p.once.Do(func() {
		if p.settings, p.err = readSettings(executor.Setting); p.err == nil {
			p.table, p.err = readTable(p.settings)
		}
		if p.err != nil {
			p.err = executor.WrongSettings(p.err)
		}
	})
	return p.err
}

// readTable reads the spaces that the settings admit. There must be one, and no two of a
// collective.
func readTable(s *settings) (*recorded.Table, error) {
	all, err := recorded.Read(s.file)
	if err != nil {
		return nil, err
	}
	left := &recorded.Table{Hash: all.Hash}
	for _, space := range all.Spaces {
		if space.Call.Includes(s.call) {
			left.Spaces = append(left.Spaces, space)
		}
	}
	if len(left.Spaces) == 0 {
		_, err := all.Of(s.call)
		return nil, fmt.Errorf("%s: %s: %w", Name, s.file, err)
	}
	for _, space := range left.Spaces {
		if _, err := left.Of(recorded.Call{Collective: space.Call.Collective}); err != nil {
			return nil, fmt.Errorf("%s: %s: %w; collective, nodes, ranks and placement in [executor.%s] choose", Name, s.file, err, Name)
		}
	}
	return left, nil
}

// Describe lists the recorded configurations as native algorithms.
func (p *player) Describe(context.Context) (executor.Description, error) {
	if err := p.load(); err != nil {
		return executor.Description{}, err
	}
	n := p.settings.noise
	d := executor.Description{
		Name: Name, Version: version,
		Deterministic: n.None(),
		DTypes:        collective.DTypes(), Operations: operations,
		NativeOnly: true,
		OtherLinks: true, // the topology of a search need not be the machine that was timed
		Fingerprint: map[string]string{
			"version": version, "table": p.table.Hash, "noise": fmt.Sprintf("%g drift %g outliers %g seed %d", n.Spread, n.Drift, n.Outliers, n.Seed),
		},
	}
	for i := range p.table.Spaces {
		d.Native = append(d.Native, natives(&p.table.Spaces[i])...)
	}
	return d, nil
}

// Run returns the times that were recorded, at most one an iteration, with the noise of the
// settings. ErrUnsupported: there is no row.
func (p *player) Run(_ context.Context, t executor.Trial) (executor.Measurement, error) {
	if err := p.load(); err != nil {
		return executor.Measurement{}, err
	}
	if t.Native == nil {
		return executor.Measurement{}, executor.Unsupported(fmt.Errorf("%s runs no programs", Name))
	}
	placement := map[bool]string{true: "in", false: "out"}[t.Collective.InPlace]
	space, err := p.table.Of(recorded.Call{
		Collective: t.Collective.Name, DType: t.DType, Op: opOf(&t), Nodes: t.Topology.Nodes, Ranks: t.Collective.Ranks, Placement: placement,
	})
	if err != nil {
		return executor.Measurement{}, executor.Unsupported(err)
	}
	config, err := configOf(space, t.Native, t.Protocol)
	if err != nil {
		return executor.Measurement{}, executor.Unsupported(err)
	}
	cell := space.AtBytes(config, t.Bytes)
	name := space.Configs[config].Name()
	switch {
	case !cell.Recorded:
		return executor.Measurement{}, executor.Unsupported(fmt.Errorf("%s at %d bytes of %s was not recorded", name, t.Bytes, space.Call))
	case len(cell.TimesUS) == 0:
		return executor.Measurement{}, fmt.Errorf("%s at %d bytes of %s failed when it was recorded", name, t.Bytes, space.Call)
	}
	factor := p.settings.noise.Factor(name, t.Bytes, t.Repeat, t.Before)
	var m executor.Measurement
	for _, us := range cell.TimesUS[:min(len(cell.TimesUS), max(t.Iters, 1))] {
		m.TimesUS = append(m.TimesUS, us*factor)
	}
	// What it would have cost where it was recorded.
	m.CostSeconds = cell.TimeUS() * factor * float64(max(t.Iters, 1)+t.Warmup) / 1e6
	return m, nil
}

// opOf returns the trial's reduction; "" if its collective doesn't reduce.
func opOf(t *executor.Trial) string {
	if c, err := collective.New(t.Collective); err != nil || !c.Reduces() {
		return ""
	}
	return t.Op
}
