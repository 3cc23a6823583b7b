package mscclpp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/colltune/colltune/compiler/verify"
)

// reportCycle reports the waits from threadblock t on, until a threadblock
// repeats or does not wait for another.
func (r *run) reportCycle(t int) {
	const most = 12
	var b strings.Builder
	seen := map[int]bool{}
	first := t
	for n := 0; ; n++ {
		s, tb := &r.tbs[t], &r.m.tbs[t]
		if n > 0 {
			b.WriteString("; ")
		}
		if n == most {
			b.WriteString("and so on")
			break
		}
		seen[t] = true
		in := &tb.code[s.pc]
		fmt.Fprintf(&b, "gpu %d threadblock %d op %d (%s) waits for %s", tb.gpu, tb.id, in.at, in.op.Kind.Name, s.why)
		next := r.helper(t)
		if next < 0 {
			b.WriteString(", and nobody is left to bring it")
			break
		}
		if t = next; seen[t] {
			fmt.Fprintf(&b, "; which gpu %d threadblock %d would bring", r.m.tbs[t].gpu, r.m.tbs[t].id)
			break
		}
	}
	in := &r.m.tbs[first].code[r.tbs[first].pc]
	r.m.fail(verify.Deadlock, r.m.tbs[first].gpu, r.m.tbs[first].id, in.at, "%s", b.String())
}

// helper returns a blocked threadblock that could still post what t waits for,
// or -1.
func (r *run) helper(t int) int {
	key := r.tbs[t].key
	able := func(u int) bool { return u != t && r.tbs[u].blocked }
	if key >= 0 {
		for _, u := range r.m.counters[key].posters {
			if able(u) {
				return u
			}
		}
		return -1
	}
	if in := &r.m.tbs[t].code[r.tbs[t].pc]; in.op.Kind.effect == meets {
		for _, u := range r.m.barriers[in.barrier] {
			if able(u) && !slices.Contains(r.barrier[in.barrier], u) {
				return u
			}
		}
		return -1
	}
	cell := (-1 - key) / 2
	for u := range r.tbs {
		if !able(u) {
			continue
		}
		code := r.m.tbs[u].code
		for pc := r.tbs[u].pc; pc < len(code); pc++ {
			for i := range code[pc].dst {
				g := &code[pc].dst[i]
				for _, first := range g.first {
					if g.packets && cell >= first && cell < first+2*code[pc].cells {
						return u
					}
				}
			}
		}
	}
	return -1
}
