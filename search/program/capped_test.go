package program_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/verify"
	"github.com/colltune/colltune/search/program"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies/topotest"
)

// builderOf builds programs of a collective on a node of a system.
func builderOf(t *testing.T, system, coll string, o program.Options) *program.Builder {
	t.Helper()
	call := collective.Call{Collective: coll, Op: "sum", DType: "f32"}
	b := program.New(program.Target{Call: call, Topology: topotest.Resolve(t, system, 1), InPlace: collective.DefaultInPlace(coll)}, o)
	t.Cleanup(b.Close)
	return b
}

// allPairs drafts the allreduce of one phase.
func allPairs(t *testing.T, b *program.Builder) []*program.Draft {
	t.Helper()
	f, err := templates.Find(templates.Builtin(), "all-pairs", "allreduce")
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.Family(t.Context(), f, program.Never, program.Never)
	if err != nil {
		t.Fatal(err)
	}
	return all.Drafts
}

// A program of fewer SMs is drafted under each limit that changes it and that its connections fit, and
// verified anew.
func TestCappedPrograms(t *testing.T) {
	ctx := context.Background()
	b := builderOf(t, "dgx-a100", "allreduce", program.Options{Parameters: map[string]string{"phases": "1", "pieces": "1"}})
	drafts := slices.DeleteFunc(allPairs(t, b), func(d *program.Draft) bool { return d.Instances > 8 })
	build := func(drafts []*program.Draft) (built []*program.Built) {
		for _, d := range drafts {
			one, err := b.Build(ctx, d)
			if err != nil || one.Refusal != nil {
				t.Fatalf("%s: %v, %v", d, one, err)
			}
			built = append(built, one)
		}
		return built
	}
	capped := program.Capped(drafts, build(drafts))
	var got []string
	for i, built := range build(capped) {
		d := capped[i]
		got = append(got, fmt.Sprintf("×%d of %d within %d", d.Instances, built.Needs, d.Threadblocks))
		if n := built.Program.MaxThreadblocks(); n > d.Threadblocks || built.Needs <= d.Threadblocks || d.Parameters(built)[program.SMs] != d.Threadblocks {
			t.Errorf("%s: %d threadblocks of %d", d, n, built.Needs)
		}
		if err := verify.Check(built.Program, verify.Options{}).Err(); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	// A rank sends to 7 others, and receives from them.
	if want := "[×1 of 14 within 8 ×2 of 28 within 16 ×2 of 28 within 24 ×4 of 56 within 32]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// Trees that are packed pair a rank's links in more threadblocks than it has links: unfused they fit.
func TestCappedUnfused(t *testing.T) {
	ctx := context.Background()
	b := builderOf(t, "dgx-1", "allgather", program.Options{})
	all, err := b.Construct(ctx, "tree-packing", []int64{1 << 20}, program.Never)
	if err != nil || len(all.Drafts) == 0 {
		t.Fatal(all, err)
	}
	d := all.Drafts[0]
	whole, err := b.Build(ctx, d)
	if err != nil || whole.Refusal != nil {
		t.Fatal(whole, err)
	}
	if err := b.Summarize(ctx, all.Drafts[:1], false); err != nil {
		t.Fatal(err)
	}
	fewer := program.Capped(all.Drafts[:1], []*program.Built{whole})
	if len(fewer) == 0 {
		t.Fatalf("%s takes %d threadblocks, and comes to nothing with fewer", d, whole.Program.MaxThreadblocks())
	}
	one := fewer[0]
	built, err := b.Build(ctx, one)
	if err != nil || built.Refusal != nil {
		t.Fatalf("%s: %v %v", one, built, err)
	}
	if n := built.Program.MaxThreadblocks(); n > one.Threadblocks || one.Parameters(built)[program.SMs] != one.Threadblocks {
		t.Errorf("%s: %d threadblocks", one, n)
	}
}

// Under a limit of the whole search, a program says that it was limited only where that changed it.
func TestLimitOfTheSearch(t *testing.T) {
	ctx := context.Background()
	b := builderOf(t, "dgx-a100", "allreduce", program.Options{MaxSMs: 16, Parameters: map[string]string{"phases": "1", "pieces": "1"}})
	drafts := allPairs(t, b)
	for i, want := range []struct {
		sms     any
		refused string
	}{{nil, ""}, {16, ""}, {nil, "within 16 SMs: at least 28 threadblocks, 7 for each of 4 instances"}} {
		built, err := b.Build(ctx, drafts[i])
		switch {
		case err != nil:
			t.Fatal(err)
		case built.Refusal != nil:
			if built.Refusal.Detail != want.refused {
				t.Errorf("%s: %v, want %s", drafts[i], built.Refusal, want.refused)
			}
		case drafts[i].Parameters(built)[program.SMs] != want.sms || built.Program.MaxThreadblocks() > 16:
			t.Errorf("%s: %v, %d threadblocks, want sms=%v", drafts[i], drafts[i].Parameters(built), built.Program.MaxThreadblocks(), want.sms)
		}
	}
}
