package table

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs:\n%s\nwant\n%s", name, got, want)
	}
}

// named puts 111…, 222… for the hashes of a table, so that a golden file is not
// about how programs are hashed.
func named(text []byte, winners *Table) []byte {
	seen := map[string]bool{}
	for _, r := range winners.Rows {
		if !seen[r.IR] {
			seen[r.IR] = true
			digits := bytes.Repeat([]byte{'0' + byte(len(seen))}, len(r.IR))
			text = bytes.ReplaceAll(text, []byte(r.IR), digits)
			text = bytes.ReplaceAll(text, []byte(results.ShortHash(r.IR)), digits[:len(results.ShortHash(r.IR))])
		}
	}
	return text
}

// fullCampaign is a campaign with every feature of the table: two winners with
// a tie, a baseline from a trial and one from outside, bounds, failures.
func fullCampaign(t testing.TB) *results.Campaign {
	t.Helper()
	c := resultstest.Create(t, resultstest.Plan())
	one, two, wide := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 2, 0, true), irtest.Ring(4, 3, 0, true)
	wrong := resultstest.Trial(t, c, irtest.Ring(4, 1, 1, true), "fast|wrong", "LL", 32768, 1024, 0.5)
	wrong.Outcome, wrong.Note = results.Wrong, "3 elements wrong"
	crashed := resultstest.Trial(t, c, irtest.Ring(4, 1, 2, true), "crashing", "LL", 32768, 2048)
	crashed.Outcome = results.Crashed
	reference := resultstest.Trial(t, c, irtest.Ring(4, 1, 3, true), "nccl-ring", "LL", 32768, 8192, 1)
	reference.Reference = true
	resultstest.Append(t, c,
		wrong, crashed, reference,
		resultstest.Trial(t, c, two, "ring", "LL", 32768, 1024, 5), // ties with one, on more threadblocks
		resultstest.Trial(t, c, one, "ring", "LL", 32768, 1024, 5),
		resultstest.Trial(t, c, one, "ring", "LL", 32768, 2048, 6, 8, 7),
		resultstest.Trial(t, c, two, "ring", "LL", 32768, 2048, 9),
		resultstest.Trial(t, c, one, "ring", "Simple", 2<<20, 4096, 12),
		resultstest.Trial(t, c, wide, "ring", "Simple", 2<<20, 4096, 8),
		resultstest.Trial(t, c, wide, "ring", "Simple", 2<<20, 8192, 16),
	)
	if err := c.SetTally(results.Tally{Finished: true, Enumerated: 9, Refused: map[string]int{"link": 2, "threadblocks": 1}, BoundedOut: 2, Tuned: 4, Points: []results.Point{
		{Bytes: 1024, Placement: "in", BoundUS: 2.5, Baseline: &results.Baseline{Name: "nccl ring LL", Program: two.Hash(), Protocol: "LL", TileBytes: 32768}},
		{Bytes: 2048, Placement: "in", BoundUS: 3.5, Baseline: &results.Baseline{Name: "measured", TimeUS: 14}},
		{Bytes: 4096, Placement: "in", Baseline: &results.Baseline{Name: "never run", Program: one.Hash(), Protocol: "LL128", TileBytes: 576000}},
		{Bytes: 8192, Placement: "in", Baseline: &results.Baseline{Name: "nccl ring LL", Program: reference.Program, Protocol: "LL", TileBytes: 32768}},
	}}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTableGolden(t *testing.T) {
	c := fullCampaign(t)
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Formats() {
		var out bytes.Buffer
		if err := winners.Write(&out, name, Look{}); err != nil {
			t.Fatal(err)
		}
		golden(t, "full."+name, named(out.Bytes(), winners))
	}
	var wide bytes.Buffer
	if err := winners.Write(&wide, "table", Look{Wide: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "full.wide", named(wide.Bytes(), winners))
	var empty bytes.Buffer
	none, err := Build(resultstest.Create(t, resultstest.Plan()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Formats() {
		if err := none.Write(&empty, name, Look{}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "empty", empty.Bytes())
	if err := none.Write(&empty, "xml", Look{}); err == nil || !strings.Contains(err.Error(), "table, json, csv, md") {
		t.Errorf("%v, want the formats there are", err)
	}
}

// A time that meets its bound may be below it by the rounding of its sums.
func TestBoundMet(t *testing.T) {
	r := Row{TimeUS: 0.3}
	r.compare(results.Point{BoundUS: math.Nextafter(0.3, 1)}, nil)
	if *r.BoundUS != 0.3 || *r.BoundRatio != 1 {
		t.Errorf("bound %v, ratio %v: want the time itself, and 1", *r.BoundUS, *r.BoundRatio)
	}
	for _, source := range []string{results.SourceNative, "template"} {
		r = Row{TimeUS: 0.3, Source: source}
		if r.compare(results.Point{BoundUS: 0.4}, nil); r.BoundUS != nil || r.BoundRatio != nil {
			t.Errorf("%s: bound %v of what is faster: want none", source, *r.BoundUS)
		}
	}
}

// The golden table says what it should; this says so in words.
func TestTableRows(t *testing.T) {
	winners, err := Build(fullCampaign(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(winners.Rows) != 4 {
		t.Fatalf("%d rows, want 4", len(winners.Rows))
	}
	r := winners.Rows[0]
	if r.Instances != 1 || r.TimeUS != 5 || *r.BaselineTimeUS != 5 || *r.Speedup != 1 || *r.BoundRatio != 0.5 || r.Granularity != 16 {
		t.Errorf("first row %+v: want the narrower of two equals, against the wider as the baseline", r)
	}
	if r = winners.Rows[1]; r.TimeUS != 7 || r.TimeCIUS != [2]float64{6, 8} || *r.Speedup != 2 || r.AlgBW != float64(r.Bytes)/r.TimeUS/1e3 || *r.BusBW != r.AlgBW*1.5 {
		t.Errorf("second row %+v", r)
	}
	if r = winners.Rows[2]; r.Baseline != nil || r.BoundUS != nil {
		t.Errorf("third row %+v: want no baseline and no bound", r)
	}
	if r = winners.Rows[3]; r.Algorithm != "ring" || *r.Speedup != 1./16 {
		t.Errorf("fourth row %+v: a reference is compared with and never wins", r)
	}
	type span struct{ min, max int64 }
	var spans []span
	for _, r := range winners.Ranges {
		spans = append(spans, span{r.MinBytes, r.MaxBytes})
	}
	if leave := winners.Rows[3].LeaveToLibrary; !leave {
		t.Error("a size at which the library's trial is faster is not left to it")
	}
	if want := []span{{1024, 4095}, {4096, 8191}, {8192, 8192}}; !slices.Equal(spans, want) {
		t.Errorf("ranges %v, want %v", spans, want)
	}
}

// The product's contract names the keys of the document.
func TestTableJSONKeys(t *testing.T) {
	winners, err := Build(fullCampaign(t))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(winners)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	row := document["rows"].([]any)[0].(map[string]any)
	for _, key := range strings.Fields(`collective topology nodes ranks bytes placement algorithm source parameters channels instances
		protocol tile_bytes time_us time_ci_us algbw_gbps busbw_gbps baseline baseline_time_us speedup bound_us bound_ratio ir executor`) {
		if _, ok := row[key]; !ok {
			t.Errorf("rows have no %s", key)
		}
	}
	span := document["ranges"].([]any)[0].(map[string]any)
	for _, key := range []string{"min_bytes", "max_bytes", "ir", "protocol", "granularity_bytes"} {
		if _, ok := span[key]; !ok {
			t.Errorf("ranges have no %s", key)
		}
	}
	if want := map[string]any{"enumerated": 9., "refused": map[string]any{"link": 2., "threadblocks": 1.}, "bounded_out": 2., "tuned": 4.}; !reflect.DeepEqual(document["candidates"], want) {
		t.Errorf("candidates %v, want %v", document["candidates"], want)
	}
	spent := document["campaign"].(map[string]any)
	if spent["trials"] != 10. || spent["failed"] != 2. || spent["seconds"] != 2.5 || spent["seed"] != 1. {
		t.Errorf("campaign %v", spent)
	}
	if document["schema"] != "colltune.results/v1" {
		t.Errorf("schema %v", document["schema"])
	}
}

// Names may have letters that HTML has a use for; JSON has none for them.
func TestTableJSONKeepsNames(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan())
	const name = "ring<2> & co"
	resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 0, true), name, "LL", 32768, 1024, 3))
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := winners.Write(&text, "json", Look{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), `"`+name+`"`) {
		t.Errorf("no %q in\n%s", name, text.String())
	}
}

// A name cannot move the cursor or break a line of a table.
func TestTableEscapesNames(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan())
	resultstest.Append(t, c, resultstest.Trial(t, c, irtest.Ring(4, 1, 0, true), "ri\x1b[2Jng\nof\u202ename", "LL", 32768, 1024, 3))
	if err := c.SetTally(results.Tally{Refused: map[string]int{"too\rlarge": 1}}); err != nil {
		t.Fatal(err)
	}
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	for format, name := range map[string]string{"table": `ri\u001b[2Jng of\u202ename`, "md": `ri\\u001b\[2Jng of\\u202ename`} {
		var text strings.Builder
		if err := winners.Write(&text, format, Look{Wide: true}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), name) || !strings.Contains(text.String(), "too large 1") {
			t.Errorf("%s:\n%q", format, text.String())
		}
	}
}

// The order in which trials were made, which a run with more jobs changes,
// leaves no trace in any format.
func TestTableDoesNotDependOnOrder(t *testing.T) {
	c := fullCampaign(t)
	trials := c.Trials()
	tally, _ := c.Tally()
	want := printAll(t, c)
	r := rand.New(rand.NewPCG(3, 4))
	for range 10 {
		r.Shuffle(len(trials), func(i, j int) { trials[i], trials[j] = trials[j], trials[i] })
		other := resultstest.Create(t, resultstest.Plan())
		for _, trial := range trials {
			p, err := c.Program(trial.Program)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.SaveProgram(trial.Program, p); err != nil {
				t.Fatal(err)
			}
		}
		resultstest.Append(t, other, trials...)
		if err := other.SetTally(tally); err != nil {
			t.Fatal(err)
		}
		if got := printAll(t, other); got != want {
			t.Fatalf("another order of the same trials gives\n%s\nnot\n%s", got, want)
		}
	}
}

func printAll(t *testing.T, c *results.Campaign) string {
	t.Helper()
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, name := range Formats() {
		if err := winners.Write(&out, name, Look{}); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// Repetitions are pooled, and one wrong result makes all of them wrong.
func TestRepeatsArePooled(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan(1024))
	a, b := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 1, 1, true)
	again := func(trial results.Trial, repeat int, outcome results.Outcome, us ...float64) results.Trial {
		trial.Repeat, trial.Outcome, trial.TimesUS = repeat, outcome, us
		return trial
	}
	first := resultstest.Trial(t, c, a, "a", "LL", 32768, 1024, 1, 2)
	lucky := resultstest.Trial(t, c, b, "b", "LL", 32768, 1024, 1)
	resultstest.Append(t, c, first, again(first, 1, results.OK, 9, 9, 9), lucky, again(lucky, 1, results.Wrong, 1))
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	if r := winners.Rows[0]; r.Algorithm != "a" || r.TimeUS != 9 {
		t.Errorf("winner %s at %v us, want a at 9", r.Algorithm, r.TimeUS)
	}
}

// A size without measurements ends the range before it, and each placement has its own
// rows.
func TestRangesOfAnUnfinishedCampaign(t *testing.T) {
	plan := resultstest.Plan()
	plan.Placement = "both"
	c := resultstest.Create(t, plan)
	in, out := irtest.Ring(4, 1, 0, true), irtest.Ring(4, 1, 0, false)
	resultstest.Append(t, c,
		resultstest.Trial(t, c, in, "ring", "LL", 32768, 1024, 1),
		resultstest.Trial(t, c, in, "ring", "LL", 32768, 4096, 1), // 2048 is missing
		resultstest.Trial(t, c, in, "ring", "LL", 32768, 8192, 1),
		resultstest.Trial(t, c, out, "ring", "LL", 32768, 1024, 1),
		resultstest.Trial(t, c, out, "ring", "LL128", 576000, 2048, 1),
	)
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range winners.Ranges {
		got = append(got, r.Placement+" "+units.Bytes(r.MinBytes).String()+" "+units.Bytes(r.MaxBytes+1).String())
	}
	if want := []string{"in 1K 2K", "in 4K 8193", "out 1K 2K", "out 2K 4K"}; !slices.Equal(got, want) {
		t.Errorf("ranges %q, want %q", got, want)
	}
}

// Tables shorten the orders and trees of many ranks, and JSON has them whole.
func TestLongParameters(t *testing.T) {
	long := make([]int, 256)
	p := map[string]any{"order": [][]int{long}, "rings": 4}
	if got, want := briefParameters(p), "order=[[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0… rings=4"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	short := map[string]any{"order": [][]int{{0, 2, 1, 3}}}
	if got := briefParameters(short); got != ParametersText(short) || got != "order=[[0,2,1,3]]" {
		t.Errorf("%s: want it whole", got)
	}
}
