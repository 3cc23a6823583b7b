package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/table"
)

var update = flag.Bool("update", false, "write testdata/page.txt anew")

// elements are all that a page is made of: none of them runs or loads anything.
var elements = strings.Fields(`html head meta title style body header main section article p strong em small h1 h2 h3 ul li div
	table thead tbody tr th td i code pre dl dt dd br figure figcaption span
	svg g path rect circle text line defs marker`)

// parsed is a page taken apart.
type parsed struct {
	lines  []string   // what is read, a line a block
	tables [][]string // rows of the winning tables, cell by cell
}

// blocks begin a line of their own.
var blocks = strings.Fields("h1 h2 h3 p li tr dt pre figcaption article svg")

// parse reads a page as XML, strictly, and refuses every element and attribute that
// a page has no use for.
func parse(t testing.TB, page string) parsed {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict = true
	var all parsed
	var line strings.Builder
	var open []string
	var cells []string
	inTable, cell := false, ""
	flush := func() {
		if s := strings.Join(strings.Fields(line.String()), " "); s != "" {
			all.lines = append(all.lines, s)
		}
		line.Reset()
	}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			if !slices.Contains(elements, name) {
				t.Fatalf("element <%s>", name)
			}
			for _, a := range x.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || a.Name.Local == "src" {
					t.Fatalf("attribute %s of <%s>", a.Name.Local, name)
				}
				if name == "table" && a.Name.Local == "class" && a.Value == "winners" {
					inTable = true
				}
			}
			open = append(open, name)
			if slices.Contains(blocks, name) {
				flush()
			}
			cell = ""
			if name == "tr" {
				cells = nil
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			switch x.Name.Local {
			case "td":
				cells = append(cells, cell)
				line.WriteString(" | ")
			case "tr":
				if inTable && len(cells) > 0 {
					all.tables = append(all.tables, cells)
				}
			case "table":
				inTable = false
			case "th", "text", "dt", "title":
				line.WriteString(" · ")
			}
		case xml.CharData:
			if len(open) > 0 && open[len(open)-1] == "style" {
				continue
			}
			line.Write(x)
			cell += string(x)
		}
	}
	flush()
	return all
}

// TestPage holds what a page says to the one that was looked at.
func TestPage(t *testing.T) {
	c := shownCampaign(t, t.TempDir())
	defer c.Close()
	page, _ := pageOf(t, c)
	got := strings.Join(parse(t, page).lines, "\n") + "\n"
	got = strings.Replace(got, formatsText(), "(all of them)", 1)
	file := filepath.Join("testdata", "page.txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("-want +got; -update writes it anew:\n%s", diff)
	}
	if strings.Contains(page, "<b>") {
		t.Error("a note of the journal became markup")
	}
	if n := strings.Count(page, "http"); n != 1 { // the name of SVG's language, in the topology's picture
		t.Errorf("the page names %d addresses", n)
	}
}

// nasty are names that would be markup, or more than a page has room for.
func nasty() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"ring", "tree", "<script>alert(1)</script>", `"onload="x`, "]]>", "&amp;", "--><svg/onload=x>", "{{.}}", "name\x00\x1b[31m", "é×…", strings.Repeat("long ", 400)}),
		rapid.String(),
	).Filter(func(s string) bool { return s != "" })
}

// drawn is a campaign made at random, and its trials.
type drawn struct {
	plan     results.Plan
	executor results.Executor
	tally    results.Tally
	make     func(t testing.TB, c *results.Campaign) []results.Trial
}

func drawCampaign(t *rapid.T, tb testing.TB) drawn {
	var sizes []int64
	for n := rapid.Int64Range(1, 5000).Draw(t, "first"); len(sizes) < rapid.IntRange(1, 12).Draw(t, "sizes"); n = n*rapid.Int64Range(1, 9).Draw(t, "factor") + 1 {
		sizes = append(sizes, n)
	}
	placement := rapid.SampledFrom([]string{"in", "out", "both"}).Draw(t, "placement")
	d := drawn{plan: testPlan(tb, placement, sizes...), executor: simulated}
	if rapid.Bool().Draw(t, "measured") {
		d.executor = results.Executor{Name: nasty().Draw(t, "executor"), Version: "1", Fingerprint: map[string]string{nasty().Draw(t, "print"): nasty().Draw(t, "value")}}
	}
	type made struct {
		program        int
		in             bool
		name, protocol string
		bytes          int64
		times          []float64
		outcome        results.Outcome
		note           string
		native         bool
		reference      bool
	}
	var all []made
	us := rapid.Float64Range(1e-3, 1e9)
	for range rapid.IntRange(0, 40).Draw(t, "trials") {
		m := made{
			program: rapid.IntRange(0, 3).Draw(t, "program"), in: placement == "in" || placement == "both" && rapid.Bool().Draw(t, "in"),
			name: nasty().Draw(t, "name"), protocol: rapid.SampledFrom([]string{"LL", "LL128", "Simple"}).Draw(t, "protocol"),
			bytes: rapid.SampledFrom(sizes).Draw(t, "bytes"), times: rapid.SliceOfN(us, 1, 4).Draw(t, "times"),
			outcome: rapid.SampledFrom(append(results.Outcomes(), results.OK, results.OK, results.OK)).Draw(t, "outcome"),
			note:    nasty().Draw(t, "note"), native: rapid.Bool().Draw(t, "native"), reference: rapid.IntRange(0, 9).Draw(t, "reference") == 0,
		}
		all = append(all, m)
	}
	d.make = func(tb testing.TB, c *results.Campaign) (trials []results.Trial) {
		for _, m := range all {
			at := "out"
			if m.in {
				at = "in"
			}
			var x results.Trial
			if m.native {
				x = nativeTrial(c, m.name, m.protocol, at, m.bytes, m.times...)
			} else {
				x = newTrial(tb, c, testRing(4, m.program, m.in), m.name, m.protocol, 32768, m.bytes, m.times...)
			}
			x.Outcome, x.Reference = m.outcome, m.reference
			if m.outcome != results.OK {
				x.Note = m.note
			}
			trials = append(trials, x)
		}
		// One trial of a key: which of two would be kept is the journal's business.
		seen := map[string]bool{}
		return slices.DeleteFunc(trials, func(x results.Trial) bool { again := seen[x.Key]; seen[x.Key] = true; return again })
	}
	d.tally = results.Tally{
		Finished: rapid.Bool().Draw(t, "finished"), Enumerated: rapid.IntRange(0, 99).Draw(t, "enumerated"),
		Refused: rapid.MapOfN(nasty(), rapid.IntRange(0, 50), 0, 5).Draw(t, "refused"),
	}
	for _, n := range sizes {
		for _, at := range []string{"in", "out"} {
			p := results.Point{Bytes: n, Placement: at, BoundUS: rapid.Float64Range(0, 1e3).Draw(t, "bound")}
			if rapid.Bool().Draw(t, "baseline") {
				p.Baseline = &results.Baseline{Name: nasty().Draw(t, "baseline's name"), TimeUS: us.Draw(t, "its time")}
			}
			d.tally.Points = append(d.tally.Points, p)
		}
	}
	return d
}

// TestEveryFigureIsFromTheTable compares the pages of random campaigns with the JSON of
// their winning tables: well-formed whatever a journal says, of bounded size, and equal
// for trials in another order and folder.
func TestEveryFigureIsFromTheTable(t *testing.T) {
	// Programs are kept once for all campaigns: writing them is most of the work.
	programs := t.TempDir()
	once := newCampaign(t, programs, testPlan(t, "both", 1), simulated)
	for i := range 8 {
		newTrial(t, once, testRing(4, i/2, i%2 == 0), "ring", "LL", 32768, 1, 1)
	}
	once.Close()
	rapid.Check(t, func(rt *rapid.T) {
		d := drawCampaign(rt, t)
		var pages []string
		var winners *table.Table
		for turn := range 2 {
			dir, err := os.MkdirTemp(programs, "c")
			if err != nil {
				rt.Fatal(err)
			}
			defer os.RemoveAll(dir)
			c := newCampaign(t, dir, d.plan, d.executor)
			if err := os.CopyFS(filepath.Join(dir, "programs"), os.DirFS(filepath.Join(programs, "programs"))); err != nil {
				rt.Fatal(err)
			}
			trials := d.make(t, c)
			if turn == 1 {
				slices.Reverse(trials)
				for i := range trials {
					trials[i].Seconds++
				}
			}
			resultstest.Append(t, c, trials...)
			setTally(t, c, d.tally)
			var page string
			page, winners = pageOf(t, c)
			pages = append(pages, page)
			c.Close()
		}
		if pages[0] != pages[1] {
			rt.Fatal("trials in another order give another page")
		}
		if len(pages[0]) > 300<<10 {
			rt.Fatalf("a page of %d bytes", len(pages[0]))
		}
		holdRows(rt, parse(t, pages[0]).tables, winners)
	})
}

// holdRows compares the rows of a page with those of the table's JSON.
func holdRows(t rapid.TB, rows [][]string, winners *table.Table) {
	text, err := json.Marshal(winners)
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Rows []map[string]any `json:"rows"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(document.Rows) {
		t.Fatalf("%d rows, of %d", len(rows), len(document.Rows))
	}
	figure := func(v any) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(v.(float64), 'f', 2, 64)
	}
	for i, row := range document.Rows {
		bytes, _ := row["bytes"].(float64)
		want := []string{sizeText(int64(bytes)), figure(row["time_us"]), figure(row["algbw_gbps"]), figure(row["busbw_gbps"]), figure(row["bound_ratio"])}
		if row["speedup"] != nil {
			want = append(want, figure(row["baseline_time_us"]), figure(row["speedup"]))
		}
		for _, w := range want {
			if w != "" && !slices.Contains(rows[i], w) {
				t.Fatalf("row %d has no cell %q: %q", i, w, rows[i])
			}
		}
	}
}

// TestVerdict computes the sentences at the head of a page from the table again.
func TestVerdict(t *testing.T) {
	c := shownCampaign(t, t.TempDir())
	defer c.Close()
	page, winners := pageOf(t, c)
	product, most, at := 1.0, 0.0, int64(0)
	for _, r := range winners.Rows {
		product *= *r.Speedup
		if *r.Speedup > most {
			most, at = *r.Speedup, r.Bytes
		}
	}
	want := fmt.Sprintf("Speedup %.2f× in the geometric mean, at most %.2f× (%s)", math.Pow(product, 1/float64(len(winners.Rows))), most, sizeText(at))
	if !slices.Contains(parse(t, page).lines, want) {
		t.Errorf("no line %q", want)
	}
}

// TestLargePages bounds the page of a campaign of a thousand sizes, whose winner
// changes at each, and of one whose winners are a thousand programs.
func TestLargePages(t *testing.T) {
	var sizes []int64
	for i := range 1000 {
		sizes = append(sizes, int64(1024*(i+1)))
	}
	c := newCampaign(t, t.TempDir(), testPlan(t, "in", sizes...), results.Executor{Name: "lab", Version: "1"})
	defer c.Close()
	var trials []results.Trial
	one, two := newTrial(t, c, testRing(4, 0, true), "ring", "LL", 32768, 1024, 1), newTrial(t, c, testRing(4, 1, true), "tree", "Simple", 32768, 1024, 1)
	for i, n := range sizes {
		for j, x := range []results.Trial{one, two} {
			x.Key, x.Bytes, x.TimesUS = hashOf(2*i+j+1), n, []float64{float64(n)/1000 + float64((i+j)%2)}
			trials = append(trials, x)
		}
		x := nativeTrial(c, fmt.Sprintf("algorithm %d", i), "LL", "in", n, float64(n)/500)
		if i%3 == 0 {
			x.Outcome, x.Note = results.Failed, fmt.Sprintf("reason %d %s", i, strings.Repeat("and on ", 99))
		}
		trials = append(trials, x)
	}
	resultstest.Append(t, c, trials...)
	page, winners := pageOf(t, c)
	if len(winners.Ranges) != len(sizes) {
		t.Fatalf("%d ranges", len(winners.Ranges))
	}
	if len(page) > 512<<10 {
		t.Errorf("a page of %d bytes", len(page))
	}
	says := strings.Join(parse(t, page).lines, "\n")
	for _, want := range []string{"200 of 1000 sizes;", "304 more reasons are not shown", "The search is not finished"} {
		if !strings.Contains(says, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// Pages of incomplete campaigns.
func TestWithout(t *testing.T) {
	for _, tc := range []struct {
		name string
		make func(t *testing.T, dir string) *results.Campaign
		want string
	}{
		{"nothing measured", func(t *testing.T, dir string) *results.Campaign {
			return newCampaign(t, dir, testPlan(t, "in", 1024), simulated)
		}, "Nothing measured yet"},
		{"nothing run", func(t *testing.T, dir string) *results.Campaign {
			c, err := results.Create(dir, testPlan(t, "both", 1024))
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, "sim, nothing run yet"},
		{"programs gone", func(t *testing.T, dir string) *results.Campaign {
			c := shownCampaign(t, dir)
			if err := os.RemoveAll(filepath.Join(dir, "programs")); err != nil {
				t.Fatal(err)
			}
			return c
		}, "Its program can't be read"},
		{"another topology", func(t *testing.T, dir string) *results.Campaign {
			p := testPlan(t, "in", 1024)
			p.Topology.Hash = hashOf(1)
			return newCampaign(t, dir, p, simulated)
		}, "It is not drawn"},
		{"a file's name for a topology", func(t *testing.T, dir string) *results.Campaign {
			p := testPlan(t, "in", 1024)
			p.Topology.Text = "/etc/passwd"
			return newCampaign(t, dir, p, simulated)
		}, "It is not drawn"},
		{"some sizes without a winner", func(t *testing.T, dir string) *results.Campaign {
			c := newCampaign(t, dir, testPlan(t, "in", 1024, 2048), simulated)
			bad := newTrial(t, c, testRing(4, 0, true), "ring", "LL", 32768, 2048)
			bad.Outcome, bad.TimesUS = results.Wrong, []float64{1}
			resultstest.Append(t, c, newTrial(t, c, testRing(4, 0, true), "ring", "LL", 32768, 1024, 5), bad)
			setTally(t, c, results.Tally{Finished: true})
			return c
		}, "1 of 2 sizes have no winner, since no trial there gave a right result"},
		{"a library's own", func(t *testing.T, dir string) *results.Campaign {
			c := newCampaign(t, dir, testPlan(t, "in", 1024), results.Executor{Name: "nccl", Version: "1"})
			resultstest.Append(t, c, nativeTrial(c, "ring", "LL", "in", 1024, 5, 6, 7))
			return c
		}, "Measured by nccl."},
		{"times that vary", func(t *testing.T, dir string) *results.Campaign {
			c := newCampaign(t, dir, testPlan(t, "in", 1024), results.Executor{Name: "nccl", Version: "1"})
			resultstest.Append(t, c, nativeTrial(c, "ring", "LL", "in", 1024, 5, 6, 7))
			return c
		}, "6.00 | 5.00–7.00 |"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := tc.make(t, t.TempDir())
			defer c.Close()
			page, _ := pageOf(t, c)
			if says := strings.Join(parse(t, page).lines, "\n"); !strings.Contains(says, tc.want) {
				t.Errorf("the page does not say %q:\n%s", tc.want, says)
			}
		})
	}
}

// TestReasons holds the meanings of reasons to the table in docs/campaigns.md.
func TestReasons(t *testing.T) {
	text, err := os.ReadFile("../../docs/campaigns.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Reasons for refusal")
	told := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(section, -1) {
		told[row[1]] = true
		if reasons[row[1]] == "" {
			t.Errorf("%s has no meaning", row[1])
		}
	}
	if len(told) != len(reasons) {
		t.Errorf("%d reasons are told, %d have a meaning", len(told), len(reasons))
	}
}
