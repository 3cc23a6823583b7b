package library

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/search/library/rccl"
	"github.com/colltune/colltune/topologies"
)

// Release is a release of a vendor's library that has a row. Its String, nccl-2.30.7, is what
// results name it by.
type Release struct {
	Library    string // nccl or rccl
	Version    string // 2.30.7
	ROCm       string // the first that ships it; empty of NCCL
	Unreleased bool
}

func (r Release) String() string { return r.Library + "-" + r.Version }

// Releases lists the releases, NCCL's before RCCL's, each by rising version.
func Releases() (all []Release) {
	for _, r := range nccl.Releases() {
		all = append(all, Release{Library: "nccl", Version: r.Version})
	}
	for _, r := range rccl.Releases() {
		all = append(all, Release{Library: "rccl", Version: r.Version, ROCm: r.ROCm, Unreleased: r.Unreleased})
	}
	return all
}

// LibraryOf is the library of a topology's vendor: nccl or rccl.
func LibraryOf(t *topologies.Topology) string {
	if t.Runtime == "rccl" {
		return "rccl"
	}
	return "nccl"
}

// Newest is the newest released release of a library, nccl or rccl.
func Newest(library string) Release {
	r, err := FindRelease(library, library)
	if err != nil {
		panic(err) // each has one
	}
	return r
}

// FindRelease finds a release of a library, nccl or rccl, by its name: nccl is the newest that is
// released, nccl-2.30 the newest of that version. The error, of another name and of the other
// vendor's, lists what there is.
func FindRelease(name, library string) (Release, error) {
	all := slices.DeleteFunc(Releases(), func(r Release) bool { return r.Library != library })
	slices.Reverse(all)
	of, version, versioned := strings.Cut(name, "-")
	for _, r := range all {
		switch {
		case of != library:
		case !versioned && !r.Unreleased:
			return r, nil
		case versioned && (r.Version == version || strings.HasPrefix(r.Version, version+".")):
			return r, nil
		}
	}
	if r, err := ReleaseOf(library, version); of == library && err == nil && r.Version == version {
		return r, nil
	}
	slices.Reverse(all)
	return Release{}, fmt.Errorf("%s is no release of this system's library: want %s (the newest released), or one of %s", name, library, strings.Join(lists.Map(all, Release.String), ", "))
}

// ReleaseOf is the release of a library, nccl or rccl, that stands for a version, 2.29.2, of what
// was measured: the newest row that is not newer, or else the oldest. It need not be one of Releases.
func ReleaseOf(library, version string) (r Release, err error) {
	var n [3]int
	if _, err := fmt.Sscanf(version+".0.0", "%d.%d.%d", &n[0], &n[1], &n[2]); err != nil {
		return r, fmt.Errorf("version %q of %s: want numbers and dots", version, library)
	}
	number := 10000*n[0] + 100*n[1] + n[2]
	if library == "nccl" {
		return Release{Library: library, Version: nccl.ReleaseOf(number).Version}, nil
	}
	for _, other := range Releases() {
		if other.Library == library && (r == Release{} || other.number() <= number) {
			r = other
		}
	}
	return r, nil
}

// number is the version as ncclGetVersion has it: 23007 of 2.30.7.
func (r Release) number() int {
	var n [3]int
	fmt.Sscanf(r.Version, "%d.%d.%d", &n[0], &n[1], &n[2])
	return 10000*n[0] + 100*n[1] + n[2]
}

// Left is what a release of NCCL, the zero value being the newest, runs of calls that a tuner leaves to
// it: see nccl.Left.
func (r Release) Left(topology func(nodes, gpus int) (*topologies.Topology, error)) tuning.Left {
	if r == (Release{}) {
		return nccl.Left(nil, topology)
	}
	return nccl.Left(nccl.ReleaseOf(r.number()), topology)
}

// system returns a topology as the release sees it.
func (r Release) system(t *topologies.Topology) *nccl.System {
	if r.Library == "rccl" {
		all := rccl.Releases()
		return rccl.NewSystem(t, all[slices.IndexFunc(all, func(x *rccl.Release) bool { return x.Version == r.Version })])
	}
	return nccl.NewSystem(t, nccl.ReleaseOf(r.number()), nil)
}
