package search

import (
	"context"
	"slices"
	"strings"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
)

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
	if executor.IsModel(name) {
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
func (o *Options) unknown() bool { return !executor.IsModel(o.Executor) && o.Capabilities == nil }

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

// chooses reports whether the executor can be left to choose by itself.
func (o *Options) chooses(coll string) bool {
	return slices.Contains(collective.Names(), coll) && slices.ContainsFunc(o.known().Native, func(a executor.NativeAlgorithm) bool {
		return a.Algorithm == ownChoice && len(a.Protocols) == 0 && (len(a.Collectives) == 0 || slices.Contains(a.Collectives, coll))
	})
}
