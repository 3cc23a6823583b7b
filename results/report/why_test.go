package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/results/table"
)

// A winner is explained at the largest size of each of its first ranges, by what takes at
// least a hundredth of the time.
func TestWinnersAreExplained(t *testing.T) {
	c := shownCampaign(t, t.TempDir())
	defer c.Close()
	winners, err := table.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	var asked []int64
	explain := func(row *table.Row, p *ir.Program) *table.Why {
		asked = append(asked, row.Bytes)
		if p.Hash() != row.IR {
			t.Errorf("at %d: program %s of a row of %s", row.Bytes, p.Hash(), row.IR)
		}
		if row.Algorithm == "tree" {
			return nil
		}
		return &table.Why{
			Parts:  []table.Part{{Cause: "launch", Share: 0.2}, {Cause: "latency", Share: 0.009}, {Cause: "links", Share: 0.691}, {Cause: "slots", Share: 0.1}},
			Change: "twice the <links>", Gain: 1.5,
		}
	}
	var b bytes.Buffer
	if err := Write(&b, c, winners, explain); err != nil {
		t.Fatal(err)
	}
	if want := []int64{4096, 16384}; !slices.Equal(asked, want) {
		t.Errorf("explained %v, want %v", asked, want)
	}
	lines := strings.Join(parse(t, b.String()).lines, "\n")
	for text, want := range map[string]int{
		"links 69 %, launch 20 %, slots 10 %; with twice the <links> it would be 1.50 times as fast": 1,
		"time at 4K":  1,
		"time at 16K": 0,
		"latency":     0,
	} {
		if got := strings.Count(lines, text); got != want {
			t.Errorf("%q is there %d times, want %d:\n%s", text, got, want, lines)
		}
	}
}

// A change that gains nothing is not named.
func TestWhyWithoutGain(t *testing.T) {
	w := &table.Why{Parts: []table.Part{{Cause: "launch", Share: 1}}, Change: "half the launch", Gain: 1.001}
	if got := whyText(w); got != "launch 100 %" {
		t.Errorf("got %q", got)
	}
}
