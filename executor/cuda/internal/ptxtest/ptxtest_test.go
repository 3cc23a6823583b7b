package ptxtest

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// body is a module of one kernel: its parameter is an address in %rd1, and %r1
// is the thread.
func body(text string) string {
	return `.version 6.0
.target sm_70
.address_size 64
.visible .shared .align 16 .b8 together[256];
.func (.param .b32 back) half(
	.param .b32 given
)
{
	.local .align 8 .b8 depot[16];
	.reg .b32 %r<4>;
	.reg .b64 %SP, %SPL;
	mov.u64 %SPL, depot;
	cvta.local.u64 %SP, %SPL;
	ld.param.u32 %r1, [given];
	st.u32 [%SP+4], %r1;
	ld.local.u32 %r2, [%SPL+4];
	shr.u32 %r2, %r2, 1;
	st.param.b32 [back+0], %r2;
	ret;
}
.visible .entry k(
	.param .align 8 .b8 k_param_0[16]
)
.maxntid 64, 1, 1
{
	.local .align 8 .b8 depot1[32];
	.reg .pred %p<9>;
	.reg .b16 %rs<9>;
	.reg .b32 %r<19>;
	.reg .f32 %f<9>;
	.reg .f64 %fd<9>;
	.reg .b64 %rd<19>;
	ld.param.u64 %rd1, [k_param_0];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd9, %r1, 8;
	add.s64 %rd9, %rd9, %rd1; // the thread's own 8 bytes
` + text + `
}
`
}

// ran runs a kernel of 64 threads on memory of 1 KiB, and gives the memory and
// what threads were ended for.
func ran(t testing.TB, m *Machine, text string) ([]byte, string) {
	t.Helper()
	module, err := Parse([]byte(body(text)))
	if err != nil {
		t.Fatal(err)
	}
	m.Use()
	r := m.memory.alloc(1024, 0)
	clear(r.bytes)
	parameter := make([]byte, 16)
	putWord(parameter, 8, r.at)
	putWord(parameter[8:], 8, 0x1122334455667788)
	g := m.begin(0, module, module.functions["k"], 1, 64, parameter)
	for !g.done() && !m.lost {
		m.run(1 << 16)
	}
	return r.bytes, strings.Join(m.Faults, "\n")
}

// TestInstructions runs a few each: what a thread leaves in its 8 bytes.
func TestInstructions(t *testing.T) {
	const store = "st.global.u64 [%rd9], %rd2; ret;"
	f32 := func(v float32) uint64 { return uint64(math.Float32bits(v)) }
	for _, tc := range []struct {
		text string
		want uint64
	}{
		{"ld.param.u64 %rd2, [k_param_0+8];", 0x1122334455667788},
		{"mov.b64 %rd3, k_param_0; ld.param.v2.u32 {%r2, %r3}, [%rd3+8]; cvt.u64.u32 %rd2, %r3;", 0x11223344},
		{"mov.u64 %rd2, -2; shr.s64 %rd2, %rd2, 70;", math.MaxUint64},
		{"mov.u64 %rd2, -2; shr.u64 %rd2, %rd2, 63;", 1},
		{"mov.u64 %rd2, 3; shl.b64 %rd2, %rd2, 64;", 0},
		{"mov.u32 %r2, -1; add.s32 %r2, %r2, 3; cvt.u64.u32 %rd2, %r2;", 2},
		{"mov.u32 %r2, -8; cvt.s64.s32 %rd2, %r2; neg.s32 %r2, %r2;", ^uint64(7)},
		{"mov.u32 %r2, -8; mov.u32 %r3, 3; mul.wide.u32 %rd2, %r2, %r3;", 0xfffffff8 * 3},
		{"mov.u16 %rs1, -8; mul.wide.s16 %r2, %rs1, 3; cvt.s64.s32 %rd2, %r2;", ^uint64(23)},
		{"mov.u64 %rd2, -3; mov.u64 %rd3, 5; mul.hi.s64 %rd2, %rd2, %rd3;", math.MaxUint64},
		{"mov.u64 %rd2, -3; mov.u64 %rd3, -5; mul.hi.s64 %rd2, %rd2, %rd3;", 0},
		{"mov.u32 %r2, -7; mov.u32 %r3, 2; mad.lo.s32 %r2, %r2, %r3, 20; cvt.u64.u32 %rd2, %r2;", 6},
		{"mov.u64 %rd2, -7; div.s64 %rd2, %rd2, 2;", ^uint64(2)},
		{"mov.u64 %rd2, -7; div.u64 %rd2, %rd2, 2;", (math.MaxUint64 - 6) / 2},
		{"mov.u64 %rd2, 17; rem.u64 %rd2, %rd2, 5;", 2},
		{"mov.u32 %r2, 0xabcd; bfe.u32 %r2, %r2, 4, 8; cvt.u64.u32 %rd2, %r2;", 0xbc},
		{"mov.u16 %rs1, -3; mov.u16 %rs2, 4; min.s16 %rs1, %rs1, %rs2; cvt.u64.u16 %rd2, %rs1;", 0xfffd},
		{"mov.u16 %rs1, -3; mov.u16 %rs2, 4; min.u16 %rs1, %rs1, %rs2; cvt.u64.u16 %rd2, %rs1;", 4},
		{"mov.u16 %rs1, 0x1f0; cvt.s16.s8 %rs1, %rs1; cvt.u64.u16 %rd2, %rs1;", 0xfff0},
		{"mov.b32 %r2, 0x12345678; mov.b32 {%rs1, %rs2}, %r2; mov.b32 %r3, {%rs2, %rs1}; cvt.u64.u32 %rd2, %r3;", 0x56781234},
		{"mov.f32 %f1, 0f3F800000; add.f32 %f1, %f1, 0f40000000; mov.b32 %r2, %f1; cvt.u64.u32 %rd2, %r2;", f32(3)},
		{"mov.f64 %fd1, 0d4008000000000000; mul.f64 %fd1, %fd1, %fd1; neg.f64 %fd1, %fd1; mov.b64 %rd2, %fd1;", math.Float64bits(-9)},
		{"mov.u64 %rd2, 16777217; cvt.rn.f32.u64 %f1, %rd2; mov.b32 %r2, %f1; cvt.u64.u32 %rd2, %r2;", f32(16777216)},
		{"mov.u64 %rd2, -4; cvt.rn.f64.s64 %fd1, %rd2; mov.b64 %rd2, %fd1;", math.Float64bits(-4)},
		{"mov.u16 %rs1, 0x3c01; cvt.f32.f16 %f1, %rs1; cvt.rn.f16.f32 %rs1, %f1; cvt.u64.u16 %rd2, %rs1;", 0x3c01},
		{"mov.f32 %f1, 0f7FC00000; setp.lt.f32 %p1, %f1, %f1; setp.ne.s32 %p2, 1, 2; or.pred %p1, %p1, %p2; not.pred %p1, %p1; selp.u64 %rd2, 5, 6, %p1;", 6},
		{"mov.u32 %r2, -1; setp.lt.s32 %p1, %r2, 0; setp.gt.u32 %p2, %r2, 7; and.pred %p1, %p1, %p2; selp.b64 %rd2, 5, 6, %p1;", 5},
		{"mov.u64 %rd2, 1; setp.eq.s64 %p1, %rd2, 2; @!%p1 bra $over; mov.u64 %rd2, 9; $over: @%p1 mov.u64 %rd2, 8;", 1},
		{"{ .param .b32 p0; st.param.b32 [p0+0], 14; .param .b32 q; call.uni (q), half, (p0); ld.param.b32 %r2, [q+0]; } cvt.u64.u32 %rd2, %r2;", 7},
		{"{ .reg .b64 %rd9; mov.u64 %rd9, 4; mov.u64 %rd2, %rd9; }", 4},
		{"mov.u64 %rd3, depot1; mov.u16 %rs1, 200; st.local.u8 [%rd3+3], %rs1; cvta.local.u64 %rd4, %rd3; ld.s8 %rd2, [%rd4+3];", ^uint64(55)},
		{"mov.u64 %rd3, depot1; st.local.v2.u32 [%rd3], {7, %r1}; ld.local.u64 %rd2, [%rd3]; and.b64 %rd2, %rd2, 0xffff;", 7},
		{"mov.u64 %rd3, depot1; mov.u64 %rd2, -1; st.local.u64 [%rd3+8], %rd2; ld.local.v4.u8 {%rs1, %rs2, %rs3, %rs4}, [%rd3+8]; cvt.u64.u16 %rd2, %rs4;", 255},
		{"mov.u64 %rd2, 3; st.global.v2.u64 [%rd1+512], {%rd2, 9}; ld.global.v2.u64 {%rd3, %rd2}, [%rd1+512];", 9},
		{"mov.u32 %r2, 7; st.volatile.global.v4.u32 [%rd1+512], {%r2, 8, 9, 10}; ld.volatile.global.v4.u32 {%r3, %r4, %r5, %r6}, [%rd1+512]; cvt.u64.u32 %rd2, %r6;", 10},
		{"atom.relaxed.gpu.global.cas.b32 %r2, [%rd9], 0, 5; atom.relaxed.gpu.global.cas.b32 %r3, [%rd9], 0, 6; cvt.u64.u32 %rd2, %r3;", 5},
		{"mov.u32 %r2, %ntid.x; mov.u32 %r3, %nctaid.x; add.s32 %r2, %r2, %r3; cvt.u64.u32 %rd2, %r2;", 65},
		{"mov.u64 %rd3, %globaltimer; mov.u64 %rd4, %globaltimer; setp.lt.u64 %p1, %rd3, %rd4; selp.u64 %rd2, 1, 0, %p1;", 1},
	} {
		b, said := ran(t, &Machine{}, tc.text+store)
		for i := range 64 {
			if got := word(b[8*i:], 8); got != tc.want || said != "" {
				t.Errorf("%s\nthread %d has %#x, want %#x %s", tc.text, i, got, tc.want, said)
				break
			}
		}
	}
}

// TestMeetings has threads part and come together again.
func TestMeetings(t *testing.T) {
	for seed := range uint64(50) {
		for _, weak := range []bool{false, true} {
			// Each leaves its number in shared memory, and takes its neighbour's;
			// the odd ones go another way there.
			b, said := ran(t, &Machine{Seed: seed, Weak: weak}, `
	and.b32 %r2, %r1, 1;
	setp.eq.s32 %p1, %r2, 1;
	mul.wide.u32 %rd2, %r1, 2;
	mov.u64 %rd3, together;
	add.s64 %rd3, %rd3, %rd2;
	cvt.u16.u32 %rs1, %r1;
	@%p1 bra $odd;
	st.shared.u16 [%rd3], %rs1;
	bra.uni $meet;
$odd:
	add.s16 %rs1, %rs1, 100;
	st.shared.u16 [%rd3], %rs1;
$meet:
	bar.sync 0;
	xor.b32 %r3, %r1, 63;
	mul.wide.u32 %rd2, %r3, 2;
	mov.u64 %rd3, together;
	add.s64 %rd3, %rd3, %rd2;
	ld.shared.u16 %rs2, [%rd3];
	setp.eq.s32 %p2, %r1, 40;
	vote.sync.any.pred %p3, %p2, -1;
	bar.warp.sync -1;
	bar.red.or.pred %p4, 0, %p2;
	cvt.u64.u16 %rd4, %rs2;
	selp.u64 %rd5, 1000, 0, %p3;
	selp.u64 %rd6, 10000, 0, %p4;
	add.s64 %rd4, %rd4, %rd5;
	add.s64 %rd4, %rd4, %rd6;
	st.global.u64 [%rd9], %rd4;
	ret;`)
			for i := range 64 {
				want := uint64(10000 + 63 - i + (63-i)%2*100 + i/32*1000)
				if got := word(b[8*i:], 8); got != want || said != "" {
					t.Fatalf("seed %d: thread %d has %d, want %d %s", seed, i, got, want, said)
				}
			}
		}
	}
}

// TestFaults has threads do what a GPU would end them for, or leave undefined.
func TestFaults(t *testing.T) {
	for _, tc := range []struct{ text, says string }{
		{"ld.global.v2.u64 {%rd2, %rd3}, [%rd1+8]; ret;", "which is not aligned to them"},
		{"ld.volatile.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+8]; ret;", "which is not aligned to them"},
		{"ld.global.u16 %rs1, [%rd1+1]; ret;", "2 bytes at"},
		{"ld.global.u64 %rd2, [%rd1+1024]; ret;", "which were not allocated"},
		{"mov.u64 %rd2, 0; st.global.u64 [%rd2], %rd1; ret;", "8 bytes at 0x0, which were not allocated"},
		{"mov.u64 %rd2, together; ld.global.u64 %rd3, [%rd2]; ret;", "which were not allocated"},
		{"ld.shared.u64 %rd2, [together+256]; ret;", "of shared memory, which has 256"},
		{"mov.u64 %rd3, depot1; ld.local.u64 %rd2, [%rd3+32]; ret;", "of local memory, which has 32"},
		{"ld.param.u64 %rd2, [k_param_0+16]; ret;", "of param memory, which has 16"},
		{"st.global.u64 [%rd9], %rd2; ret;", "what was never written is stored where others read it"},
		{"ld.shared.u64 %rd2, [together]; st.global.u64 [%rd9], %rd2; ret;", "what was never written"},
		{"ld.global.u64 %rd2, [%rd3]; ret;", "an address that was never written"},
		{"@%p1 bra $l; $l: ret;", "a predicate that was never written"},
		{"bar.red.or.pred %p2, 0, %p1; ret;", "a predicate that was never written"},
		{"mov.u32 %r2, 0; div.u32 %r3, %r1, %r2; ret;", "a division by 0"},
		{"setp.lt.u32 %p1, %r1, 32; @%p1 bra $l; ret; $l: bar.sync 0; ret;", "barrier"},
		{"setp.eq.s32 %p1, %r1, 3; @%p1 bra $l; bar.sync 0; ret; $l: bar.sync 0; ret;", "threads of a warp meet at different instructions"},
		{"setp.lt.u32 %p1, %r1, 32; mov.pred %p2, 0; @%p1 bra $l; bar.sync 0; ret; $l: bar.red.or.pred %p3, 0, %p2; ret;", "meets one that gives none"},
		{"setp.eq.s32 %p1, %r1, 3; @%p1 bra $l; bar.warp.sync -1; $l: ret;", "of a warp"},
		{"setp.eq.s32 %p1, %r1, 3; @%p1 bra $l; bar.warp.sync -1; ret; $l: bar.sync 0; ret;", "wait at the"},
		{"mov.u64 %rd2, 1;", "k ends without ret"},
		{"$l: bra.uni $l;", "no end after"},
	} {
		if _, said := ran(t, &Machine{Most: 1 << 20}, tc.text); !strings.Contains(said, tc.says) {
			t.Errorf("%s\nsaid %q, want %q", tc.text, said, tc.says)
		}
	}
}

// TestRefused has texts refused with the line of what is wrong.
func TestRefused(t *testing.T) {
	line := strings.Count(body("~"), "\n") - strings.Count(strings.SplitAfter(body("~"), "~")[1], "\n") + 1
	for _, tc := range []struct{ text, says string }{
		{"sqrt.rn.f32 %f1, %f2; ret;", "sqrt.rn.f32 is not known here"},
		{"add.rz.f32 %f1, %f2, %f3; ret;", "add.rz.f32 is not known here"},
		{"add.s32 %r1, %r2; ret;", "add.s32 of 2 operands: want 3"},
		{"add.s32 %r1, %rd2, 1; ret;", "%rd2 has 64 bits: want 32"},
		{"add.s32 %r99, %r2, 1; ret;", `"%r99" is no register`},
		{"add.s32 %r1, %r2, x; ret;", `"x" is neither declared nor a number`},
		{"ld.global.u64 %r1, [%rd1]; ret;", "%r1 has 32 bits: want 64 at least"},
		{"ld.acquire.global.u64 %rd1, [%rd1]; ret;", "no scope that is known here"},
		{"ld.weak.u64 %rd1, [%rd1]; ret;", "ld.weak.u64 is not known here"},
		{"st.acquire.gpu.global.u64 [%rd1], %rd1; ret;", "is not known here"},
		{"ld.global.v4.u64 {%rd1, %rd2, %rd3, %rd4}, [%rd1]; ret;", "is not known here"},
		{"bar.sync 1; ret;", "only 0 is known here"},
		{"bar.warp.sync 15; ret;", "only whole warps are known here"},
		{"bra $nowhere; ret;", "no label $nowhere"},
		{"call.uni nobody; ret;", "nobody is no function that was declared"},
		{"call.uni half, (%r1); ret;", "half called with 1 arguments and 0 results"},
		{"mov.u32 %r1, %clock; ret;", "neither declared nor a number"},
		{"cvt.rzi.s32.f32 %r1, %f1; ret;", "is not known here"},
		{"fence.sc.gpu; ret;", "fence.sc.gpu is not known here"},
		{"atom.global.add.u32 %r1, [%rd1], 1; ret;", "is not known here"},
		{"@%r1 ret;", "%r1 is no predicate"},
		{"@%p1 bar.sync 0; ret;", "under a predicate is not known here"},
		{".reg .b32 %r1; ret;", "%r1 is declared twice"},
		{"#", "is no mark of PTX"},
	} {
		_, err := Parse([]byte(body(tc.text)))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.What, tc.says) || e.Line != line {
			t.Errorf("%s\ngave %v, want %q at line %d", tc.text, err, tc.says, line)
		}
	}
	for _, text := range []string{"", ".version 8.0", ".version 6.0\n.target sm_90", ".visible .entry k(", ".func f(\n)\n;", "\"", body("{ ret;")[:400]} {
		if m, err := Parse([]byte(text)); text != "" && err == nil {
			t.Errorf("%.40q gave %v", text, m)
		}
	}
}

// TestHalf holds conversions to the definition: of all numbers of half precision
// the nearest, of two as near the one whose last bit is 0.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		v := fromHalf(uint16(h))
		if back := toHalf(v); back != uint16(h) && v == v {
			t.Errorf("%#x is %g and comes back as %#x", h, v, back)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		h := rapid.Uint16Range(0, 0x7bfe).Draw(r, "half")
		low, high := float64(fromHalf(h)), float64(fromHalf(h+1))
		share := rapid.SampledFrom([]float64{0, 0.25, 0.5, 0.75, 1}).Draw(r, "share")
		v := float32(low + share*(high-low))
		want := h
		if share > 0.5 || share == 0.5 && h&1 == 1 {
			want = h + 1
		}
		if got := toHalf(v); got != want {
			r.Errorf("%g between %g and %g gave %#x, want %#x", v, low, high, got, want)
		}
		if got := toHalf(-v); got != want|0x8000 {
			r.Errorf("%g gave %#x", -v, got)
		}
	})
}

// message is a program of two blocks' worth in one: threads 0 to 31 hand data to
// threads 32 to 63 by a flag, with or without what orders them. Blocks are what
// memory is weak between, so it takes two of them.
func message(publish, acquire string) string {
	return fmt.Sprintf(`
	mov.u32 %%r2, %%ctaid.x;
	setp.eq.s32 %%p1, %%r2, 1;
	@%%p1 bra $reads;
	cvt.u64.u32 %%rd2, %%r1;
	add.s64 %%rd2, %%rd2, 1;
	st.global.u64 [%%rd9], %%rd2;
	bar.sync 0;
	setp.ne.s32 %%p2, %%r1, 0;
	@%%p2 bra $said;
	%s
	st.relaxed.gpu.global.u64 [%%rd1+2048], 1;
$said:
	ret;
$reads:
	ld.global.u64 %%rd3, [%%rd9];
$again:
	%s
	setp.eq.s64 %%p3, %%rd4, 0;
	@%%p3 bra $again;
	bar.sync 0;
	ld.global.u64 %%rd3, [%%rd9];
	st.global.u64 [%%rd9+1024], %%rd3;
	ret;`, publish, acquire)
}

// TestWeakMemory has a message arrive before its data where nothing orders them,
// for some seed, and never where both ends do.
func TestWeakMemory(t *testing.T) {
	const fence, acquire, relaxed = "fence.acq_rel.gpu;", "ld.acquire.gpu.global.u64 %rd4, [%rd1+2048];", "ld.relaxed.gpu.global.u64 %rd4, [%rd1+2048];"
	for _, tc := range []struct {
		name, publish, acquire string
		weak, wrong            bool
	}{
		{"both", fence, acquire, true, false},
		{"no fence", "", acquire, true, true},
		{"no acquire", fence, relaxed, true, true},
		{"neither, but memory is strong", "", relaxed, false, false},
	} {
		wrong := 0
		for seed := range uint64(60) {
			module, err := Parse([]byte(body(message(tc.publish, tc.acquire))))
			if err != nil {
				t.Fatal(err)
			}
			m := &Machine{Seed: seed, Weak: tc.weak}
			m.Use()
			r := m.memory.alloc(4096, 0)
			clear(r.bytes)
			parameter := make([]byte, 16)
			putWord(parameter, 8, r.at)
			g := m.begin(0, module, module.functions["k"], 2, 64, parameter)
			for !g.done() && !m.lost {
				m.run(1 << 16)
			}
			if len(m.Faults) > 0 {
				t.Fatal(m.Faults)
			}
			for i := range 64 {
				if word(r.bytes[1024+8*i:], 8) != uint64(i+1) {
					wrong++
					break
				}
			}
		}
		if (wrong > 0) != tc.wrong {
			t.Errorf("%s: %d of 60 seeds wrong", tc.name, wrong)
		}
	}
}

// TestSameSeedSameRun compares runs, instruction by instruction counted.
func TestSameSeedSameRun(t *testing.T) {
	text := "setp.lt.u32 %p1, %r1, 9; @!%p1 bra $l; mov.u64 %rd2, %globaltimer; st.global.u64 [%rd9], %rd2; $l: bar.sync 0; ret;"
	seen := map[string]bool{}
	for seed := range uint64(8) {
		one, two := &Machine{Seed: seed}, &Machine{Seed: seed}
		a, said := ran(t, one, text)
		b, _ := ran(t, two, text)
		if said != "" || string(a) != string(b) || one.Instructions != two.Instructions {
			t.Errorf("seed %d ran otherwise the second time: %s", seed, said)
		}
		seen[string(a)] = true
	}
	if len(seen) < 2 {
		t.Error("seeds change nothing")
	}
}

// FuzzParse has any text be read or refused, and never more.
func FuzzParse(f *testing.F) {
	f.Add(body("ret;"))
	f.Add(body(message("fence.acq_rel.sys;", "ld.volatile.global.v2.u64 {%rd4, %rd5}, [%rd1];")))
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := Parse([]byte(text)); (m == nil) == (err == nil) {
			t.Errorf("%v, %v", m, err)
		}
	})
}
