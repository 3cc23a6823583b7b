package templates

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// crowded are programs in which everybody has messages more to send than slots
// before it takes any, on one channel: `many` for a rank, of `size` chunks each.
var crowded = []struct {
	name, collective string
	threadblocks     int // as few as a rank can do with
	body             string
}{
	{"all send, then all receive", "sendrecv", 1, `
    for r in range(R):
        for i in range(many):
            chunk(r, "in", i * size, size).copy((r + 1) % R, "out", i * size, ch = 0)
`},
	{"the last message first", "sendrecv", 1, `
    for i in reversed(range(many)):
        for r in range(R):
            chunk(r, "in", i * size, size).copy((r + 1) % R, "out", i * size, ch = 0)
`},
	{"the long way round", "sendrecv", 1, `
    for r in range(R):
        for i in range(many):
            c = chunk(r, "in", i * size, size)
            for step in range(1, R - 1):
                c = c.copy((r - step) % R, "sc", (step * many + i) * size, ch = 0)
            c.copy((r + 1) % R, "out", i * size, ch = 0)
`},
	{"the long way round, hop by hop", "sendrecv", 1, `
    at = [[chunk(r, "in", i * size, size) for i in range(many)] for r in range(R)]
    for step in range(1, R - 1):
        for r in range(R):
            at[r] = [c.copy((r - step) % R, "sc", (step * many + i) * size, ch = 0) for i, c in enumerate(at[r])]
    for r in range(R):
        for i, c in enumerate(at[r]):
            c.copy((r + 1) % R, "out", i * size, ch = 0)
`},
	{"what arrives takes the place of what was sent", "sendrecv", 2, `
    for r in range(R):
        chunk(r, "in", 0, many * size).copy(r, "sc", 0)
    for r in range(R):
        for i in range(many):
            chunk(r, "sc", i * size, size).copy((r + 1) % R, "landing", i * size, ch = 0)
    for r in range(R):
        for i in range(many):
            chunk(r, "landing", i * size, size).copy((r - 1) % R, "sc", i * size, ch = 0)
    for r in range(R):
        for i in range(many):
            chunk(r, "sc", i * size, size).copy((r + 1) % R, "out", i * size, ch = 0)
`},
	{"sums round the ring, each begun by another rank", "allreduce", 1, `
    N = many * size
    for r in range(R):
        for i in range(many):
            sum = chunk(r, "in", i * size, size).copy(r, "sc", (r * many + i) * size)
            for step in range(1, R):
                q = (r + step) % R
                sum = chunk(q, "in", i * size, size).copy(q, "sc", (r * many + i) * size).reduce(sum, ch = 0)
            sum.copy(r, "out", i * size, ch = 0)
`},
	{"everybody gathers, in one loop", "allgather", 1, `
    for i in range(many):
        for r in range(R):
            c = chunk(r, "in", i * size, size).copy(r, "out", (r * many + i) * size)
            for step in range(1, R):
                c = c.copy((r + step) % R, "out", (r * many + i) * size, ch = 0)
`},
}

// crowd traces one of them.
func crowd(t *testing.T, coll, body string, ranks, many, size int) *lang.Program {
	t.Helper()
	text := fmt.Sprintf(`family(name = "crowd", collectives = [%q])

def chunks(topo, p):
    return %d

def program(topo, p):
    R, many, size = topo.ranks, %d, %d
%s`, coll, many*size, many, size, strings.TrimPrefix(body, "\n"))
	f, err := Parse("crowd.star", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	program, err := f.Trace(script.Even(1, ranks), script.Request{Collective: coll}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestNoTemplateStopsForSlots: whatever order a program is written in, what is
// compiled runs to its end with as many slots as it was compiled for, however its
// steps are cut into calls and however few threadblocks it is given. But for COLLTUNE_LONG=1,
// of fewer ranks, and of few messages and many.
func TestNoTemplateStopsForSlots(t *testing.T) {
	ranks, messages := []int{2, 3}, []int{3, 17}
	if everything() {
		ranks, messages = []int{2, 3, 5}, []int{1, 3, 9, 17}
	}
	for _, c := range crowded {
		few := c.threadblocks
		options := []compiler.Options{
			{}, {Slots: 1}, {Slots: 8}, {Instances: 2}, {CallPerChunk: true}, {MaxThreadblocks: few}, {MaxThreadblocks: few, Slots: 1},
			{MaxThreadblocks: few, Disable: []string{"fuse rcs", "fuse rrcs", "fuse rrs"}},
		}
		for _, o := range options {
			o.Disable = append([]string{"coarsen"}, o.Disable...) // it would make one chunk of a message of three
			options = append(options, o)
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, ranks := range ranks {
				for _, many := range messages {
					for _, size := range []int{1, 3} {
						program := crowd(t, c.collective, c.body, ranks, many, size)
						for _, o := range options {
							o.CheckEachPass = ranks*many*size <= 27
							compiled, err := compiler.Compile(program, o)
							if err != nil {
								t.Errorf("%d ranks, %d messages of %d, %+v: %v", ranks, many, size, o, err)
								continue
							}
							slots := cmp.Or(o.Slots, compiler.DefaultSlots)
							for _, call := range []int{1, size} {
								if err := verify.Check(compiled.Program, verify.Options{Slots: slots, CallChunks: call}).Err(); err != nil {
									t.Errorf("%d ranks, %d messages of %d, %+v, calls of %d: %v", ranks, many, size, o, call, err)
								}
							}
						}
					}
				}
			}
		})
	}
}

// TestCrowdedAsWritten: done in the order they are written in, by a threadblock
// a rank, such programs do stop for slots, and the verifier says so: it is the
// compiler's order that saves them.
func TestCrowdedAsWritten(t *testing.T) {
	const many = 9
	program := crowd(t, crowded[0].collective, crowded[0].body, 3, many, 1)
	compiled, err := compiler.Compile(program, compiler.Options{MaxThreadblocks: 1, Disable: []string{"coarsen"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := verify.Check(compiled.Program, verify.Options{Slots: 2}).Err(); err != nil {
		t.Fatal(err)
	}
	for g := range compiled.Program.GPUs {
		tb := &compiled.Program.GPUs[g].Threadblocks[0]
		var sends, receives []ir.Step
		for _, s := range tb.Steps {
			if s.Op == ir.Send {
				sends = append(sends, s)
			} else {
				receives = append(receives, s)
			}
		}
		if len(sends) != many || len(receives) != many {
			t.Fatalf("gpu %d sends %d and receives %d", g, len(sends), len(receives))
		}
		tb.Steps = append(sends, receives...)
	}
	for slots, want := range map[int]bool{2: true, many - 1: true, many: false} {
		report := verify.Check(compiled.Program, verify.Options{Slots: slots})
		if report.Has(verify.Deadlock) != want {
			t.Errorf("with %d slots: %v", slots, report.Err())
		}
		if report.SlotsNeeded != many {
			t.Errorf("%d slots needed, want %d", report.SlotsNeeded, many)
		}
	}
}
