package papers

import (
	"context"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/child"
)

func TestMain(m *testing.M) {
	child.Dispatch(os.Args)
	os.Exit(m.Run())
}

func TestRule(t *testing.T) {
	for _, c := range []struct {
		published Published
		simulated float64
		want      Verdict
	}{
		{number("1.9", 1.9), 1.9, Agrees},
		{number("1.9", 1.9), 1.53, Agrees},        // 0.81 times
		{number("1.9", 1.9), 1.45, SameDirection}, // 0.76 times
		{number("1.9", 1.9), 0.97, Disagrees},
		{number("1.9", 1.9), 3.9, Disagrees},        // more than twice
		{number("1.11", 1.11), 1.05, SameDirection}, // less than half the gain
		{number("1.11", 1.11), 1.06, Agrees},
		{number("1.11", 1.11), 1.34, SameDirection}, // more than twice the gain
		{number("1.31", 1.31), 1.01, Disagrees},     // neither is ahead
		{number("0.52", 0.52), 0.63, Agrees},
		{number("0.52", 0.52), 0.95, SameDirection},
		{number("0.52", 0.52), 1.02, Disagrees},
		{between("3 to 5", 3, 5), 4.9, Agrees},
		{between("3 to 5", 3, 5), 2.5, Agrees},
		{between("3 to 5", 3, 5), 2.3, SameDirection},
		{between("over 30", 30, math.Inf(1)), 1000, Agrees},
		{between("over 30", 30, math.Inf(1)), 5, Disagrees},
		{number("around 32", 32), math.NaN(), Disagrees},
		{ahead, 1.03, Agrees},
		{ahead, 1.01, Disagrees},
		{behind, 0.97, Agrees},
		{behind, 1, Disagrees},
		{alike, 1.05, Agrees},
		{alike, 0.85, Disagrees},
		{all, 1, Agrees},
		{all, 0.9, Disagrees},
	} {
		if got := c.published.Judge(c.simulated); got != c.want {
			t.Errorf("%s published, %g simulated: %s, want %s", c.published.Text, c.simulated, got, c.want)
		}
	}
}

// TestClaims holds claims to a form in which the page can show them.
func TestClaims(t *testing.T) {
	name := regexp.MustCompile(`^(gc3|sccl|pccl|mcrdl)-[a-z0-9-]+$`)
	seen := map[string]bool{}
	for _, c := range Claims() {
		if !name.MatchString(strings.ToLower(c.ID)) || seen[c.ID] {
			t.Errorf("%q: want a name of its own, such as gc3-7a-ring", c.ID)
		}
		seen[c.ID] = true
		texts := []string{c.ID, c.Where, c.Says, c.Published.Text}
		if c.Evidence != nil {
			texts = append(texts, c.Evidence.How())
		} else if c.Side == "" {
			t.Errorf("%s: not judged, and not said why", c.ID)
		}
		for _, text := range append(texts, c.Side+" ") {
			if text == "" || strings.ContainsAny(text, "|\n") {
				t.Errorf("%s: %q: want a text of one cell", c.ID, text)
			}
		}
		if p := c.Published; !(p.Low <= p.High) || p.Low < 0 {
			t.Errorf("%s: published %g to %g", c.ID, p.Low, p.High)
		}
		if e, ok := c.Evidence.(curves); ok {
			for _, d := range e.duels {
				if !slices.IsSorted(d.Sizes) || len(d.Sizes) == 0 {
					t.Errorf("%s: sizes %v", c.ID, d.Sizes)
				}
			}
		}
	}
}

// judgedAll are all claims, as if each were simulated with a value.
func judgedAll(value func(Claim) float64) (all []Judged) {
	for _, c := range Claims() {
		j := Judged{Claim: c, Verdict: NotJudged}
		if c.Evidence != nil {
			j.Found = Found{Value: value(c), Text: "made up"}
			j.Verdict = c.Published.Judge(j.Found.Value)
		}
		all = append(all, j)
	}
	return all
}

// TestFlip holds that a verdict which held and is worse is found from the page alone.
func TestFlip(t *testing.T) {
	as := func(c Claim) float64 { return min(c.Published.Low, 1e9) + 1e-9 }
	held := judgedAll(as)
	recorded, err := Recorded(Page(&Results{Judged: held}))
	if err != nil {
		t.Fatal(err)
	}
	if len(recorded) != len(held) {
		t.Fatalf("the page has %d verdicts of %d", len(recorded), len(held))
	}
	if changes := Changes(recorded, held); changes != nil {
		t.Errorf("nothing changed, but: %v", changes)
	}
	flipped := judgedAll(func(c Claim) float64 {
		if c.ID == "gc3-7a-ring" {
			return 0.5
		}
		return as(c)
	})
	changes := Changes(recorded, flipped)
	if len(changes) != 1 || changes[0].ID != "gc3-7a-ring" || !changes[0].Lost() || changes[0].String() != "gc3-7a-ring: agrees before, now disagrees (made up)" {
		t.Errorf("a flipped verdict: %v", changes)
	}
	back, err := Recorded(Page(&Results{Judged: flipped}))
	if err != nil {
		t.Fatal(err)
	}
	if changes := Changes(back, held); len(changes) != 1 || changes[0].Lost() {
		t.Errorf("a verdict that is better now: %v", changes)
	}
	if changes := Changes(recorded, held[1:]); len(changes) != 1 || !changes[0].Lost() {
		t.Errorf("a claim that is no longer made: %v", changes)
	}
}

func TestRecorded(t *testing.T) {
	for text, want := range map[string]string{
		"| `a` | says | agreed |":                    `line 1: claim a: verdict "agreed" is none of [agrees direction agrees disagrees cannot be judged]`,
		"| `a` | x | agrees |\n| `a` | x | agrees |": "line 2: claim a has a verdict already",
	} {
		if _, err := Recorded(text); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// page is cmd/lab/papers.md.
func page(t *testing.T) (string, map[string]Verdict) {
	t.Helper()
	text, err := os.ReadFile("../papers.md")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := Recorded(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), recorded
}

// TestPage holds the page to the claims, and to the simulator where that takes a moment.
func TestPage(t *testing.T) {
	text, recorded := page(t)
	var quick []Claim
	for _, c := range Claims() {
		if recorded[c.ID] == "" {
			t.Errorf("the page lacks %s: make papers UPDATE=1", c.ID)
		}
		if !strings.Contains(text, "| "+c.Says+" | "+c.Published.Text+" |") {
			t.Errorf("the page has another text of %s: make papers UPDATE=1", c.ID)
		}
		switch c.ID {
		case "sccl-allgather", "gc3-1-threadblock", "gc3-7a-ring", "gc3-7g-small", "gc3-7g-large", "mcrdl-1-resnet", "pccl-3-mpi", "pccl-9-ag-32", "pccl-11-32":
			quick = append(quick, c)
		}
	}
	if n := len(Claims()); len(recorded) != n {
		t.Errorf("the page has %d verdicts of %d claims: make papers UPDATE=1", len(recorded), n)
	}
	judged, err := Judge(NewLab(context.Background()), quick, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range judged {
		if j.Verdict != recorded[j.ID] {
			t.Errorf("%s: %s (%s), the page has %s: make papers", j.ID, j.Verdict, j.Found.Text, recorded[j.ID])
		}
		if !strings.Contains(text, " | "+j.Found.Text+" | ") {
			t.Errorf("%s: the page lacks its figure, %s: make papers UPDATE=1", j.ID, j.Found.Text)
		}
	}
}

// TestWholePage makes the page as make papers does, but for the library's measured rows.
func TestWholePage(t *testing.T) {
	if os.Getenv("COLLTUNE_LONG") == "" {
		t.Skip("COLLTUNE_LONG is not set: it takes some minutes")
	}
	_, recorded := page(t)
	r, err := Run(NewLab(context.Background()), nil, runtime.NumCPU())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Changes(recorded, r.Judged) {
		t.Error(c)
	}
}

func TestMeasured(t *testing.T) {
	rows, err := readMeasured()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range rows {
		if gpusPerNode[systemOf(&m)] == 0 || m.Ranks%gpusPerNode[systemOf(&m)] != 0 || m.Bytes < mib || m.TimeUS <= 0 {
			t.Errorf("%+v", m)
		}
	}
	if us, ok := measuredUS(rows, "frontier", "allreduce", "pccl", 2048, gib); !ok || us != 52081.8 {
		t.Errorf("PCCL's allreduce of 1 GiB on 2,048 GCDs: %g, %t", us, ok)
	}
}
