package msccl

import (
	"fmt"
	"math"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/lists"
)

// Runtime describes one runtime that reads these files. Numbers are those of
// releases with default builds.
type Runtime struct {
	Name string
	Repo string // where its source is published

	MaxSteps        int // in a threadblock, nops included
	MaxThreadblocks int // on a GPU
	MaxChannels     int
	MaxAlgorithms   int // files it can hold
	// OnePlacement means that a file serves either in-place or out-of-place calls,
	// as its attribute inplace says; otherwise files need both inplace and
	// outofplace.
	OnePlacement bool
	// Ranges means that minBytes and maxBytes are required.
	Ranges bool
	// MaxExclusive means that maxBytes is the first size not served, and that
	// without it sizes from DefaultMax on are not served. Otherwise maxBytes is
	// the last size served, and 0 means no limit.
	MaxExclusive bool
	DefaultMax   int64
	NeedsName    bool
	// ChecksChunks means that i_chunks and o_chunks must agree with
	// nchunksperloop.
	ChecksChunks bool
	// Collectives maps colltune's names of collectives to the runtime's.
	Collectives map[string]string
	// Tiles is the number of bytes of a chunk that one primitive call moves at
	// most, by protocol.
	Tiles map[string]int64
}

// Corrupts returns the fault by which a runtime's kernels of a protocol give wrong results on
// GPUs of an architecture, in some of its releases; "" where none is known. It asks for the
// architecture where that matters.
func Corrupts(runtime, protocol string, arch func() string) string {
	if runtime == "rccl" && protocol == "LL" && arch() == "cdna4" {
		return "RCCL's MSCCL kernels of LL corrupt data on MI350X and MI355X (ROCm/rccl#1960); the repair is on the branch of ROCm 7.1.1 (#2013), whose notes do not name it"
	}
	return ""
}

// Limits that all readers have in common.
const (
	maxCount      = 71   // chunks of a step
	maxDepID      = 127  // a signed byte holds it
	maxNodes      = 4095 // elements one rank keeps of a file
	maxChildren   = 1024 // of one element
	maxPerChannel = 32   // send peers, and receive peers, of a GPU on a channel
	maxAttributes = 16   // of one element
	maxText       = 255  // of a name or a value
	maxName       = 63   // of algo's name that is kept
	maxThreads    = 544  // of a threadblock under Simple, whatever a file asks for
)

// Slots returns the number of primitive calls that a connection holds under a
// protocol, or 0 for an unknown protocol. A Simple call takes 4 of NCCL's 8
// steps, others take 1.
func Slots(protocol string) int {
	switch protocol {
	case "Simple":
		return 2
	case "LL", "LL128":
		return 8
	}
	return 0
}

// collectives returns the names in a runtime's files: those that all runtimes
// share, and more, in pairs of colltune's and the runtime's name.
func collectives(more ...string) map[string]string {
	names := map[string]string{}
	for _, n := range []string{"allreduce", "allgather", "reduce", "broadcast", "alltoall"} {
		names[n] = n
	}
	for i := 0; i < len(more); i += 2 {
		names[more[i]] = more[i+1]
	}
	return names
}

// runtimes is the table of readers. Buffers of the first two: LL 512 KiB, LL128
// 4,915,200 B, Simple 4 MiB, in 8 steps; half of an LL step is flags and a
// sixteenth of an LL128 one; Simple moves 4 steps a call. RCCL's LL and LL128
// buffers are smaller.
var runtimes = []*Runtime{
	{
		Name: "msccl", Repo: "microsoft/msccl",
		MaxSteps: 256, MaxThreadblocks: 216, MaxChannels: 32, MaxAlgorithms: 4,
		OnePlacement: true, MaxExclusive: true, DefaultMax: 128 << 20, NeedsName: true, ChecksChunks: true,
		Collectives: collectives("reducescatter", "reduce_scatter", "alltonext", "custom", "sendrecv", "custom", "custom", "custom"),
		Tiles:       map[string]int64{"LL": 32768, "LL128": 576000, "Simple": 2 << 20},
	},
	{
		Name: "executor-nccl", Repo: "Azure/msccl-executor-nccl",
		MaxSteps: 64, MaxThreadblocks: 1024, MaxChannels: 32, MaxAlgorithms: 1024,
		Ranges:      true,
		Collectives: collectives("reducescatter", "reducescatter", "gather", "gather", "scatter", "scatter"),
		Tiles:       map[string]int64{"LL": 32768, "LL128": 576000, "Simple": 2 << 20},
	},
	{
		Name: "rccl", Repo: "ROCm/rccl",
		MaxSteps: 64, MaxThreadblocks: 64, MaxChannels: 128, MaxAlgorithms: 1024,
		Ranges:      true,
		Collectives: collectives("reducescatter", "reducescatter", "gather", "gather", "scatter", "scatter"),
		Tiles:       map[string]int64{"LL": 16384, "LL128": 53760, "Simple": 2 << 20},
	},
}

// collective returns the runtime's name of a program's collective: custom for a
// user's own, if the runtime has that.
func (r *Runtime) collective(s collective.Spec) (name string, ok bool) {
	if s.Custom != nil {
		s.Name = "custom"
	}
	name, ok = r.Collectives[s.Name]
	return name, ok
}

// Runtimes lists the readers by name, in the order of the table.
func Runtimes() []string { return lists.Map(runtimes, func(r *Runtime) string { return r.Name }) }

// Lookup returns the runtime with a name, or an error that lists the names.
func Lookup(name string) (*Runtime, error) {
	for _, r := range runtimes {
		if r.Name == name {
			return r, nil
		}
	}
	return nil, fmt.Errorf("unknown runtime %q: want one of %s", name, strings.Join(Runtimes(), ", "))
}

// perRank returns the divisor that converts a size as nccl-tests prints it to
// the size that runtimes compare with a file's range and divide into chunks:
// for gather and scatter they count the elements of one rank, for other
// collectives those of the whole call.
func perRank(coll string, ranks int) int64 {
	switch coll {
	case "gather", "scatter":
		return int64(ranks)
	}
	return 1
}

// span is a range of sizes as nccl-tests prints them, both ends included.
type span struct{ min, max int64 }

const unlimited = math.MaxInt64

// attributes converts a range to the dialect's minBytes and maxBytes.
func (r *Runtime) attributes(s span, coll string, ranks int) (minBytes, maxBytes int64) {
	per := perRank(coll, ranks)
	minBytes, maxBytes = (s.min+per-1)/per, s.max/per
	switch {
	case s.max == unlimited && r.MaxExclusive:
		maxBytes = unlimited
	case s.max == unlimited:
		maxBytes = 0
	case r.MaxExclusive:
		maxBytes++
	}
	return minBytes, maxBytes
}

// serves converts a file's minBytes and maxBytes back to sizes. The range is empty
// (min > max) if the runtime never uses the file.
func (r *Runtime) serves(f *File) span {
	s := span{0, unlimited}
	if f.MinBytes != nil {
		s.min = *f.MinBytes
	}
	switch {
	case f.MaxBytes == nil && r.DefaultMax > 0:
		s.max = r.DefaultMax - 1
	case f.MaxBytes == nil:
	case r.MaxExclusive:
		s.max = *f.MaxBytes
		if s.max != unlimited {
			s.max--
		}
	case *f.MaxBytes != 0:
		s.max = *f.MaxBytes
	}
	if per := perRank(f.Computes(), f.NGPUs); per > 1 {
		s.min = saturate(s.min, per)
		if s.max != unlimited {
			s.max = saturate(s.max, per)
		}
	}
	return s
}

func saturate(a, b int64) int64 {
	if a > unlimited/b {
		return unlimited
	}
	return a * b
}

// canonical converts a name in any dialect to our name of the collective.
func canonical(coll string) string {
	if coll == "reduce_scatter" {
		return "reducescatter"
	}
	return coll
}

// divided reports whether nchunksperloop counts the chunks of all ranks.
func divided(coll string) bool {
	switch coll {
	case "allgather", "reducescatter", "alltoall", "gather", "scatter":
		return true
	}
	return false
}

var letters = [...]byte{collective.In: 'i', collective.Out: 'o', collective.Scratch: 's'}
