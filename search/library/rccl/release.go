package rccl

// Release is a release of RCCL that has a row: what it takes before its own rings and trees.
type Release struct {
	Version    string // 2.21.5: the NCCL whose level it has; with the ROCm where two states share it
	ROCm       string // the first that ships it
	Unreleased bool   // read in development: no ROCm ships it

	Files bool // loads MSCCL files: those of 2.21.5 that it ships are the ones known

	number int
	// direct says that small all-gathers are sends and receives, and that small reduce-scatters in a node are LL.
	direct bool
	// ranges says that the protocol over nodes goes by the bytes of a rank.
	ranges bool
	access map[string]int64 // the most bytes of direct access, by architecture; nil: it has none
}

// releases by rising number. What a state of the sources has is a fact of it; which ROCm ships that state is said by AMD's
// changelog (projects/rccl/CHANGELOG.md of ROCm/rocm-systems at 0005e8e8).
var releases = []*Release{
	{Version: "2.21.5", ROCm: "6.3.0", number: 22105, Files: true},
	{Version: "2.26.6", ROCm: "7.0.0", number: 22606, Files: true, ranges: true},
	{Version: "2.27.7", ROCm: "7.1.0", number: 22707, Files: true, ranges: true, direct: true},
	{Version: "2.28.3-rocm7.11", ROCm: "7.11.0", number: 22803, Files: true, ranges: true, direct: true},
	{Version: "2.28.3", ROCm: "7.13.0", number: 22803, ranges: true, direct: true},
	{Version: "2.30.4", ROCm: "7.14.0", number: 23004, ranges: true, direct: true, access: map[string]int64{"cdna3": 8 << 20, "cdna4": 64 << 20}},
	{Version: "2.30.7", ROCm: "10.1.0", number: 23007, ranges: true, direct: true, access: map[string]int64{"cdna3": 8 << 20, "cdna4": 128 << 20}},
	{Version: "2.31.2", Unreleased: true, number: 23102, ranges: true, direct: true, access: map[string]int64{"cdna3": 8 << 20, "cdna4": 128 << 20}},
}

// Releases lists the releases that have a row, by rising number. They are not to be changed.
func Releases() []*Release { return releases }

// newest is the newest released one.
func newest() (r *Release) {
	for _, x := range releases {
		if !x.Unreleased {
			r = x
		}
	}
	return r
}
