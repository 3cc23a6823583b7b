package msccl

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// File is an algorithm file, as written. A nil number is an attribute that the
// file lacks.
type File struct {
	Name           string
	Proto          string
	Coll           string // in the file's dialect
	NGPUs          int
	NChannels      int
	NChunksPerLoop int
	InPlace        *int64
	OutOfPlace     *int64
	MinBytes       *int64
	MaxBytes       *int64
	NThreads       *int64
	// Ours, which no runtime reads: the collective that a custom one is, and the
	// rank that a rooted one is for.
	Collective string
	Root       int

	Missing  []string // attributes of algo that the file lacks, of those some runtime asks for
	Comments []string // lines in front of algo; written, not read
	GPUs     []GPU    // by id
	Notes    []Note   // what a runtime's reader would stumble over
}

// Note is a place in the text that a runtime's own reader does not take.
type Note struct {
	Line    int
	Message string
}

// GPU is the element gpu.
type GPU struct {
	In, Out, Scratch int // i_chunks, o_chunks, s_chunks
	Threadblocks     []Threadblock
}

// Threadblock is the element tb.
type Threadblock struct {
	Send, Recv, Chan int
	Steps            []Step
}

// Step is the element step. S is its attribute s; DepID is -1 where it waits
// for nobody.
type Step struct {
	Op             ir.Op
	HasDep         bool
	SrcBuf, DstBuf collective.Buffer
	S              int32
	SrcOff, DstOff int32
	Count          int32
	DepID, Deps    int32
}

// collective is the collective's name here, or custom where the file does not
// say which.
func (f *File) collective() string {
	if f.Coll == "custom" && slices.Contains(collective.Names(), f.Collective) {
		return f.Collective
	}
	return canonical(f.Coll)
}

// Computes names the collective that the file is of: custom, where nothing says
// what that one does.
func (f *File) Computes() string { return f.collective() }

// Placements lists the placements that the file is for: in place (true), out of
// place, or both, in this order; out of place where it says neither.
func (f *File) Placements() []bool {
	var p []bool
	if f.InPlace != nil && *f.InPlace != 0 {
		p = append(p, true)
	}
	if f.OutOfPlace != nil && *f.OutOfPlace != 0 || len(p) == 0 {
		p = append(p, false)
	}
	return p
}

// Spec is the collective that the file computes. Where the file says custom and
// nothing more, or is for in-place calls of a collective that has no in-place
// form here, known is false, and the Spec gives the sizes of the buffers only.
func (f *File) Spec(inPlace bool) (s collective.Spec, known bool, err error) {
	s = collective.Spec{Name: f.collective(), Ranks: f.NGPUs, Chunks: f.NChunksPerLoop, Root: f.Root}
	if s.Name == "custom" {
		s, err = f.buffers(inPlace)
		return s, false, err
	}
	if divided(s.Name) {
		if f.NGPUs < 1 || f.NChunksPerLoop%f.NGPUs != 0 {
			return s, true, fmt.Errorf("nchunksperloop %d of %s: want a multiple of the %d ranks", f.NChunksPerLoop, s.Name, f.NGPUs)
		}
		s.Chunks /= f.NGPUs
	}
	if _, err = collective.New(s); err != nil || !inPlace {
		return s, true, err
	}
	s.InPlace = true
	if _, err = collective.New(s); err != nil {
		s, err = f.buffers(true)
		return s, false, err
	}
	return s, true, nil
}

// buffers is a Spec with nchunksperloop chunks of input and of output, in one
// buffer where the call is in place.
func (f *File) buffers(inPlace bool) (collective.Spec, error) {
	s := collective.Spec{Name: "alltonext", Ranks: f.NGPUs, Chunks: f.NChunksPerLoop}
	if inPlace {
		s.Name, s.InPlace = "allreduce", true
	}
	_, err := collective.New(s)
	return s, err
}
