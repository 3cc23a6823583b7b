package rccl

// Release is a release of RCCL that has a row.
type Release struct {
	Version    string // 2.21.5: the NCCL whose level it has
	ROCm       string // the first that ships it
	Unreleased bool   // read in development: no ROCm ships it
}

var releases = []*Release{
	{Version: "2.21.5", ROCm: "6.3.0"},
}

// Releases lists the releases that have a row, by rising number. They are not to be changed.
func Releases() []*Release { return releases }
