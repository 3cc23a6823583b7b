package ir

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
)

// Hash returns the SHA-256, in hexadecimal, of version, collective, GPUs and the
// protocol, if there is one, in a canonical binary form. It leaves out name, comment, and places that a
// step's instruction does not use.
func (p *Program) Hash() string {
	h := hasher{sum: sha256.New(), buf: make([]byte, 0, 1<<16)}
	h.number(Version)
	spec, _ := json.Marshal(p.Collective) // of numbers and strings: never fails
	h.number(len(spec))
	h.buf = append(h.buf, spec...)
	h.number(len(p.GPUs))
	for g := range p.GPUs {
		h.gpu(&p.GPUs[g])
	}
	h.buf = append(h.buf, p.Protocol...)
	h.sum.Write(h.buf)
	return hex.EncodeToString(h.sum.Sum(nil))
}

// hasher buffers numbers before they are hashed.
type hasher struct {
	sum hash.Hash
	buf []byte
}

func (h *hasher) number(n int) { h.buf = binary.AppendVarint(h.buf, int64(n)) }

// flush empties the buffer when it is nearly full.
func (h *hasher) flush() {
	if len(h.buf) > 1<<15 {
		h.sum.Write(h.buf)
		h.buf = h.buf[:0]
	}
}

func (h *hasher) gpu(gpu *GPU) {
	h.number(gpu.Scratch)
	h.number(len(gpu.Threadblocks))
	for t := range gpu.Threadblocks {
		tb := &gpu.Threadblocks[t]
		h.number(tb.Send)
		h.number(tb.Recv)
		h.number(tb.Channel)
		h.number(len(tb.Steps))
		for s := range tb.Steps {
			h.step(&tb.Steps[s])
		}
		h.flush()
	}
}

func (h *hasher) step(st *Step) {
	flag := 0
	if st.HasDep {
		flag = 1
	}
	h.number(int(st.Op)<<1 | flag)
	h.number(int(st.Count))
	if st.Op.ReadsSrc() {
		h.place(st.Src, st.Count)
	}
	if st.Op.WritesDst() {
		h.place(st.Dst, st.Count)
	}
	h.number(len(st.Deps))
	for _, d := range st.Deps {
		h.number(int(d.TB))
		h.number(int(d.Step))
		h.flush()
	}
	h.flush()
}

func (h *hasher) place(l Loc, count int32) {
	if l.Contiguous(count) {
		h.number(int(l.Off)<<2 | int(l.Buf))
		return
	}
	h.number(int(l.Off)<<2 | 3) // no buffer: what follows is the stride's, with the buffer
	h.number(int(l.Stride)<<2 | int(l.Buf))
}
