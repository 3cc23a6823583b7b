package nccl

// Release is a release of NCCL that has a row: what it changed for a choice.
type Release struct {
	Version string // whose sources were read: 2.30.7
	Number  int    // as ncclGetVersion: 23007
}

var releases = []*Release{
	{Version: "2.27.7", Number: 22707},
	{Version: "2.28.9", Number: 22809},
	{Version: "2.29.7", Number: 22907},
	{Version: "2.30.7", Number: 23007},
	{Version: "2.31.2", Number: 23102},
	{Version: "2.32.3", Number: 23203},
}

// Releases lists the releases that have a row, by rising number. They are not to be changed.
func Releases() []*Release { return releases }

// orNewest is r, or the newest release where that is nil.
func (r *Release) orNewest() *Release {
	if r == nil {
		return releases[len(releases)-1]
	}
	return r
}
