package lang

import (
	"slices"
	"strconv"

	"github.com/colltune/colltune/compiler/collective"
)

// Places are dense slices, one for each buffer, so that programs of millions of
// operations are traced at the speed of memory. Buffer names are converted to
// places by collective.Place. That is a constant shift within a rank, so it is
// computed once for each buffer.

// place is the state of one chunk of a buffer.
type place struct {
	version int32 // the operation that last wrote it, counted from 1; 0 initially
	value   value
}

// rank holds the buffers of one rank.
type rank struct {
	buffers [][]place // by canonical buffer; named ones follow Scratch; none in a sketch
	scratch []int     // chunks of Scratch and of named buffers
	names   [2]name   // the meanings of In and Out
	// output is the part of the canonical In buffer that is the call's output
	// as well: [from, to). The rest of it belongs to the caller.
	output [2]int32
}

// name is the canonical buffer and range of a buffer name.
type name struct {
	buf   collective.Buffer
	shift int
	size  int // how many chunks the name reaches
}

// layOut sizes the buffers of all ranks and fills in the precondition.
func (t *Trace) layOut() error {
	c := t.coll
	if c.Chunks > MaxPlaces || c.LoopChunks() > MaxPlaces {
		return t.errorf("%s of %d chunks: more than can be traced (%d)", c.Name, c.Chunks, MaxPlaces)
	}
	for r := range c.Ranks {
		t.places += c.BufferChunks(r, collective.In) + c.BufferChunks(r, collective.Out)
		if t.places > MaxPlaces {
			return t.errorf("%s of %d chunks over %d ranks: more than can be traced (%d in all)", c.Name, c.Chunks, c.Ranks, MaxPlaces)
		}
	}
	var all []place
	if !t.sketch {
		all = make([]place, t.places)
	}
	t.ranks = make([]rank, c.Ranks)
	t.values.inputs = make([]int32, 1, c.Ranks+1)
	for r := range t.ranks {
		k := &t.ranks[r]
		k.buffers, k.scratch = make([][]place, collective.Scratch+1), make([]int, 1)
		for _, b := range [...]collective.Buffer{collective.In, collective.Out} {
			n := c.BufferChunks(r, b)
			if !t.sketch {
				k.buffers[b], all = all[:n:n], all[n:]
			}
			at, shift := c.Place(r, b, 0)
			k.names[b] = name{buf: at, shift: shift, size: n}
			if at != b {
				k.names[b].size = c.InChunks(r)
				if b == collective.Out {
					k.names[b].size = c.OutChunks(r)
				}
			}
		}
		if out := k.names[collective.Out]; out.buf == collective.In {
			k.output = [2]int32{int32(out.shift), int32(out.shift + out.size)}
		}
		in, n := k.names[collective.In], c.InChunks(r)
		first := t.values.inputs[r]
		for i := 0; i < n && !t.sketch; i++ {
			k.buffers[in.buf][in.shift+i].value = input(first + int32(i))
		}
		t.values.inputs = append(t.values.inputs, first+int32(n))
	}
	return nil
}

// resolve converts the program's own place to a canonical span, and checks that
// it lies within its buffer. Scratch has no fixed size: it extends as far as it
// is used.
func (t *Trace) resolve(r int, buf collective.Buffer, index, count, stride int) (Span, error) {
	if t.err != nil {
		return Span{}, t.err
	}
	switch {
	case r < 0 || r >= len(t.ranks):
		return Span{}, t.errorf("rank %d is out of range: there are %d ranks", r, len(t.ranks))
	case int(buf) > int(collective.Scratch)+len(t.named):
		return Span{}, t.errorf("buffer %d: want in, out or scratch, or one that Named gave", buf)
	case count < 1 || count > MaxPlaces:
		return Span{}, t.errorf("a reference to %d chunks: want at least 1, at most %d", count, MaxPlaces)
	case stride < 1 || stride > MaxPlaces:
		return Span{}, t.errorf("a stride of %d chunks: want at least 1, at most %d", stride, MaxPlaces)
	}
	if count == 1 {
		stride = 1
	}
	n := name{buf: buf, size: MaxScratch}
	if buf < collective.Scratch {
		n = t.ranks[r].names[buf]
	}
	if index < 0 || index > MaxPlaces || index+(count-1)*stride >= n.size {
		return Span{}, t.errorf("%s is out of range: %s of rank %d holds %s",
			formatSpan(r, t.BufferName(buf), index, count, stride), t.BufferName(buf), r, chunks(n.size))
	}
	return Span{Rank: int32(r), Buf: n.buf, Index: int32(n.shift + index), Count: int32(count), Stride: int32(stride)}, nil
}

func (t *Trace) buffer(s Span) []place {
	if b := t.ranks[s.Rank].buffers; int(s.Buf) < len(b) {
		return b[s.Buf]
	}
	return nil
}

// checkWritable returns an error if s is not the program's to write: the input
// of a call is the caller's, but where the output overlaps it.
func (t *Trace) checkWritable(s Span) error {
	if s.Buf != collective.In {
		return nil
	}
	out := t.ranks[s.Rank].output
	if s.Index >= out[0] && s.last() < out[1] {
		return nil
	}
	where := "out of place"
	if t.coll.InPlace {
		where = "in place"
	}
	return t.errorf("%s is input and not output of a call %s: it belongs to the caller, and must not be overwritten", t.spanName(s), where)
}

// growScratch extends a scratch buffer to contain s.
func (t *Trace) growScratch(s Span) error {
	if s.Buf < collective.Scratch {
		return nil
	}
	k, n := &t.ranks[s.Rank], int(s.Buf-collective.Scratch)
	for n >= len(k.scratch) {
		k.buffers, k.scratch = append(k.buffers, nil), append(k.scratch, 0)
	}
	more := int(s.last()) + 1 - k.scratch[n]
	if more <= 0 {
		return nil
	}
	if t.places += more; t.places > MaxPlaces {
		return t.errorf("%s: the buffers of all ranks hold more than %d chunks", t.spanName(s), MaxPlaces)
	}
	k.scratch[n] += more
	if b := &k.buffers[s.Buf]; !t.sketch {
		*b = slices.Grow(*b, more)[:k.scratch[n]]
	}
	return nil
}

func overlap(a, b Span) bool {
	if a.Rank != b.Rank || a.Buf != b.Buf {
		return false
	}
	aEnd, bEnd := a.last(), b.last()
	if a.Index > bEnd || b.Index > aEnd {
		return false
	}
	for i := range a.Count {
		if d := a.Index + i*a.Stride - b.Index; d >= 0 && d%b.Stride == 0 && d/b.Stride < b.Count {
			return true
		}
	}
	return false
}

func chunks(n int) string {
	switch n {
	case 0:
		return "no chunks"
	case 1:
		return "1 chunk"
	}
	return strconv.Itoa(n) + " chunks"
}
