package cuda

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/internal/ptxtest"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/topologies"
)

// swaps are pairs of instructions to exchange: the text still parses.
var swaps = [][2]string{
	{"add.s64", "sub.s64"}, {"add.s32", "sub.s32"}, {"setp.lt.u32", "setp.le.u32"}, {"setp.ge.u32", "setp.gt.u32"},
	{"setp.eq.s16", "setp.ne.s16"}, {"setp.ne.s32", "setp.eq.s32"}, {"setp.eq.s64", "setp.ne.s64"}, {"setp.lt.u64", "setp.ge.u64"},
	{"and.pred", "or.pred"}, {"shl.b64", "shr.u64"}, {"min.s64", "max.s64"}, {"and.b64", "or.b64"}, {"mul.lo.s64", "add.s64"},
	{"st.global.v2.u64", "ld.global.v2.u64"}, {"and.b32", "or.b32"}, {"cvt.u64.u32", "cvt.s64.s32"}, {"min.u32", "max.u32"},
}

// changed makes one such swap, or has a branch go where it would not, in a line
// that is run; it says which.
func changed(text []byte, random *rand.Rand, run []bool) ([]byte, string) {
	lines := bytes.SplitAfter(text, []byte("\n"))
	var at []int
	for i, line := range lines {
		if run[i+1] && (bytes.Contains(line, []byte("@")) || hasSwap(line)) {
			at = append(at, i)
		}
	}
	i := at[random.IntN(len(at))]
	one := string(lines[i])
	switch {
	case strings.Contains(one, "@!"):
		lines[i] = []byte(strings.Replace(one, "@!", "@", 1))
	case strings.Contains(one, "@"):
		lines[i] = []byte(strings.Replace(one, "@", "@!", 1))
	default:
		for _, s := range swaps {
			if strings.Contains(one, s[0]+" ") {
				lines[i] = []byte(exchanged(one, s[0], s[1]))
				break
			}
			if strings.Contains(one, s[1]+" ") {
				lines[i] = []byte(exchanged(one, s[1], s[0]))
				break
			}
		}
	}
	return bytes.Join(lines, nil), fmt.Sprintf("line %d: %s", i+1, strings.TrimSpace(one))
}

func hasSwap(line []byte) bool {
	return slices.ContainsFunc(swaps, func(s [2]string) bool {
		return bytes.Contains(line, []byte(s[0]+" ")) || bytes.Contains(line, []byte(s[1]+" "))
	})
}

var storeOrLoad = regexp.MustCompile(`^(\s*)(?:ld|st)\.global\.v2\.u64 \s*(\S.*[\]}]), (\S.*[\]}]);`)

// exchanged puts one name in another's place; of a store and a load the
// operands, too.
func exchanged(line, one, other string) string {
	if m := storeOrLoad.FindStringSubmatch(line); m != nil {
		return m[1] + other + " " + m[3] + ", " + m[2] + ";\n"
	}
	return strings.Replace(line, one, other, 1)
}

// TestAnyChangeAsPTX makes changes at random, one at a time, in lines that a
// program runs, and counts those that nobody notices. Some change nothing that
// could be seen: a fence of what is ordered anyway, a limit that is not met, a
// thread more or less that comes to a line, a way that is longer. A third must be
// seen.
func TestAnyChangeAsPTX(t *testing.T) {
	if !long() {
		t.Skip("COLLTUNE_LONG is not set")
	}
	const each = 60
	text, err := ptxOf(data.F32)
	if err != nil {
		t.Fatal(err)
	}
	for _, proto := range topologies.AllProtocols {
		trial := executor.Trial{Program: programOf(t, "ring/allreduce/1x2", 2, proto), Bytes: 2404, Protocol: proto, TileBytes: 512, DType: "f32", Op: "sum", Iters: 1, Seed: 2}
		run := make([]bool, bytes.Count(text, []byte("\n"))+2)
		m := &ptxtest.Machine{WholeLines: true, Covered: run}
		newEmulated(t, m).right(t, trial, 32)
		ends := map[string]int{}
		for n := range each {
			random := rand.New(rand.NewPCG(uint64(n), uint64(proto)))
			said := ""
			m := &ptxtest.Machine{Seed: uint64(n), Weak: n%2 == 0, WholeLines: true, Tick: 1e7, Most: 6 << 20, Change: func(text []byte) []byte {
				text, said = changed(text, random, run)
				return text
			}}
			e, err := tryEmulated(t, m)
			device, host := int64(0), int64(0)
			if err == nil {
				device, host, err = e.run(trial, 32)
			}
			switch {
			case err != nil && len(m.Faults) > 0:
				ends["ended by a fault"]++
			case err != nil:
				ends["refused or stuck"]++
			case device > 0:
				ends["wrong elements"]++
			case host > 0:
				ends["wrong elements that only the host sees"]++
			default:
				ends["unnoticed"]++
				t.Logf("%v: unnoticed: %s", proto, said)
			}
		}
		t.Logf("%v: of %d changes %v", proto, each, ends)
		if ends["unnoticed"] > each*2/3 {
			t.Errorf("%v: %d of %d changes went unnoticed", proto, ends["unnoticed"], each)
		}
	}
}
