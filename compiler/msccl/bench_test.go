package msccl

import (
	"bytes"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/verify"
)

// ring returns an allgather over several channels, of a size that makes a large
// file.
func ring(ranks, channels int) *ir.Program {
	p := &ir.Program{Name: "ring", Collective: collective.Spec{Name: "allgather", Ranks: ranks, Chunks: channels, InPlace: true}}
	for g := range ranks {
		var gpu ir.GPU
		for c := range channels {
			tb := ir.Threadblock{Send: (g + 1) % ranks, Recv: (g + ranks - 1) % ranks, Channel: c}
			for i := range ranks {
				at := ir.Loc{Buf: collective.Out, Off: int32((g-i+ranks)%ranks*channels + c)}
				s := ir.Step{Op: ir.RecvCopySend, Count: 1, Dst: at}
				switch i {
				case 0:
					s = ir.Step{Op: ir.Send, Count: 1, Src: at}
				case ranks - 1:
					s.Op = ir.Recv
				}
				tb.Steps = append(tb.Steps, s)
			}
			gpu.Threadblocks = append(gpu.Threadblocks, tb)
		}
		p.GPUs = append(p.GPUs, gpu)
	}
	return p
}

func BenchmarkFile(b *testing.B) {
	var file bytes.Buffer
	p := ring(32, 11)
	o := WriteOptions{Runtime: "rccl", Protocol: "Simple"}
	if err := Write(&file, p, o); err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		for range b.N {
			var again bytes.Buffer
			if err := Write(&again, p, o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify", func(b *testing.B) {
		b.SetBytes(int64(file.Len()))
		b.ReportMetric(float64(file.Len()), "file-bytes")
		for range b.N {
			f, err := Read(bytes.NewReader(file.Bytes()))
			if err != nil {
				b.Fatal(err)
			}
			if v := Verify(f, verify.Options{}); !v.OK() {
				b.Fatal(v.Report.Err())
			}
		}
	})
}
