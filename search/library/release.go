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

// NewestXML is the newest released RCCL that loads MSCCL XML.
func NewestXML() (r Release) {
	for _, x := range Releases() {
		if x.LoadsXML() && !x.Unreleased {
			r = x
		}
	}
	return r
}

// LoadsXML reports whether the release is RCCL's and loads MSCCL XML.
func (r Release) LoadsXML() bool { return r.Library == "rccl" && r.rcclRow().Files }

func (r Release) rcclRow() *rccl.Release {
	all := rccl.Releases()
	return all[slices.IndexFunc(all, func(x *rccl.Release) bool { return x.Version == r.Version })]
}

// FindRelease finds a release of a library, nccl or rccl, that has a row, by its name: nccl is the newest
// that is released, nccl-2.30 the newest of that version. The error, of another name and of the other
// vendor's, lists what there is.
func FindRelease(name, library string) (Release, error) {
	all := slices.DeleteFunc(Releases(), func(r Release) bool { return r.Library != library })
	slices.Reverse(all)
	of, version, versioned := strings.Cut(name, "-")
	named := func(r Release) bool { return r.Version == version || strings.HasPrefix(r.Version, version+".") }
	for _, r := range all {
		switch {
		case of != library:
		case !versioned && !r.Unreleased:
			return r, nil
		case versioned && named(r):
			return r, nil
		}
	}
	if r, _, err := StandIn(library, version); of == library && err == nil && named(r) {
		return r, nil
	}
	slices.Reverse(all)
	return Release{}, fmt.Errorf("%s is no release of this system's library: want %s (the newest released), or one of %s", name, library, strings.Join(lists.Map(all, Release.String), ", "))
}

// AskedRelease is FindRelease, and of a version without a row, which is no error if an older one has one, StandIn.
func AskedRelease(name, library string) (r Release, note string, err error) {
	if r, err = FindRelease(name, library); err == nil {
		return r, "", nil
	}
	of, version, _ := strings.Cut(name, "-")
	stands, note, standErr := StandIn(library, version)
	if of != library || standErr != nil || stands.number() > numberOf(version) {
		return r, "", err
	}
	return stands, note, nil
}

// StandIn is the release of a library, nccl or rccl, that stands for a version, 2.29.2: the newest row that
// is not newer, or else the oldest, with a note where that is not the version's own. It need not be one of Releases.
func StandIn(library, version string) (r Release, note string, err error) {
	number := numberOf(version)
	if number == 0 {
		return r, "", fmt.Errorf("version %q of %s: want numbers and dots", version, library)
	}
	if library == "nccl" {
		r = Release{Library: library, Version: nccl.RowFor(number).Version}
	} else {
		for _, other := range Releases() {
			if other.Library == library && (r == Release{} || other.number() <= number) {
				r = other
			}
		}
	}
	if r.number() != number {
		note = fmt.Sprintf("%s %s has no row: %s stands for it", strings.ToUpper(library), version, r)
	}
	return r, note, nil
}

// number is the version as ncclGetVersion has it: 23007 of 2.30.7.
func (r Release) number() int { return numberOf(r.Version) }

// numberOf is that of a version; 0 of what is none.
func numberOf(version string) int {
	var n [3]int
	if _, err := fmt.Sscanf(version+".0.0", "%d.%d.%d", &n[0], &n[1], &n[2]); err != nil {
		return 0
	}
	return 10000*n[0] + 100*n[1] + n[2]
}

// Left is what a release of NCCL, the zero value being the newest, runs of calls that a tuner leaves to
// it: see nccl.Left.
func (r Release) Left(topology func(nodes, gpus int) (*topologies.Topology, error)) tuning.Left {
	if r == (Release{}) {
		return nccl.Left(nil, topology)
	}
	return nccl.Left(nccl.RowFor(r.number()), topology)
}

// system returns a topology as the release sees it.
func (r Release) system(t *topologies.Topology) *nccl.System {
	if r.Library == "rccl" {
		return rccl.NewSystem(t, r.rcclRow())
	}
	return nccl.NewSystem(t, nccl.RowFor(r.number()), nil)
}
