package search

import (
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// libraryFamilies are the families of the library's choices (nccl.Choice) that NCCL's
// algorithms are.
var libraryFamilies = map[string][]string{
	"ring": {"ring", "chain"}, "tree": {"double-binary-tree"}, "nvls": {"nvls"}, "nvlstree": {"nvlstree"}, "pat": {"pat"},
}

// nativePrior returns what is known of a native algorithm's times before any trial: what the
// executor says or, of NCCL, its own cost model; nil if nothing is. It makes no error: a
// prior is corrected by trials.
func (p *placement) nativePrior(a *executor.NativeAlgorithm, channels int) func(int64, topologies.Proto) float64 {
	known := p.options.known()
	switch {
	case len(a.Priors) > 0:
		return func(bytes int64, proto topologies.Proto) float64 {
			at := slices.IndexFunc(a.Priors, func(p executor.Prior) bool {
				return p.Bytes == bytes && (p.Protocol == "" || p.Protocol == proto.String())
			})
			if at < 0 {
				return 0
			}
			return a.Priors[at].US
		}
	case known.Name == "nccl" && !known.OtherLinks && libraryFamilies[a.Algorithm] != nil:
		return func(bytes int64, proto topologies.Proto) float64 {
			return libraryModelUS(p.problem, libraryFamilies[a.Algorithm], channels, bytes, proto)
		}
	}
	return nil
}

// libraryModelUS is the time that NCCL's cost model gives an algorithm, by its families, in
// microseconds; 0 where it gives none. Its model has one number of channels: with fewer, the
// part of the time that grows with the bytes grows as the channels become fewer. channels: 0
// leaves them to the library.
func libraryModelUS(p *Problem, families []string, channels int, bytes int64, proto topologies.Proto) float64 {
	c, err := collective.New(p.Spec(len(p.Topology.Ranks), 1, p.InPlace))
	if err != nil {
		return 0
	}
	modelled := func(bytes int64) (us float64, own int) {
		all, err := library.ForcedChoices(p.Topology, c, bytes, nccl.Forced{Protocols: []topologies.Proto{proto}, NoFiles: true})
		if err != nil {
			return 0, 0
		}
		at := slices.IndexFunc(all, func(c nccl.Choice) bool { return slices.Contains(families, c.Family) })
		if at < 0 {
			return 0, 0
		}
		if own = all[at].Channels * all[at].Ways(); all[at].Parameters["trees"] > 0 {
			own *= 2 // a tree up and down is two channels
		}
		return all[at].ModelUS, own
	}
	us, own := modelled(bytes)
	if channels == 0 || channels >= own {
		return us
	}
	latency, _ := modelled(1)
	return latency + (us-latency)*float64(own)/float64(channels)
}
