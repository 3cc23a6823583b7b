package autotune

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/replay"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/topologies"
)

// delayed is an executor that a busy machine delays.
type delayed struct {
	executor.Executor
	of *rand.Rand
}

func (d delayed) Run(ctx context.Context, t executor.Trial) (executor.Measurement, error) {
	time.Sleep(time.Duration(d.of.ExpFloat64() * float64(10*time.Second)))
	return d.Executor.Run(ctx, t)
}

// replayedTimes is a table of three algorithms, of which one fails at the large sizes.
func replayedTimes() string {
	var b strings.Builder
	b.WriteString("algorithm,channels,bytes,time_us\n")
	for _, n := range testSizes {
		for ch := 1; ch <= 16; ch *= 2 {
			fmt.Fprintf(&b, "ring,%d,%d,%g\n", ch, n, 25+float64(ch)/4+float64(n)/5e3/float64(ch))
			fmt.Fprintf(&b, "tree,%d,%d,%g\n", ch, n, 7+float64(ch)/2+float64(n)/1e3/float64(ch))
			if n < 1<<20 {
				fmt.Fprintf(&b, "nvls,%d,%d,%g\n", ch, n, 9+float64(n)/2e3)
			} else {
				fmt.Fprintf(&b, "nvls,%d,%d,\n", ch, n)
			}
		}
	}
	return b.String()
}

// nativesOf makes candidates of an executor's own algorithms.
func nativesOf(t *testing.T, e executor.Executor) (all []Candidate) {
	t.Helper()
	d, err := e.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	spec := collective.Spec{Name: "allreduce", Ranks: testRanks, Chunks: 1, InPlace: true}
	for _, a := range d.Native {
		n := &executor.Native{Algorithm: a.Algorithm, Settings: map[string]string{}}
		for name, values := range a.Settings {
			n.Settings[name] = values[0]
		}
		all = append(all, Candidate{
			Algorithm: a.Algorithm, Source: results.SourceNative, Parameters: map[string]any{"channels": n.Settings["channels"]},
			Native: n, Collective: spec, Hash: results.NativeHash(n.Algorithm, n.Settings, spec), Chooses: true, Protocols: []topologies.Proto{topologies.Simple},
		})
	}
	return all
}

// A search of recorded times with noise makes the same trials and finds the same table on
// a machine that delays each trial at random.
func TestReplayIsTheSameOnABusyMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.csv")
	if err := os.WriteFile(file, []byte(replayedTimes()), 0o644); err != nil {
		t.Fatal(err)
	}
	given, err := json.Marshal(map[string]any{"settings": map[string]any{"file": file, "noise": "5%", "drift": "3%", "outliers": "5%"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLLTUNE_EXECUTOR_SETTINGS", string(given))
	played := replay.New()
	candidates := nativesOf(t, played)
	for _, name := range Strategies() {
		var first *results.Campaign
		for machine := range 4 {
			c := newCampaign(t, "in")
			synctest.Test(t, func(t *testing.T) {
				o := optionsFor(c, delayed{played, rand.New(rand.NewPCG(1, uint64(machine)))}, 1)
				o.Strategy = name
				if _, err := Run(t.Context(), testProblem(), candidates, o); err != nil {
					t.Fatal(err)
				}
			})
			if first == nil {
				first = c
				continue
			}
			if a, b := order(first), order(c); !slices.Equal(a, b) {
				t.Errorf("%s: trials of machine %d\n%s\nof the first\n%s", name, machine, strings.Join(b, "\n"), strings.Join(a, "\n"))
			}
			if a, b := tableOf(t, first, false), tableOf(t, c, false); a != b {
				t.Errorf("%s: table of machine %d\n%s\nof the first\n%s", name, machine, b, a)
			}
		}
	}
}
