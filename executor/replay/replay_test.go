package replay

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

const times = `collective,ranks,inplace,algorithm,protocol,channels,bytes,time_us
allreduce,4,1,ring,LL,4,1024,10
allreduce,4,1,ring,LL,4,1024,12
allreduce,4,1,ring,LL,4,1024,14
allreduce,4,1,ring,Simple,4,1024,20
allreduce,4,1,ring,Simple,8,2048,15
allreduce,4,1,auto,auto,,1024,11
allreduce,4,1,auto,LL,,1024,13
allreduce,4,1,tree,LL,4,1024,
allreduce,8,1,ring,LL,4,1024,30
`

// player returns the executor with settings, and a file with the times above as file.
func newPlayer(t *testing.T, settings map[string]string) *player {
	t.Helper()
	file := filepath.Join(t.TempDir(), "times.csv")
	if err := os.WriteFile(file, []byte(times), 0o644); err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"file": file}
	for k, v := range settings {
		given[k] = v
	}
	b, err := json.Marshal(map[string]any{"settings": given})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COLLTUNE_EXECUTOR_SETTINGS", string(b))
	p := New().(*player)
	_ = p.load() // while the environment is this test's
	return p
}

func trial(t *testing.T, algorithm, settings string, proto topologies.Proto, bytes int64) executor.Trial {
	t.Helper()
	n := &executor.Native{Algorithm: algorithm, Settings: map[string]string{}}
	for _, word := range strings.Fields(settings) {
		k, v, _ := strings.Cut(word, "=")
		n.Settings[k] = v
	}
	return executor.Trial{
		Native: n, Collective: collective.Spec{Name: "allreduce", Ranks: 4, Chunks: 1, InPlace: true},
		Topology: topotest.Resolve(t, "ring:4", 1), Bytes: bytes, Protocol: proto, DType: "f32", Op: "sum", Iters: 2,
	}
}

// Only recorded combinations are offered: an algorithm for each, with one value a setting.
func TestOffersWhatWasRecorded(t *testing.T) {
	d, err := newPlayer(t, map[string]string{"ranks": "4"}).Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	allreduce := []string{"allreduce"}
	want := []executor.NativeAlgorithm{
		{Algorithm: "ring", Collectives: allreduce, Protocols: []string{"LL", "Simple"}, Settings: map[string][]string{"channels": {"4"}}},
		{Algorithm: "ring", Collectives: allreduce, Protocols: []string{"Simple"}, Settings: map[string][]string{"channels": {"8"}}},
		{Algorithm: "auto", Collectives: allreduce, Settings: map[string][]string{}},
		{Algorithm: "auto", Collectives: allreduce, Settings: map[string][]string{"protocol": {"LL"}}},
		{Algorithm: "tree", Collectives: allreduce, Protocols: []string{"LL"}, Settings: map[string][]string{"channels": {"4"}}},
	}
	if !reflect.DeepEqual(d.Native, want) {
		t.Errorf("it offers\n%+v\nwant\n%+v", d.Native, want)
	}
	if !d.Deterministic || !d.NativeOnly || !d.OtherLinks || d.Validate() != nil {
		t.Errorf("description %+v", d)
	}
}

func TestPlaysWhatWasRecorded(t *testing.T) {
	p := newPlayer(t, map[string]string{"ranks": "4"})
	for _, tc := range []struct {
		name string
		t    executor.Trial
		want []float64
		err  error // nil, with no times: it failed
	}{
		{"at most one time an iteration", trial(t, "ring", "channels=4", topologies.LL, 1024), []float64{10, 12}, nil},
		{"another protocol", trial(t, "ring", "channels=4", topologies.Simple, 1024), []float64{20}, nil},
		{"its own choice of protocol", trial(t, "auto", "", topologies.Simple, 1024), []float64{11}, nil},
		{"the same with one", trial(t, "auto", "protocol=LL", topologies.Simple, 1024), []float64{13}, nil},
		{"what failed", trial(t, "tree", "channels=4", topologies.LL, 1024), nil, nil},
		{"another size", trial(t, "ring", "channels=4", topologies.LL, 2048), nil, executor.ErrUnsupported},
		{"another value", trial(t, "ring", "channels=16", topologies.LL, 1024), nil, executor.ErrUnsupported},
		{"another protocol than was recorded", trial(t, "ring", "channels=8", topologies.LL, 2048), nil, executor.ErrUnsupported},
	} {
		m, err := p.Run(context.Background(), tc.t)
		if !reflect.DeepEqual(m.TimesUS, tc.want) || (err == nil) != (tc.want != nil) || errors.Is(err, executor.ErrUnsupported) != (tc.err != nil) {
			t.Errorf("%s: %v, %v; want %v, %v", tc.name, m.TimesUS, err, tc.want, tc.err)
		}
	}
	warm := trial(t, "ring", "channels=4", topologies.LL, 1024)
	warm.Warmup = 3
	if m, err := p.Run(context.Background(), warm); err != nil || math.Abs(m.CostSeconds-5*12e-6) > 1e-12 {
		t.Errorf("cost %v s, %v: want five times the median of 12 us", m.CostSeconds, err)
	}
	other := trial(t, "ring", "channels=4", topologies.LL, 1024)
	other.Collective.Ranks, other.Topology = 8, topotest.Resolve(t, "ring:8", 1)
	if _, err := p.Run(context.Background(), other); !errors.Is(err, executor.ErrUnsupported) || !strings.Contains(err.Error(), "want one of allreduce, 4 ranks, in place") {
		t.Errorf("other ranks: %v", err)
	}
	if _, err := p.Run(context.Background(), executor.Trial{Topology: other.Topology}); !errors.Is(err, executor.ErrUnsupported) {
		t.Errorf("a program: %v", err)
	}
}

// All times of a trial have one factor, another trial of the point another one. They follow
// from the seed and the numbers of trials before, not from what this process played.
func TestNoiseFollowsTheSeed(t *testing.T) {
	run := func(seed string) (all []float64) {
		p := newPlayer(t, map[string]string{"ranks": "4", "noise": "10%", "drift": "1", "outliers": "1%", "seed": seed})
		if d, err := p.Describe(context.Background()); err != nil || d.Deterministic {
			t.Fatalf("deterministic %v, %v: want noise", d.Deterministic, err)
		}
		for i := range 3 {
			next := trial(t, "ring", "channels=4", topologies.LL, 1024)
			next.Repeat, next.Before = i, 7*i
			m, err := p.Run(context.Background(), next)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(m.TimesUS[1]/m.TimesUS[0]-1.2) > 1e-9 {
				t.Errorf("times %v: want one factor of 10 and 12", m.TimesUS)
			}
			all = append(all, m.TimesUS[0])
		}
		return all
	}
	first := run("5")
	if first[0] == first[1] || first[0] == 10 {
		t.Errorf("times %v: want them to differ", first)
	}
	if again := run("5"); !reflect.DeepEqual(again, first) {
		t.Errorf("times %v and %v of one seed", again, first)
	}
	resumed := newPlayer(t, map[string]string{"ranks": "4", "noise": "10%", "drift": "1", "outliers": "1%", "seed": "5"})
	last := trial(t, "ring", "channels=4", topologies.LL, 1024)
	last.Repeat, last.Before = 2, 14
	if m, err := resumed.Run(context.Background(), last); err != nil || m.TimesUS[0] != first[2] {
		t.Errorf("times %v, %v of the third trial in a process of its own: want %g", m.TimesUS, err, first[2])
	}
	if other := run("6"); other[0] == first[0] {
		t.Errorf("times %v of another seed: want others", other)
	}
}

// Wrong settings are told by their key, and never as a lost executor.
func TestWrongSettings(t *testing.T) {
	for want, settings := range map[string]map[string]string{
		"replay: file is not set":                          {"file": ""},
		"no-such.csv: no such file":                        {"file": "no-such.csv"},
		`replay: placement "up": want in or out`:           {"placement": "up"},
		`replay: ranks "four": want a whole number from 0`: {"ranks": "four"},
		`replay: noise "much": want a percentage`:          {"noise": "much"},
		"replay: noise 200 %: want 0 to 100 %":             {"noise": "200%"},
		"2 calls were recorded: want one of allreduce, 4 ranks, in place; allreduce, 8 ranks, in place; collective, nodes, ranks and placement in [executor.replay] choose": {},
		"nothing was recorded of 2 ranks: want one of allreduce, 4 ranks": {"ranks": "2"},
	} {
		_, err := newPlayer(t, settings).Describe(context.Background())
		if !errors.Is(err, executor.ErrSettings) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", settings, err, want)
		}
	}
}
