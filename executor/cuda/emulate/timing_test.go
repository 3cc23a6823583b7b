package emulate

import (
	"fmt"
	"testing"
)

// timed runs a kernel of 64 threads a block, and gives what it took.
func timed(t *testing.T, costs *Costs, blocks int, text string) Timing {
	t.Helper()
	module, err := Parse([]byte(body(text)))
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{Costs: costs}
	m.Use()
	r := m.memory.alloc(1024, 0)
	clear(r.bytes)
	parameter := make([]byte, 16)
	putWord(parameter, 8, r.at)
	g := m.begin(0, module, module.functions["k"], blocks, 64, parameter)
	for !g.done() && !m.lost {
		m.run(1 << 16)
	}
	if len(m.Faults) > 0 || len(m.Timings) != 1 {
		t.Fatalf("%v, %d timings", m.Faults, len(m.Timings))
	}
	return m.Timings[0]
}

// TestTimings has small kernels wait for what they must, and for nothing twice.
func TestTimings(t *testing.T) {
	c := Costs{Memory: 1000, Near: 100, Store: 3000, Fence: 500, Block: 50, Shared: 10}
	for _, one := range []struct {
		name, text string
		blocks     int
		cycles     int // other costs are none
		waits      map[Cause]int
	}{
		{"nothing", "ret;", 1, 0, map[Cause]int{}},
		{"a load that nobody reads", "ld.global.u64 %rd2, [%rd9]; ret;", 1, 0, map[Cause]int{}},
		{"two loads at once", "ld.global.u64 %rd2, [%rd9]; ld.global.u64 %rd3, [%rd9+512]; add.s64 %rd2, %rd2, %rd3; setp.eq.s64 %p1, %rd2, 0; @%p1 bra END; END: ret;", 1, 1000, map[Cause]int{Loads: 1}},
		{"one load after another", "ld.global.u64 %rd2, [%rd9]; add.s64 %rd2, %rd2, %rd9; ld.global.u64 %rd3, [%rd2+512]; setp.eq.s64 %p1, %rd3, 0; @%p1 bra END; END: ret;", 1, 2000, map[Cause]int{Loads: 2}},
		{"a line that was read before", "ld.global.u64 %rd2, [%rd9]; add.s64 %rd2, %rd2, %rd9; ld.global.u64 %rd3, [%rd2]; setp.eq.s64 %p1, %rd3, 0; @%p1 bra END; END: ret;", 1, 1100, map[Cause]int{Loads: 1, Nearby: 1}},
		{"a line that was read before a fence", "ld.global.u64 %rd2, [%rd9]; add.s64 %rd2, %rd2, %rd9; fence.acq_rel.gpu; ld.global.u64 %rd3, [%rd2]; setp.eq.s64 %p1, %rd3, 0; @%p1 bra END; END: ret;", 1, 2500, map[Cause]int{Loads: 2, Fences: 1}},
		{"a store that is under way at the end", "st.global.u64 [%rd9], 1; ret;", 1, 3000, map[Cause]int{Drain: 1}},
		{"a store that a fence has waited for", "st.global.u64 [%rd9], 1; fence.acq_rel.gpu; ret;", 1, 3500, map[Cause]int{Flags: 1, Fences: 1}},
		{"a meeting", "bar.sync 0; ret;", 1, 50, map[Cause]int{Meeting: 1}},
		// Polls begin at 0, 1000, 2000 and so on; the one at 3000 finds what it
		// is for, and has it a load later.
		{"a flag of another block", `mov.u32 %r2, %ctaid.x;
			setp.eq.s32 %p1, %r2, 0;
			@%p1 bra STORE;
			LOOP: ld.relaxed.gpu.global.u64 %rd2, [%rd1];
			setp.eq.s64 %p2, %rd2, 0;
			@%p2 bra LOOP;
			ret;
			STORE: st.relaxed.gpu.global.u64 [%rd1], 1;
			ret;`, 2, 4000, map[Cause]int{Flags: 2, Loads: 1}},
	} {
		t.Run(one.name, func(t *testing.T) {
			got := timed(t, &c, one.blocks, one.text)
			waits := map[Cause]int{}
			for _, e := range got.Path {
				waits[e.What]++
			}
			if got.Cycles != one.cycles || fmt.Sprint(waits) != fmt.Sprint(one.waits) {
				t.Errorf("%d cycles, %v: want %d, %v", got.Cycles, waits, one.cycles, one.waits)
			}
		})
	}
}
