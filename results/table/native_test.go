package table

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/google/go-cmp/cmp"
)

func TestTitles(t *testing.T) {
	c := resultstest.Create(t, resultstest.Plan())
	program := resultstest.Trial(t, c, irtest.Ring(4, 2, 0, true), "ring", "LL", 32768, 1024, 3)
	own := resultstest.NativeTrial("ring", "LL", map[string]string{"channels": "8"}, 8, 1024, 3)
	for want, trial := range map[string]*results.Trial{"ring scratch=0 ×2 LL tile 32K": &program, "ring channels=8 LL": &own} {
		if got := (&Measured{Trial: trial}).Title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTableOfALibrary(t *testing.T) {
	c := resultstest.Library(t)
	winners, err := Build(c)
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Algorithm, Source, Protocol string
		Tile                        int64
		IR, Bound                   bool
	}
	var rows []row
	for _, r := range winners.Rows {
		rows = append(rows, row{r.Algorithm, r.Source, r.Protocol, r.TileBytes, r.IR != "", r.BoundUS != nil})
	}
	want := []row{
		{"auto", results.SourceNative, results.ProtocolAuto, 0, false, true},
		{"ring", "template", "LL", 32768, true, true},
		// Faster than any routing: the bound is not of such.
		{"nvlstree", results.SourceNative, "Simple", 0, false, false},
		{"nvlstree", results.SourceNative, "Simple", 0, false, false},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if n := len(winners.Ranges); n != 4 { // the last two differ in their buffer
		t.Errorf("%d ranges: %+v", n, winners.Ranges)
	}
	// The journal gives it back.
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := results.OpenReadOnly(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	reread, err := Build(again)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range Formats() {
		var a, b strings.Builder
		if err := errors.Join(winners.Write(&a, format, Look{}), reread.Write(&b, format, Look{})); err != nil || a.String() != b.String() {
			t.Errorf("%s: %v\n%s\n%s", format, err, a.String(), b.String())
		}
	}
}

// settingTrial is a trial of a setting of the library's.
func settingTrial(algorithm, protocol string, parameters map[string]any, threadblocks int, bytes int64, us float64, evidence string) results.Trial {
	settings := map[string]string{}
	for _, word := range ParametersWords(parameters) {
		name, value, _ := strings.Cut(word, "=")
		settings[name] = value
	}
	t := resultstest.NativeTrial(algorithm, protocol, settings, 0, bytes, us)
	t.Parameters, t.Threadblocks, t.Evidence, t.Data = parameters, threadblocks, evidence, results.NoData
	return t
}

// A setting wins where it gains over the library's choice: time, or threadblocks in about the same. What it is set
// by follows from what the library chooses by itself.
func TestSettings(t *testing.T) {
	window := map[string]any{"kernel": "AllReduce_RSxLD_AGxST", "ctas": 4, "registered": "window"}
	channels := map[string]any{"channels": 8}
	for _, c := range []struct {
		name      string
		release   string
		setting   results.Trial
		words     string // empty: the program wins
		variables []string
		best      bool // of the baseline's algorithm and protocol
	}{
		{"channels", "nccl-2.32.3", settingTrial("ring", "LL", channels, 8, 1024, 7, "fitted"), "NCCL, 8 channels", []string{"NCCL_MIN_NCHANNELS=8", "NCCL_MAX_NCHANNELS=8"}, true},
		{"slower than the library", "nccl-2.32.3", settingTrial("ring", "LL", channels, 8, 1024, 8.4, "fitted"), "", nil, false},
		{"about as fast, of fewer threadblocks", "nccl-2.32.3", settingTrial("ring", "LL", map[string]any{"channels": 2}, 2, 1024, 8.1, "fitted"), "NCCL, 2 channels", []string{"NCCL_MIN_NCHANNELS=2", "NCCL_MAX_NCHANNELS=2"}, true},
		{"algorithm", "nccl-2.32.3", settingTrial("tree", "LL", nil, 4, 1024, 7, "fitted"), "NCCL tree LL", []string{"NCCL_ALGO=allreduce:tree", "NCCL_PROTO=allreduce:LL"}, false},
		{"protocol", "rccl-2.30.7", settingTrial("ring", "Simple", channels, 8, 1024, 7, "fitted"), "RCCL ring Simple, 8 channels", []string{"NCCL_PROTO=allreduce:Simple", "NCCL_MIN_NCHANNELS=8", "NCCL_MAX_NCHANNELS=8"}, false},
		{"of a release that names no collective", "rccl-2.21.5", settingTrial("tree", "LL", nil, 4, 1024, 7, "fitted"), "RCCL tree LL", []string{"NCCL_ALGO=tree", "NCCL_PROTO=LL"}, false},
		{"kernel", "nccl-2.32.3", settingTrial("symmetric", "Simple", window, 4, 1024, 7, "predicted"), "NCCL AllReduce_RSxLD_AGxST, 4 CTAs, windows", []string{"NCCL_SYM_KERNEL=allreduce:AllReduce_RSxLD_AGxST", "NCCL_SYM_CTAS=4"}, false},
		{"kernel of an older release", "nccl-2.29.7", settingTrial("symmetric", "Simple", window, 4, 1024, 7, "predicted"), "NCCL AllReduce_RSxLD_AGxST, 4 CTAs, windows", []string{"NCCL_SYM_KERNEL=AllReduce_RSxLD_AGxST", "NCCL_SYM_CTAS=4"}, false},
		{"policy", "nccl-2.32.3", settingTrial("copy engine", "Simple", map[string]any{"cta_policy": "ZERO", "registered": "window"}, 0, 1024, 7, "predicted"), "NCCL copy engine, windows", []string{"NCCL_CTA_POLICY=ZERO"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			campaign := resultstest.Create(t, resultstest.Plan())
			resultstest.Append(t, campaign, resultstest.Trial(t, campaign, irtest.Ring(4, 1, 0, true), "ring", "LL", 32768, 1024, 8.5), resultstest.Keyed(campaign, c.setting))
			called := &results.Baseline{Name: "ring ×4 LL", TimeUS: 8, Data: results.NoData, Release: c.release, Registered: results.RegisteredNone, Evidence: results.EvidenceFitted, Threadblocks: 4}
			if err := campaign.SetTally(results.Tally{Finished: true, Enumerated: 2, Tuned: 2, Points: []results.Point{{Bytes: 1024, Placement: "in", Baseline: called}}}); err != nil {
				t.Fatal(err)
			}
			built, err := Build(campaign)
			if err != nil {
				t.Fatal(err)
			}
			r := &built.Rows[0]
			if won := r.Source == results.SourceNative; won != (c.words != "") {
				t.Fatalf("won by %s of source %s", r.Algorithm, r.Source)
			}
			var lines []string
			if c.words != "" {
				lines = []string{r.SettingLine()}
				if r.settingWords() != c.words || r.IR != "" || r.SettingEvidence != c.setting.Evidence {
					t.Errorf("%q, %s, program %q: want %q, %s", r.settingWords(), r.SettingEvidence, r.IR, c.words, c.setting.Evidence)
				}
			}
			if diff := cmp.Diff(c.variables, r.Variables); diff != "" {
				t.Error(diff)
			}
			if got := built.SettingLines(); !slices.Equal(got, lines) {
				t.Errorf("lines %q, want %q", got, lines)
			}
			if best := r.BaselineBestChannelsUS != nil && c.words != ""; best != c.best {
				t.Errorf("the baseline's best channels: %v, want %v", best, c.best)
			}
			for _, line := range lines {
				if printed := text(t, built); !strings.Contains(printed, "\n"+line+"\n") {
					t.Errorf("no line %q in\n%s", line, printed)
				}
			}
			programs, err := Programs(campaign)
			if err != nil || programs.Rows[0].Source == results.SourceNative || programs.Rows[0].Variables != nil {
				t.Errorf("of programs alone %s of source %s wins: %v", programs.Rows[0].Algorithm, programs.Rows[0].Source, err)
			}
		})
	}
}

func text(t *testing.T, built *Table) string {
	var b strings.Builder
	if err := built.Write(&b, "table", Look{Wide: true}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
