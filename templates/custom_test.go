package templates

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/compiler/verify"
)

// pairwise defines sums over pairs of ranks: every rank gets its own chunk plus
// its partner's, and may put anything into a second one.
const pairwise = `
collective(
    name = "pair-sum",
    input = lambda topo, rank: 1,
    output = 2,
    want = lambda topo, rank, i: [(rank, 0), ((rank // topo.gpus, (rank + 1) % topo.gpus), 0)] if i == 0 else None,
    in_place = True,
)
family(name = "pairs", collectives = ["pair-sum"])
def chunks(topo, p):
    return 2
def program(topo, p):
    for r in range(topo.ranks):
        n, g = r // topo.gpus, r % topo.gpus
        chunk((n, 1 - g), "in", 0, 2).copy(r, "theirs", 0)
    for r in range(topo.ranks):
        own = chunk(r, "in", 0, 2).copy(r, "out", 0)
        own.reduce(chunk(r, "theirs", 0, 2))
`

// TestCustomCollective takes a defined collective, in both forms and several
// instances, through the compiler, the IR's file and the verifier, and has the
// verifier find a program of it wrong.
func TestCustomCollective(t *testing.T) {
	f, err := Parse("pairs.star", []byte(pairwise))
	if err != nil {
		t.Fatal(err)
	}
	for _, inPlace := range []bool{false, true} {
		q := script.Request{Collective: "pair-sum", InPlace: inPlace}
		p, err := f.Trace(script.Even(2, 2), q, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, instances := range []int{1, 3} {
			r, err := compiler.Compile(p, compiler.Options{Instances: instances})
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := ir.Encode(&text, r.Program); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), `"want":[[[[0,0],[1,0]],null],[[[1,0],[0,0]],null],`) {
				t.Errorf("the table is not in the file: %.300s", text.String())
			}
			back, err := ir.Decode(&text)
			if err != nil || back.Hash() != r.Program.Hash() || !reflect.DeepEqual(back.Collective, r.Program.Collective) {
				t.Fatalf("read back: %v, %+v", err, back)
			}
			if err := verify.Check(back, verify.Options{Slots: 2}).Err(); err != nil {
				t.Error(err)
			}
			// Of another wish it is wrong, and another program.
			back.Collective.Custom.Want[3][0].Of[1].Rank = 0
			if back.Hash() == r.Program.Hash() {
				t.Error("the hash does not see the table")
			}
			err = verify.Check(back, verify.Options{Slots: 2}).Err()
			if err == nil || !strings.Contains(err.Error(), "want the reduction of input chunks 0 of rank 3, 0 of rank 0") {
				t.Errorf("wrong wish: %v", err)
			}
		}
	}
	// What is left out or doubled is found at the program's line.
	for from, to := range map[string]string{
		`own.reduce(chunk(r, "theirs", 0, 2))`: `own.reduce(chunk(r, "theirs", 0, 2)).reduce(chunk(r, "theirs", 0, 2))`,
		`"theirs", 0)`:                         `"theirs", 0) if r else chunk(0, "in", 0, 2).copy(0, "theirs", 0)`,
	} {
		f, err := Parse("pairs.star", []byte(strings.Replace(pairwise, from, to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Trace(script.Even(2, 2), script.Request{Collective: "pair-sum"}, nil)
		if err == nil || !strings.Contains(err.Error(), "wrong result: rank 0 out[0] holds") {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// TestWholeReductionIsShort: a list of all ranks travels as one number.
func TestWholeReductionIsShort(t *testing.T) {
	f, err := Parse("all.star", []byte(`
collective(name = "all", input = 1, output = 1, want = lambda topo, rank, i: [(r, 0) for r in range(topo.ranks)])
family(name = "all", collectives = ["all"])
def program(topo, p):
    pass
`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.Collective(script.Even(1, 100), script.Request{Collective: "all"}, 1)
	if err != nil || c.Want(7, 0).Kind != collective.WantReduction || !f.Defines("all") || f.Defines("allreduce") {
		t.Errorf("%+v, %v", c.Want(7, 0), err)
	}
}

func TestCostErrors(t *testing.T) {
	for returned, want := range map[string]string{
		`3`:            "cost returned 3: want (steps, wire)",
		`(-1, 2)`:      "cost returned -1 steps: want a number from 0",
		`("a", 2)`:     `cost returned "a" steps`,
		`(1, -2)`:      "cost returned -2 on the wire: want a number of times the size",
		`(1, (2, 0))`:  "cost returned a tuple on the wire",
		`(1, "a")`:     `cost returned "a" on the wire`,
		`(1, (4, 6))`:  "",
		`fail("none")`: "none",
	} {
		f, err := Parse("c.star", []byte("family(name = \"c\", collectives = [\"sendrecv\"])\ndef cost(topo, p):\n    return "+returned+"\ndef program(topo, p):\n    pass\n"))
		if err != nil {
			t.Fatal(err)
		}
		cost, ok, err := f.Cost(script.Even(1, 2), script.Request{Collective: "sendrecv"}, nil)
		switch {
		case want == "":
			if err != nil || !ok || cost.Steps != 1 || cost.Wire.RatString() != "2/3" {
				t.Errorf("%s: %+v, %v", returned, cost, err)
			}
		case err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "c.star:"):
			t.Errorf("%s: %v, want %s", returned, err, want)
		}
	}
	f, err := Parse("c.star", []byte(own))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := f.Cost(script.Even(1, 2), script.Request{Collective: "allreduce"}, nil); ok || err != nil {
		t.Errorf("a cost where none is told: %v", err)
	}
}
