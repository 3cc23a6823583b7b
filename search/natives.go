package search

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/topologies"
)

// maxSettings limits the combinations of an algorithm's settings. If there are
// more, each setting is varied alone, with the others at their defaults.
const maxSettings = 256

// native makes candidates of the executor's own algorithms, each with all of its
// settings. There is nothing to compile.
func (p *placement) native() *Space {
	space := &Space{}
	for _, a := range p.options.natives(p.problem.Collective) {
		protocols, ok := p.nativeProtocols(a)
		if !ok {
			space.Refusals = append(space.Refusals, p.Refuse(a.Algorithm, program.NotApplicable, "it has no protocol asked for: "+strings.Join(a.Protocols, ", ")))
			continue
		}
		combinations, all := settings(p.options.fixedSettings(a), maxSettings)
		if !all {
			p.options.Observer.Say(fmt.Sprintf("%s has too many combinations of settings: each is varied alone, the others at their default", a.Algorithm))
		}
		for _, s := range combinations {
			c := p.nativeCandidate(a.Algorithm, s)
			c.Protocols, c.Chooses = protocols, len(a.Protocols) == 0
			c.Prior = p.nativePrior(&a, c.Channels)
			space.Candidates = append(space.Candidates, c)
		}
	}
	if p.options.Baseline == nil && p.options.chooses(p.problem.Collective) {
		p.nativeBaseline(space)
	}
	return space
}

// byDefault is the value of a setting that leaves it to the executor, like not
// giving the setting at all.
const byDefault = "default"

// nativeCandidate is an algorithm with some settings.
func (p *placement) nativeCandidate(algorithm string, settings map[string]string) autotune.Candidate {
	spec := p.problem.Spec(len(p.problem.Topology.Ranks), 1, p.problem.InPlace)
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
func (p *placement) nativeBaseline(space *Space) {
	known := p.options.known()
	a := known.Native[slices.IndexFunc(known.Native, func(a executor.NativeAlgorithm) bool { return a.Algorithm == ownChoice })]
	defaults, _ := settings(a.Settings, 1)
	own := p.nativeCandidate(ownChoice, defaults[0])
	at := slices.IndexFunc(space.Candidates, func(c autotune.Candidate) bool { return c.Hash == own.Hash })
	if at < 0 {
		// Flags exclude it, so it is there for comparison only.
		own.Chooses, own.Reference = true, true
		at = len(space.Candidates)
		space.Candidates = append(space.Candidates, own)
	}
	c := &space.Candidates[at]
	var release library.Release // that it tells, with a row or without
	if of := library.LibraryOf(p.problem.Topology); known.Versions[of] != "" {
		release = library.Release{Library: of, Version: known.Versions[of]}
	}
	for _, bytes := range p.problem.Sizes {
		c.Baseline = append(c.Baseline, autotune.Point{Bytes: bytes, Protocol: topologies.Simple})
		space.baselines = append(space.baselines, baseline{Time: library.Time{
			Bytes: bytes, From: library.Executor, Name: known.Name + " " + ownChoice, Release: release, Registered: p.options.ownRegistered(), Reached: p.options.ownRegistered(), Evidence: nccl.Measured,
		}, inPlace: p.problem.InPlace, hash: c.Hash})
	}
}

// nativeProtocols lists the protocols of an algorithm that flags admit; ok reports
// whether it can be run at all. An algorithm that chooses its protocol can't be
// restricted to some.
func (p *placement) nativeProtocols(a executor.NativeAlgorithm) (left []topologies.Proto, ok bool) {
	if len(a.Protocols) == 0 {
		return nil, len(p.options.Protocols) == 0
	}
	for _, proto := range p.Protocols("") {
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
