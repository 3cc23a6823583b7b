package compiler

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// placed compiles a program up to pass threadblocks, or place local. Dead copies remain.
func placed(t interface{ Fatal(...any) }, p *lang.Program, o Options, homed bool) *program {
	if _, err := o.complete(); err != nil {
		t.Fatal(err)
	}
	prog := newProgram(p, o)
	for _, pass := range passes[:passIndex("synchronise")] {
		if pass.Name == "propagate copies" || pass.Name == "sink copies" || pass.Name == "place local" && !homed {
			continue
		}
		if err := pass.run(prog); err != nil {
			t.Fatal(err)
		}
	}
	return prog
}

// TestEstimate compares estimates with ones computed by hand.
func TestEstimate(t *testing.T) {
	copiedOn := func(b *builder) {
		b.copy(sc(0, 0), sc(1, 0), 1)
		b.copy(sc(1, 0), sc(1, 1), 1)
	}
	another := func(b *builder) {
		copiedOn(b)
		b.copy(sc(1, 2), sc(0, 2), 1)
	}
	for _, c := range []struct {
		name  string
		write func(*builder)
		homed bool
		want  estimate
	}{
		// 4 + 15; and 1 + 1 + 50, or 2 + 4 + 30, six times, and four times.
		{"a copy", func(b *builder) { b.copy(sc(0, 0), sc(0, 1), 1) }, false, estimate{19, 312, 208, 216, 144}},
		// It is there 5, 1, 4 after it is sent, which takes 4, 21, 42: who receives
		// keeps up.
		{"a message", func(b *builder) { b.copy(sc(0, 0), sc(1, 0), 1) }, false, estimate{9, 127, 84, 256, 168}},
		// 19 more for a small one. A tile takes 19 + 52, and 42 + 36; the first is
		// there at 22, and 46, and copied on at 74, and 82.
		{"a message, copied on", copiedOn, false, estimate{28, 429, 284, 472, 312}},
		// The threadblock that copies sends before: it waits 15, 1, 12 for the other,
		// and a tile takes it 21 + 1 + 52, and 42 + 12 + 36.
		{"a message, copied on by the idlest", another, false, estimate{43, 445, 296, 544, 360}},
		{"a message, copied on at home", another, true, estimate{28, 429, 284, 472, 312}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := scratchpad()
			c.write(b)
			if got := placed(t, &b.p, Options{}, c.homed).estimate(); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestSlotLatency: a ring in which all ranks send all the time takes longer the later
// senders learn of free slots.
func TestSlotLatency(t *testing.T) {
	prog := placed(t, families()["ring 4"], Options{MaxChannels: 1000}, false)
	before := prog.estimate()
	defer func(c [sizes]costs) { costsAt = c }(costsAt)
	for k := range costsAt {
		costsAt[k].slotLatency += 1000
	}
	after := prog.estimate()
	for k := 1; k < len(after); k++ { // one tile of a small message fills no slot twice
		if after[k] <= before[k] {
			t.Errorf("estimate %d is %d, and was %d", k, after[k], before[k])
		}
	}
}

// TestPlaceLocalLosesLittle: on random programs, no estimate is worse by more than
// maxLossDivisor allows, and only local instructions move.
func TestPlaceLocalLosesLittle(t *testing.T) {
	shorter := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SampledFrom([]func(*rapid.T) *lang.Program{drawCopies, drawExchanges, drawDeliveries, drawRouting}).Draw(t, "program")
		p, o := draw(t), Options{Instances: rapid.IntRange(1, 2).Draw(t, "instances"), MaxChannels: 1000}
		before, after := placed(t, p, o, false), placed(t, p, o, true)
		was, is := before.estimate(), after.estimate()
		for k := range is {
			if 50*(is[k]-was[k]) > was[k] {
				t.Fatalf("estimate %d is %d, and was %d", k, is[k], was[k])
			}
		}
		if is != was {
			shorter++
		}
		checkPlacement(t, before, after)
	})
	if shorter == 0 {
		t.Error("no program is shorter for it: the programs do not try it")
	}
}

// TestPlaceLocalKeepsOrder: under every criterion, no instruction is estimated to begin
// before its dependencies are complete, or before the one ahead of it in its threadblock.
func TestPlaceLocalKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		prog := placed(t, drawCopies(t), Options{MaxChannels: 1000}, false)
		if !prog.worthPlacing() {
			return
		}
		fixed := prog.withoutLocal()
		prog.tbOf = fixed
		h := newLocalPlacer(prog)
		for _, w := range placementCriteria {
			prog.tbOf, prog.posOf = slices.Clone(fixed), make([]int32, len(prog.ins))
			h.placeAll(w.less)
			free := make([]int64, len(prog.tbs))
			for _, i := range prog.seq {
				tb := prog.tbOf[i]
				begins := h.ended[i] - h.cost(i)
				if there := h.readyTime(i, tb); begins < there || begins < free[tb] {
					t.Fatalf("%s: instruction %d begins at %d; what it waits for is there at %d, and threadblock %d free at %d", w.name, i, begins, there, tb, free[tb])
				}
				free[tb] = h.ended[i]
			}
		}
	})
}

// checkPlacement fails unless only local instructions moved, within their rank, and to
// their instance if that has threadblocks; reductions into one place stay together.
func checkPlacement(t interface{ Fatalf(string, ...any) }, before, after *program) {
	instances := map[rankInstance]bool{} // that have threadblocks
	for _, tb := range after.tbs {
		instances[rankInstance{tb.rank, tb.instance}] = true
	}
	adds := map[place]int32{}
	for _, i := range after.seq {
		in, tb := &after.ins[i], &after.tbs[after.tbOf[i]]
		switch own := (rankInstance{in.rank, after.ops[in.of].instance}); {
		case after.tbs[after.tbOf[i]].steps[after.posOf[i]] != i:
			t.Fatalf("instruction %d is not where it is said to be", i)
		case !in.local() && after.tbOf[i] != before.tbOf[i]:
			t.Fatalf("instruction %d has a connection and moved", i)
		case tb.rank != in.rank || in.local() && instances[own] && tb.instance != own.instance:
			t.Fatalf("instruction %d of rank %d, instance %d is at rank %d, instance %d", i, in.rank, own.instance, tb.rank, tb.instance)
		}
		if in.local() && in.op.Reduces() {
			at := place{in.rank, after.ops[in.of].instance, in.dstOff, in.dstStride, in.count, in.dstBuf}
			if tb, ok := adds[at]; ok && tb != after.tbOf[i] {
				t.Fatalf("instruction %d adds to %v in threadblock %d, another in %d", i, at, after.tbOf[i], tb)
			}
			adds[at] = after.tbOf[i]
		}
	}
}

// TestSumsOfInstancesStayApart: two instances reduce two chunks from the same
// one on, one of them every other chunk.
func TestSumsOfInstancesStayApart(t *testing.T) {
	b := begin(collective.Spec{Name: "allgather", Ranks: 2, Chunks: 4})
	b.p.Scratch[0], b.p.Scratch[1] = 12, 12
	b.copy(in(0, 0), sc(0, 0), 1)
	b.copy(in(1, 0), sc(0, 0), 1)
	b.op(lang.Reduce, in(1, 0), sc(1, 4), 2, 2, 1)
	b.reduce(sc(1, 3), sc(1, 0), 2)
	o := Options{Instances: 2, MaxChannels: 1000}
	for _, homed := range []bool{false, true} {
		checkPlacement(t, placed(t, &b.p, o, false), placed(t, &b.p, o, homed))
	}
}
