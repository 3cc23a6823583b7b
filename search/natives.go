package search

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// maxSettings limits the combinations of an algorithm's settings. If there are
// more, each setting is varied alone, with the others at their defaults.
const maxSettings = 256

// ownChoice is the algorithm that stands for the library deciding by itself.
const ownChoice = "auto"

// Capabilities are what the executor says about itself that matters for candidates.
type Capabilities struct {
	Name       string
	Native     []executor.NativeAlgorithm
	NativeOnly bool // it runs no programs
	OtherLinks bool // its times are not subject to the topology's bounds
	InTurns    bool // it says that its ranks are not joined by links
	// Versions are those of communication libraries that it found, by name.
	Versions map[string]string
}

// describeExecutor asks the executors what they accept, and which algorithms of their own
// they have. The simulator has none.
func describeExecutor(ctx context.Context, pool *executor.Pool, name string, p *Problem) (*Capabilities, error) {
	if name == "sim" {
		return &Capabilities{Name: name}, nil
	}
	d, err := pool.Describe(ctx)
	if err != nil {
		if ctx.Err() != nil {
			err = autotune.ErrInterrupted
		}
		return nil, err
	}
	b := &Capabilities{d.Name, d.Native, d.NativeOnly, !d.Joins(len(p.Topology.Ranks)), d.OtherLinks, map[string]string{}}
	if name, version, ok := strings.Cut(d.Fingerprint["library"], " "); ok { // nccl 2.30.7
		b.Versions[strings.ToLower(name)] = version
	}
	return b, d.Takes(slices.Max(p.Sizes))
}

// known returns the executor's capabilities, or none before it was asked.
func (o *Options) known() Capabilities {
	if o.Capabilities == nil {
		return Capabilities{}
	}
	return *o.Capabilities
}

// unknown reports whether a name may still be an algorithm of the executor's own: the
// executor may have some and has not been asked.
func (o *Options) unknown() bool { return o.Executor != "sim" && o.Capabilities == nil }

// isNative reports whether the executor has an algorithm of that name.
func (o *Options) isNative(name string) bool {
	return slices.ContainsFunc(o.known().Native, func(a executor.NativeAlgorithm) bool { return a.Algorithm == name })
}

// natives lists the executor's own algorithms that implement a collective and are
// not excluded by flags. Flags that fix instances or tiles ask for programs, so
// then there are none.
func (o *Options) natives(coll string) (all []executor.NativeAlgorithm) {
	if o.Instances > 0 || o.TileBytes > 0 || !slices.Contains(collective.Names(), coll) {
		return nil
	}
	for _, a := range o.known().Native {
		does := len(a.Collectives) == 0 || slices.Contains(a.Collectives, coll)
		named := len(o.Families) == 0 || slices.Contains(o.Families, a.Algorithm)
		_, channels := a.Settings["channels"]
		if does && named && !slices.Contains(o.Exclude, a.Algorithm) && (o.Channels == 0 || channels) {
			all = append(all, a)
		}
	}
	return all
}

// native makes candidates of the executor's own algorithms, each with all of its
// settings. There is nothing to compile.
func (e *enumeration) native() *Space {
	space := &Space{}
	for _, a := range e.options.natives(e.problem.Collective) {
		protocols, ok := e.nativeProtocols(a)
		if !ok {
			space.Refusals = append(space.Refusals, e.refuse(a.Algorithm, NotApplicable, "it has no protocol asked for: "+strings.Join(a.Protocols, ", ")))
			continue
		}
		combinations, all := settings(e.options.fixedSettings(a), maxSettings)
		if !all {
			e.options.Observer.notice(fmt.Sprintf("%s has too many combinations of settings: each is varied alone, the others at their default", a.Algorithm))
		}
		for _, s := range combinations {
			c := e.nativeCandidate(a.Algorithm, s)
			c.Protocols, c.Chooses = protocols, len(a.Protocols) == 0
			c.Prior = e.nativePrior(&a, c.Channels)
			space.Candidates = append(space.Candidates, c)
		}
	}
	if e.options.Baseline == nil && e.options.chooses(e.problem.Collective) {
		e.nativeBaseline(space)
	}
	return space
}

// byDefault is the value of a setting that leaves it to the executor, like not
// giving the setting at all.
const byDefault = "default"

// nativeCandidate is an algorithm with some settings.
func (e *enumeration) nativeCandidate(algorithm string, settings map[string]string) autotune.Candidate {
	spec := e.problem.Spec(len(e.problem.Topology.Ranks), 1, e.problem.InPlace)
	settings = maps.Clone(settings)
	maps.DeleteFunc(settings, func(_, v string) bool { return v == byDefault })
	parameters := map[string]any{}
	for name, value := range settings {
		parameters[name] = value
	}
	channels, _ := strconv.Atoi(settings["channels"]) // 0: the library's own choice
	return autotune.Candidate{
		Algorithm: algorithm, Source: results.SourceNative, Parameters: parameters,
		Channels: channels, Instances: 1,
		Native: &executor.Native{Algorithm: algorithm, Settings: settings}, Collective: spec,
		Hash: results.NativeHash(algorithm, settings, spec),
	}
}

// nativeBaseline compares every size of the executor's own candidates with the choice
// of its library, which can be left to choose.
func (e *enumeration) nativeBaseline(space *Space) {
	library := e.options.known()
	a := library.Native[slices.IndexFunc(library.Native, func(a executor.NativeAlgorithm) bool { return a.Algorithm == ownChoice })]
	defaults, _ := settings(a.Settings, 1)
	own := e.nativeCandidate(ownChoice, defaults[0])
	at := slices.IndexFunc(space.Candidates, func(c autotune.Candidate) bool { return c.Hash == own.Hash })
	if at < 0 {
		// Flags exclude it, so it is there for comparison only.
		own.Chooses, own.Reference = true, true
		at = len(space.Candidates)
		space.Candidates = append(space.Candidates, own)
	}
	c := &space.Candidates[at]
	for _, bytes := range e.problem.Sizes {
		c.Baseline = append(c.Baseline, autotune.Point{Bytes: bytes, Protocol: topologies.Simple})
		space.Baselines = append(space.Baselines, Baseline{
			Bytes: bytes, InPlace: e.problem.InPlace, Name: library.Name + " " + ownChoice, own: true, hash: c.Hash,
		})
	}
}

// chooses reports whether the executor can be left to choose by itself.
func (o *Options) chooses(coll string) bool {
	return slices.Contains(collective.Names(), coll) && slices.ContainsFunc(o.known().Native, func(a executor.NativeAlgorithm) bool {
		return a.Algorithm == ownChoice && len(a.Protocols) == 0 && (len(a.Collectives) == 0 || slices.Contains(a.Collectives, coll))
	})
}

// nativeProtocols lists the protocols of an algorithm that flags admit; ok reports
// whether it can be run at all. An algorithm that chooses its protocol can't be
// restricted to some.
func (e *enumeration) nativeProtocols(a executor.NativeAlgorithm) (left []topologies.Proto, ok bool) {
	if len(a.Protocols) == 0 {
		return nil, len(e.options.Protocols) == 0
	}
	for _, proto := range e.protocols() {
		if slices.Contains(a.Protocols, proto.String()) {
			left = append(left, proto)
		}
	}
	return left, len(left) > 0
}

// fixedSettings lists the values of an algorithm's settings; one fixed by flags
// has a single value.
func (o *Options) fixedSettings(a executor.NativeAlgorithm) map[string][]string {
	all := maps.Clone(a.Settings)
	for name := range all {
		if value, fixed := o.Parameters[name]; fixed {
			all[name] = []string{value}
		}
	}
	if _, has := all["channels"]; has && o.Channels > 0 {
		all["channels"] = []string{strconv.Itoa(o.Channels)}
	}
	return all
}

// settings lists combinations of values, the defaults first. If there are more
// than limit, all is false and each setting is varied alone, with the others at
// their defaults.
func settings(values map[string][]string, limit int) (list []map[string]string, all bool) {
	names := slices.Sorted(maps.Keys(values))
	names = slices.DeleteFunc(names, func(n string) bool { return len(values[n]) == 0 })
	defaults := map[string]string{}
	for _, n := range names {
		defaults[n] = values[n][0]
	}
	list = []map[string]string{defaults}
	total := 1
	for _, n := range names {
		if total = total * len(values[n]); total > limit {
			break
		}
	}
	vary := func(from []map[string]string, name string) (more []map[string]string) {
		for _, s := range from {
			for _, value := range values[name][1:] {
				other := maps.Clone(s)
				other[name] = value
				more = append(more, other)
			}
		}
		return more
	}
	for _, n := range names {
		from := list
		if total > limit {
			from = list[:1]
		}
		list = append(list, vary(from, n)...)
	}
	return list, total <= limit
}
