package ir

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
)

// Hash is the SHA-256, in hexadecimal, of everything that the program does:
// version, collective and GPUs, in a canonical binary form; not its name and
// comment, nor a place that a step's instruction does not use.
func (p *Program) Hash() string {
	h := sha256.New()
	buf := make([]byte, 0, 1<<16)
	put := func(n int) { buf = binary.AppendVarint(buf, int64(n)) }
	place := func(l Loc, count int32) {
		if l.Contiguous(count) {
			put(int(l.Off)<<2 | int(l.Buf))
			return
		}
		put(int(l.Off)<<2 | 3) // no buffer: what follows is the stride's, with the buffer
		put(int(l.Stride)<<2 | int(l.Buf))
	}

	put(Version)
	spec, _ := json.Marshal(p.Collective) // of numbers and strings: never fails
	put(len(spec))
	buf = append(buf, spec...)
	put(len(p.GPUs))
	for g := range p.GPUs {
		gpu := &p.GPUs[g]
		put(gpu.Scratch)
		put(len(gpu.Threadblocks))
		for t := range gpu.Threadblocks {
			tb := &gpu.Threadblocks[t]
			put(tb.Send)
			put(tb.Recv)
			put(tb.Channel)
			put(len(tb.Steps))
			for s := range tb.Steps {
				st := &tb.Steps[s]
				flag := 0
				if st.HasDep {
					flag = 1
				}
				put(int(st.Op)<<1 | flag)
				put(int(st.Count))
				if st.Op.ReadsSrc() {
					place(st.Src, st.Count)
				}
				if st.Op.WritesDst() {
					place(st.Dst, st.Count)
				}
				put(len(st.Deps))
				for _, d := range st.Deps {
					put(int(d.TB))
					put(int(d.Step))
					if len(buf) > 1<<15 {
						h.Write(buf)
						buf = buf[:0]
					}
				}
				if len(buf) > 1<<15 {
					h.Write(buf)
					buf = buf[:0]
				}
			}
		}
		if len(buf) > 1<<15 {
			h.Write(buf)
			buf = buf[:0]
		}
	}
	h.Write(buf)
	return hex.EncodeToString(h.Sum(nil))
}
