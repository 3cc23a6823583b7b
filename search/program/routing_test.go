package program

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/search/program/cost"
	"github.com/colltune/colltune/templates"
	"github.com/colltune/colltune/topologies"
)

// A large program is let go of, and is the same when it is traced again.
func TestLargeProgramIsTracedAgain(t *testing.T) {
	b := on(t, "dgx-a100", 24, "allreduce", Options{})
	params := script.Params{"rings": 2, "channels": 1}
	r, err := b.route(familyFor(t, "ring", "allreduce"), params)
	if err != nil {
		t.Fatal(err)
	}
	const ranks = 24 * 8
	if want := 2 * ranks * (ranks - 1) * 2; r.program != nil || r.Operations() != want || r.cost == nil {
		t.Fatalf("program held: %v; %d operations, want %d", r.program != nil, r.Operations(), want)
	}
	first, err := r.Traced()
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Traced()
	if err != nil || !slices.Equal(first.Ops, second.Ops) || len(first.Ops) != r.Operations() {
		t.Errorf("%v: %d operations, and %d the next time", err, len(first.Ops), len(second.Ops))
	}
	small, err := b.route(familyFor(t, "ring", "allreduce"), script.Params{"rings": 1, "channels": 1})
	if err != nil || small.program == nil || small.Operations() != len(small.program.Ops) {
		t.Errorf("%v: a ring of %d operations is let go of", err, small.Operations())
	}
}

// Who wrote the program does not matter where it is too large: it is no mistake.
func TestTooLargeToTrace(t *testing.T) {
	large := &lang.Error{Msg: "the program has more operations", Large: true}
	for _, source := range []string{"builtin", "mine.star"} {
		var r *Refusal
		b := New(Target{Topology: &topologies.Topology{}}, Options{})
		if err := b.traceError(&templates.Family{Template: &script.Template{Name: "mine"}, Source: source}, large); !errors.As(err, &r) || r.Reason != TooLarge || !strings.Contains(r.Detail, "--family mine") {
			t.Errorf("%s: %v, want too-large", source, err)
		}
	}
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("set COLLTUNE_LONG for two million operations")
	}
	b := on(t, "dgx-a100", 96, "allreduce", Options{})
	_, err := b.route(familyFor(t, "ring", "allreduce"), script.Params{"rings": 2, "channels": 1})
	var r *Refusal
	if !errors.As(err, &r) || r.Reason != TooLarge {
		t.Errorf("two rings through 768 ranks: %v, want too-large", err)
	}
}

// Over many ranks a program is sketched first, and traced in full before it is compiled.
func TestSketchedFirst(t *testing.T) {
	for _, nodes := range []int{8, 136} {
		b := on(t, "dgx-a100", nodes, "allgather", Options{})
		r, err := b.route(familyFor(t, "multi-level", "allgather"), script.Params{"cross": "ring", "local": "ring", "groups": 1, "top": "recursive", "shuffle": true, "rings": 1})
		if err != nil {
			t.Fatal(err)
		}
		sketched := 8*nodes > maxFollowed
		if (r.program == nil) != sketched || (r.cost != nil) != sketched {
			t.Errorf("%d nodes: program kept: %v, cost known: %v", nodes, r.program != nil, r.cost != nil)
		}
		p, err := r.Traced()
		if err != nil || len(p.Ops) != r.Operations() {
			t.Errorf("%d nodes: %v", nodes, err)
		}
		if err := r.Summarize(nil, b.target.Topology, true); err != nil {
			t.Fatal(err)
		}
		if again := cost.Summarize(p, b.target.Topology); *again != *r.cost {
			t.Errorf("%d nodes: costs %+v, of the sketch %+v", nodes, *again, *r.cost)
		}
	}
}
