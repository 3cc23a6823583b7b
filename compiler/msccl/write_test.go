package msccl

import (
	"bytes"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
)

// exchange returns an allreduce of two ranks whose last step waits for two others.
func exchange() *ir.Program {
	in := func(off int32) ir.Loc { return ir.Loc{Buf: collective.In, Off: off} }
	sc := func(off int32) ir.Loc { return ir.Loc{Buf: collective.Scratch, Off: off} }
	p := &ir.Program{Name: "exchange", Collective: collective.Spec{Name: "allreduce", Ranks: 2, Chunks: 2, InPlace: true}}
	for g := range 2 {
		peer, first, second := 1-g, int32(g), int32(1-g)
		p.GPUs = append(p.GPUs, ir.GPU{Scratch: 2, Threadblocks: []ir.Threadblock{
			{Send: peer, Recv: -1, Steps: []ir.Step{
				{Op: ir.Send, Count: 2, Src: in(0), HasDep: true},
			}},
			{Send: -1, Recv: peer, Steps: []ir.Step{
				{Op: ir.Recv, Count: 2, Dst: sc(0), HasDep: true},
			}},
			{Send: -1, Recv: -1, Steps: []ir.Step{
				{Op: ir.Reduce, Count: 1, Src: sc(first), Dst: in(first), Deps: []ir.Dep{{TB: 0, Step: 0}, {TB: 1, Step: 0}}},
				{Op: ir.Reduce, Count: 1, Src: sc(second), Dst: in(second)},
			}},
		}})
	}
	return p
}

func TestWrite(t *testing.T) {
	for _, c := range []struct {
		o    WriteOptions
		want string
	}{
		{WriteOptions{Runtime: "msccl", Protocol: "LL", MinBytes: 8, MaxBytes: 1024, Comments: []string{"a--b\n-->"}},
			`<!-- a- -b - -> -->
<algo name="exchange" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1" minBytes="8" maxBytes="1025">
` + exchangeBody},
		{WriteOptions{Runtime: "executor-nccl", Protocol: "LL128", Name: `"x"`},
			`<algo name="_x_" proto="LL128" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="0">
` + exchangeBody},
		{WriteOptions{Runtime: "rccl", Protocol: "Simple", MaxBytes: 4096},
			`<algo name="exchange" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="4096">
` + exchangeBody},
	} {
		var b bytes.Buffer
		if err := Write(&b, exchange(), c.o); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); got != c.want {
			t.Errorf("%+v wrote\n%s\nwant\n%s", c.o, got, c.want)
		}
	}
}

const exchangeBody = `  <gpu id="0" i_chunks="2" o_chunks="0" s_chunks="2">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="1" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="2" send="-1" recv="-1" chan="0">
      <step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="0" deps="0" hasdep="0"/>
      <step s="1" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="1" deps="0" hasdep="0"/>
      <step s="2" type="re" srcbuf="s" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="0" s_chunks="2">
    <tb id="0" send="0" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="0" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="s" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="2" send="-1" recv="-1" chan="0">
      <step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="0" deps="0" hasdep="0"/>
      <step s="1" type="re" srcbuf="s" srcoff="1" dstbuf="i" dstoff="1" cnt="1" depid="1" deps="0" hasdep="0"/>
      <step s="2" type="re" srcbuf="s" srcoff="0" dstbuf="i" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
`

// The format has no strides: strided steps are split, and the file computes the same.
func TestStridesAreSplit(t *testing.T) {
	p := &ir.Program{Name: "shuffled", Collective: collective.Spec{Name: "alltoall", Ranks: 2, Chunks: 3}}
	for g := range 2 {
		mine, other := int32(3*g), int32(3*(1-g))
		p.GPUs = append(p.GPUs, ir.GPU{Scratch: 6, Threadblocks: []ir.Threadblock{
			{Send: 1 - g, Recv: 1 - g, Steps: []ir.Step{
				{Op: ir.Send, Count: 3, Src: ir.Loc{Off: other}},
				{Op: ir.Recv, Count: 3, Dst: ir.Loc{Buf: collective.Scratch, Off: 1, Stride: 2}, HasDep: true},
			}},
			{Send: -1, Recv: -1, Steps: []ir.Step{
				{Op: ir.Copy, Count: 3, Src: ir.Loc{Off: mine}, Dst: ir.Loc{Buf: collective.Out, Off: mine}},
				{Op: ir.Copy, Count: 3, Src: ir.Loc{Buf: collective.Scratch, Off: 1, Stride: 2},
					Dst: ir.Loc{Buf: collective.Out, Off: other}, Deps: []ir.Dep{{TB: 0, Step: 1}}},
			}},
		}})
	}
	if err := verify.Check(p, verify.Options{Slots: 3}).Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range Runtimes() {
		var b bytes.Buffer
		if err := Write(&b, p, WriteOptions{Runtime: name, Protocol: "LL", MaxBytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		f, err := Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if v := Verify(f, verify.Options{}); !v.OK() {
			t.Errorf("%s: %v", name, v.Report.Err())
		}
		if tbs := f.GPUs[0].Threadblocks; len(tbs[0].Steps) != 6 || len(tbs[1].Steps) != 4 || tbs[1].Steps[1].Deps != 5 {
			t.Errorf("%s: threadblocks of %d and %d steps, the latter waiting for %d: want 6, 4 and 5", name, len(tbs[0].Steps), len(tbs[1].Steps), tbs[1].Steps[1].Deps)
		}
	}
}

// TestBuffersAreTheCollectives: the chunks of a rank's buffers, and of a loop,
// do not depend on what the program happens to touch. (The closest peer's do: its
// defect J; a runtime then refuses the file, or cuts the ranks' buffers unlike.)
func TestBuffersAreTheCollectives(t *testing.T) {
	for _, c := range []struct {
		spec          collective.Spec
		loop, in, out int
	}{
		{collective.Spec{Name: "alltoall", Ranks: 3, Chunks: 4}, 12, 12, 12},
		{collective.Spec{Name: "allreduce", Ranks: 3, Chunks: 4, InPlace: true}, 4, 4, 0},
		{collective.Spec{Name: "allgather", Ranks: 3, Chunks: 4}, 12, 4, 12},
		{collective.Spec{Name: "allgather", Ranks: 3, Chunks: 4, InPlace: true}, 12, 0, 12},
		{collective.Spec{Name: "reducescatter", Ranks: 3, Chunks: 4}, 12, 12, 4},
	} {
		p := &ir.Program{Name: "one", Collective: c.spec, GPUs: make([]ir.GPU, 3)}
		first := ir.Loc{Buf: collective.In}
		if c.in == 0 {
			first.Buf = collective.Out
		}
		p.GPUs[0].Threadblocks = []ir.Threadblock{{Send: 1, Recv: -1, Steps: []ir.Step{{Op: ir.Send, Count: 1, Src: first}}}}
		p.GPUs[1].Threadblocks = []ir.Threadblock{{Send: -1, Recv: 0, Steps: []ir.Step{{Op: ir.Recv, Count: 1, Dst: first}}}}
		f, err := Lower(p, WriteOptions{Runtime: "msccl", Protocol: "LL", MaxBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		if f.NChunksPerLoop != c.loop {
			t.Errorf("%+v: nchunksperloop %d, want %d", c.spec, f.NChunksPerLoop, c.loop)
		}
		for g := range f.GPUs {
			if f.GPUs[g].In != c.in || f.GPUs[g].Out != c.out {
				t.Errorf("%+v: gpu %d has i_chunks %d and o_chunks %d, want %d and %d", c.spec, g, f.GPUs[g].In, f.GPUs[g].Out, c.in, c.out)
			}
		}
	}
}
