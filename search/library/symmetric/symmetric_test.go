package symmetric_test

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/library/symmetric"
)

// answers are NCCL's own to the questions: its sources of five releases (src/symmetric.cc of v2.27.7-1, src/sym_kernels.cc of
// v2.28.9-1, v2.29.7-1 and v2.30.7-1, src/tuning/sym_model.cc and ce_model.cc of 2.31.2), compiled with the communicator that
// they read and asked one after another. A byte each for the kernel (its place in the order of 2.30; 127 copy engines, 255
// none, 128 more if only LL would run otherwise), then a byte each for the threadblocks, then the time of every 20th question
// in single precision: with 2.31.2 the score.
//
//go:embed testdata/answers.gz
var answers []byte

const questions = 100_000

// names in the order of 2.30.
var names = []string{"AllReduce_AGxLL_R", "AllReduce_AGxLLMC_R", "AllReduce_RSxTmaLD_AGxTmaST", "AllReduce_RSxLD_AGxST", "AllReduce_RSxLDMC_AGxSTMC",
	"AllGather_LL", "AllGather_LLMC", "AllGather_TmaST", "AllGather_ST", "AllGather_TmaSTMC", "AllGather_STMC", "AllGather_RailRing_LsaSTMC",
	"ReduceScatter_LL", "ReduceScatter_TmaLD", "ReduceScatter_LD", "ReduceScatter_LDMC", "ReduceScatter_RailA2A_LsaLD", "ReduceScatter_RailA2A_LsaLDMC"}

// asked are the questions, one after another: splitmix64 from 1.
type asked struct{ state uint64 }

func (a *asked) next() uint64 {
	a.state += 0x9e3779b97f4a7c15
	z := a.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (a *asked) below(n int) int { return int(a.next() % uint64(n)) }

var (
	types  = []int{6, 6, 7, 7, 7, 9, 9, 9, 10, 11, 8, 0, 1, 2, 3, 4} // NCCL's numbers
	states = []int{3, 3, 3, 3, 3, 1, 2, 0}                           // 1: the receive buffer is in a window, 2: the send buffer
)

func (a *asked) question() (release int, s symmetric.System, c symmetric.Call) {
	release = []int{22707, 22809, 22907, 23007, 23102}[a.below(5)]
	s.Capability = []int{80, 90, 100, 103}[a.below(4)]
	c.Collective = []string{"allreduce", "allgather", "reducescatter"}[a.below(3)]
	s.Ranks = 2 + a.below(71)
	s.Team = s.Ranks
	if a.below(8) == 0 {
		nodes := 2 + a.below(3)
		s.Team = 2 + a.below(17)
		s.Ranks = nodes * s.Team
	}
	s.Multicast = a.below(4) != 0
	c.DType = collective.MeasuredDTypes()[types[a.below(len(types))]]
	c.ElemBytes = collective.MeasuredBytes(c.DType)
	c.Op = []string{"sum", "sum", "sum", "sum", "sum", "sum", "avg", "max"}[a.below(8)]
	state := states[a.below(len(states))]
	c.Recv, c.Send = state&1 != 0, state&2 != 0
	bits := a.below(33)
	c.Count = 1<<bits + int64(a.next()%(1<<bits))
	if a.below(2) == 1 {
		c.Count = 1 << bits
	}
	c.Misaligned = a.below(8) == 0
	s.NetGBps = []float64{12, 24, 25, 48, 96}[a.below(5)]
	c.Captured, c.InPlace = a.below(2) == 1, a.below(2) == 1
	s.ARM = a.below(4) == 0
	return release, s, c
}

// TestAnswers: the choice is NCCL's own, kernel and threadblocks, in five releases.
func TestAnswers(t *testing.T) {
	z, err := gzip.NewReader(bytes.NewReader(answers))
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	kernels, ctas, times := all[:questions], all[questions:2*questions], all[2*questions:]
	ask, differ, timed := asked{1}, 0, 0
	for i := range questions {
		release, s, c := ask.question()
		got, ok := symmetric.Of(release).Choose(s, c)
		want := symmetric.Choice{CTAs: int(ctas[i])}
		if kernels[i] < 255 && kernels[i] != 127 {
			want.Kernel, want.IfLL = names[kernels[i]&127], kernels[i] > 127
		}
		if ok != (kernels[i] < 255) || got.Kernel != want.Kernel || got.CTAs != want.CTAs || got.IfLL != want.IfLL {
			if differ++; differ <= 10 {
				t.Errorf("%d, %+v, %+v: %+v (%t), NCCL runs %+v", release, s, c, got, ok, want)
			}
		}
		if i%20 != 0 {
			continue
		}
		us := float64(math.Float32frombits(binary.LittleEndian.Uint32(times[i/20*4:])))
		if release == 23102 && got.Kernel != "" {
			us /= 1 + .025*float64(got.CTAs)
		}
		if us == 0 || got.US == 0 {
			continue // the library has no time, or none that is one
		}
		if timed++; math.Abs(got.US-us) > 1e-4*us {
			t.Errorf("%d, %+v, %+v: %v us, by NCCL's model %v", release, s, c, got.US, us)
		}
	}
	t.Logf("%d questions, %d choices and times differ; %d times", questions, differ, timed)
	if timed < 1000 {
		t.Errorf("%d times compared: want at least 1000", timed)
	}
}
