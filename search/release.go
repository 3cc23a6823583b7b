package search

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
)

// Fastest is the value of --registered that leaves the state of the buffers to the library's times.
const Fastest = "best"

// ParseRegistered reads a value of --registered: one of the states, or best, which is nil.
func ParseRegistered(text string) (*nccl.Registered, error) {
	if text == Fastest {
		return nil, nil
	}
	state, err := nccl.ParseRegistered(text)
	if err != nil {
		return nil, fmt.Errorf("%w, %s", err, Fastest)
	}
	return &state, nil
}

// The releases whose choice campaigns were compared with before they named one.
var earlierReleases = map[string]string{"nccl": "nccl-2.30.7", "rccl": "rccl-2.21.5"}

// LibraryRelease is the release of a topology's library that a search is compared with: the one
// asked for, or else the one that Baseline or the executor names, or else the newest released one
// that has a row and, for programs that RCCL is to load, loads them. note says which row stands for one
// without, and why it is not the newest.
func (o *Options) LibraryRelease(t *topologies.Topology) (r library.Release, note string) {
	of := library.LibraryOf(t)
	if o.Release != (library.Release{}) {
		return o.Release, ""
	}
	if o.Unregistered {
		if r, err := library.FindRelease(earlierReleases[of], of); err == nil {
			return r, ""
		}
	}
	version, who := o.known().Versions[of], "the executor's"
	if o.Baseline != nil {
		if named := o.Baseline.version(); named != "" {
			version, who = named, o.Baseline.Name+"'s"
		}
	}
	newest := library.Newest(of)
	switch {
	case version == "" && o.Runtime == "rccl" && !newest.LoadsXML():
		r = library.NewestXML()
		return r, fmt.Sprintf("%s loads no MSCCL XML: the baseline is %s, the newest that does, as of --runtime rccl", newest, r)
	case version == "":
		return newest, ""
	}
	r, note, err := library.StandIn(of, version)
	if err != nil {
		return newest, fmt.Sprintf("%s %s: %v: it is taken for %s", who, strings.ToUpper(of), err, newest)
	}
	if note != "" {
		note = who + " " + note
	}
	return r, note
}

// CampaignRelease is the release that a campaign's baselines are of, which may have been the newest when it was
// begun; the zero value where they name none that has a row.
func CampaignRelease(c *results.Campaign) library.Release {
	tally, _ := c.Tally()
	for _, p := range tally.Points {
		all := p.Others
		if p.Baseline != nil {
			all = append(all[:len(all):len(all)], *p.Baseline)
		}
		for _, b := range all {
			of, _, _ := strings.Cut(b.Release, "-")
			if r, err := library.FindRelease(b.Release, of); err == nil {
				return r
			}
		}
	}
	return library.Release{}
}

// registered is the state of the buffers as the user calls the library.
func (o *Options) registered() nccl.Registered {
	if o.Registered == nil {
		return nccl.None
	}
	return *o.Registered
}

// checkRegistered refuses registered buffers where only a model says what the library takes on them, and
// the executor's ranks are not joined by the links that it is of.
func (o *Options) checkRegistered(coll string) error {
	if o.registered() == nccl.None || !o.known().OtherLinks || o.Baseline != nil || o.chooses(coll) {
		return nil
	}
	return &ParameterError{fmt.Sprintf("--registered %s: %s does not join the ranks by the system's links, and what the library takes on registered buffers is known of these alone: want --registered %s or %s",
		o.registered(), o.known().Name, results.RegisteredNone, Fastest)}
}

// libraryOptions are those of the library beside the programs.
func (o *Options) libraryOptions(t *topologies.Topology) library.Options {
	release, _ := o.LibraryRelease(t)
	return library.Options{
		Release: release, Registered: o.registered(), Others: !o.Unregistered && !o.known().OtherLinks, Windows: o.Runtime == "mscclpp",
		Measured: !o.simulates(), Shipped: true, Alone: o.narrowed(),
	}
}

// ownRegistered is the state of the buffers where the executor leaves the library to choose: in
// windows, if it also times the kernels that need them.
func (o *Options) ownRegistered() nccl.Registered {
	if slices.ContainsFunc(o.known().Native, func(a executor.NativeAlgorithm) bool { return a.Algorithm == windowKernels }) {
		return nccl.Window
	}
	return o.registered()
}

// windowKernels is the executor's algorithm of the kernels that need windows.
const windowKernels = "symmetric"
