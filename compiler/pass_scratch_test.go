package compiler

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
)

// bounces returns a program that sends a value to and fro between two ranks, each time
// into unused scratch.
func bounces(times int) *lang.Program {
	b := begin(collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1})
	for r := range 2 {
		from := in(r, 0)
		for n := range times {
			to := sc((r+n+1)%2, 2*n+r)
			b.copy(from, to, 1)
			from = to
		}
		b.copy(from, out(1-r, 0), 1)
	}
	return &b.p
}

// TestBouncesNeedOnePlaceEach: each rank needs one chunk of scratch, however often the
// value bounces.
func TestBouncesNeedOnePlaceEach(t *testing.T) {
	for _, instances := range []int{1, 3} {
		res, err := Compile(bounces(50), Options{Instances: instances})
		if err != nil {
			t.Fatal(err)
		}
		for r, g := range res.Program.GPUs {
			if g.Scratch != 2*instances {
				t.Errorf("rank %d has %d chunks of scratch with %d instances: want %d", r, g.Scratch, instances, 2*instances)
			}
		}
		if err := judge(res.Program, Options{}, 5); err != nil {
			t.Error(err)
		}
	}
}

// TestScratchIsOfAllRanksOrOfNone: 800 values on each of two ranks are too many to search,
// so both keep their layout; a rank without accesses still loses its scratch.
func TestScratchIsOfAllRanksOrOfNone(t *testing.T) {
	const times = 800
	if times*times > maxScratchWork || 2*times*times <= maxScratchWork {
		t.Fatal("the first rank alone must be few enough, and both too many")
	}
	p := bounces(times)
	res, err := Compile(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for r, g := range res.Program.GPUs {
		if g.Scratch != p.Scratch[r] {
			t.Errorf("rank %d has %d chunks of scratch: want the %d it was given", r, g.Scratch, p.Scratch[r])
		}
	}

	b := begin(collective.Spec{Name: "sendrecv", Ranks: 3, Chunks: 1})
	b.p.Scratch[2] = 5
	for r := range 3 {
		b.copy(in(r, 0), out((r+1)%3, 0), 1)
	}
	for n := range 2 * times {
		b.copy(in(0, 0), sc(1, n), 1)
	}
	if res, err = Compile(&b.p, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := res.Program.GPUs[2].Scratch; got != 0 {
		t.Errorf("rank 2 has %d chunks of scratch and uses none", got)
	}
}

// TestScratchAddsNoWait: reuse adds no wait, and no rank has more scratch.
func TestScratchAddsNoWait(t *testing.T) {
	measure := func(p *lang.Program, o Options) (waits int, scratch []int) {
		res, err := Compile(p, o)
		if err != nil {
			t.Fatal(err)
		}
		eachWait(res.Program, func(*ir.Step, int) { waits++ })
		for _, g := range res.Program.GPUs {
			scratch = append(scratch, g.Scratch)
		}
		return waits, scratch
	}
	rapid.Check(t, func(t *rapid.T) {
		p := drawRouting(t)
		o := Options{MaxChannels: 1000, Disable: []string{"slots"}}
		waits, size := measure(p, o)
		o.Disable = append(o.Disable, "scratch")
		waitsBefore, sizeBefore := measure(p, o)
		if waits > waitsBefore {
			t.Fatalf("%d waits, %d without", waits, waitsBefore)
		}
		for r := range size {
			if size[r] > sizeBefore[r] {
				t.Fatalf("rank %d has %d chunks of scratch, %d without", r, size[r], sizeBefore[r])
			}
		}
	})
}

// TestInterleavedReferencesStay: references with chunks between one another's take no
// more scratch than before.
func TestInterleavedReferencesStay(t *testing.T) {
	b := begin(collective.Spec{Name: "alltoall", Ranks: 2, Chunks: 5})
	for r := range 2 {
		other := 1 - r
		b.copy(in(r, 5*r), out(r, 5*r), 5)
		b.shuffle(in(r, 5*other), sc(other, 0), 2, 1, 3)   // sc[0], sc[3]
		b.shuffle(in(r, 5*other+2), sc(other, 1), 2, 1, 3) // sc[1], sc[4]
		b.copy(in(r, 5*other+4), sc(other, 2), 1)
		b.shuffle(sc(other, 0), out(other, 5*r), 2, 3, 1)
		b.shuffle(sc(other, 1), out(other, 5*r+2), 2, 3, 1)
		b.copy(sc(other, 2), out(other, 5*r+4), 1)
	}
	res, err := Compile(&b.p, Options{CheckEachPass: true, Disable: []string{"sink copies"}})
	if err != nil {
		t.Fatal(err)
	}
	for r, g := range res.Program.GPUs {
		if g.Scratch != 5 {
			t.Errorf("rank %d has %d chunks of scratch: want 5", r, g.Scratch)
		}
	}
	if err := judge(res.Program, Options{}, 20); err != nil {
		t.Error(err)
	}
}
