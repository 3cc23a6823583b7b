package msccl

import (
	"fmt"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
)

// File is an algorithm file as written. A nil number is an attribute that the file
// lacks.
type File struct {
	Name           string
	Proto          string
	Coll           string // the name in the file's dialect
	NGPUs          int
	NChannels      int
	NChunksPerLoop int
	InPlace        *int64
	OutOfPlace     *int64
	MinBytes       *int64
	MaxBytes       *int64
	NThreads       *int64
	// Attributes of colltune's, which no runtime reads: the name of a custom
	// collective, and the root of a rooted one.
	Collective string
	Root       int

	Missing  []string // attributes of algo that the file lacks and some runtime requires
	Comments []string // lines before algo; written, but not read
	GPUs     []GPU    // by id
	Notes    []Note   // text that a runtime's reader would not accept
}

// Note is a place in the text that a runtime's own reader does not accept.
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

// Step is the element step. S is its attribute s. DepID is -1 if it waits for
// nothing.
type Step struct {
	Op             ir.Op
	HasDep         bool
	SrcBuf, DstBuf collective.Buffer
	S              int32
	SrcOff, DstOff int32
	Count          int32
	DepID, Deps    int32
}

// Computes returns colltune's name of the file's collective, or custom if the
// file does not name one.
func (f *File) Computes() string {
	if f.Coll == "custom" && slices.Contains(collective.Names(), f.Collective) {
		return f.Collective
	}
	return canonical(f.Coll)
}

// Placements lists the placements that the file is for: in place (true), out of
// place, or both, in this order. A file that says neither is for out of place.
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

// Spec returns the collective that the file computes. known is false if the
// file only says custom, or is for in-place calls of a collective that has no
// in-place form here; the Spec then only gives the sizes of the buffers. It returns an
// error if nchunksperloop and ngpus do not make a collective.
func (f *File) Spec(inPlace bool) (s collective.Spec, known bool, err error) {
	s = collective.Spec{Name: f.Computes(), Ranks: f.NGPUs, Chunks: f.NChunksPerLoop, Root: f.Root}
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

// buffers returns a Spec with nchunksperloop chunks of input and of output,
// which are one buffer in place.
func (f *File) buffers(inPlace bool) (collective.Spec, error) {
	s := collective.Spec{Name: "alltonext", Ranks: f.NGPUs, Chunks: f.NChunksPerLoop}
	if inPlace {
		s.Name, s.InPlace = "allreduce", true
	}
	_, err := collective.New(s)
	return s, err
}
