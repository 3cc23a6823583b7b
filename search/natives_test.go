package search

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/search/library/nccl"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
	"pgregory.net/rapid"
)

// Every combination is there once, the defaults first; beyond the limit, every
// value is, with the others at their default.
func TestSettingsAreCombined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := map[string][]string{}
		for _, name := range []string{"channels", "buffer", "threads"} {
			if n := rapid.IntRange(0, 4).Draw(t, name); n > 0 {
				values[name] = []string{"a", "b", "c", "d"}[:n]
			}
		}
		limit := rapid.IntRange(1, 70).Draw(t, "limit")
		product, alone := 1, 1
		for _, v := range values {
			product *= len(v)
			alone += len(v) - 1
		}
		list, all := settings(values, limit)
		if want := product <= limit; all != want {
			t.Fatalf("all of %d within %d: %v", product, limit, all)
		}
		want := alone
		if all {
			want = product
		}
		seen := map[string]bool{}
		for i, s := range list {
			off := 0
			for name, v := range s {
				if !slices.Contains(values[name], v) {
					t.Fatalf("%s=%s is none of %v", name, v, values[name])
				}
				if v != values[name][0] {
					off++
				}
			}
			if len(s) != len(values) || i == 0 && off > 0 || !all && off > 1 {
				t.Fatalf("combination %d of %v: %v", i, values, s)
			}
			seen[results.NativeHash("ring", s, collective.Spec{})] = true
		}
		if len(list) != want || len(seen) != want {
			t.Fatalf("%d combinations, %d distinct, want %d of %v", len(list), len(seen), want, values)
		}
	})
}

func TestNativesOf(t *testing.T) {
	ring := executor.NativeAlgorithm{Algorithm: "ring", Protocols: []string{"LL", "Simple"}, Settings: map[string][]string{"channels": {"8", "4"}, "buffer": {"4M"}}}
	tree := executor.NativeAlgorithm{Algorithm: "tree", Collectives: []string{"allreduce"}}
	for name, tc := range map[string]struct {
		o    Options
		coll string
		want []string
	}{
		"all":                   {Options{}, "allreduce", []string{"ring", "tree"}},
		"of the collective":     {Options{}, "allgather", []string{"ring"}},
		"asked for":             {Options{Families: []string{"tree"}}, "allreduce", []string{"tree"}},
		"excluded":              {Options{Exclude: []string{"ring"}}, "allreduce", []string{"tree"}},
		"channels fixed":        {Options{Channels: 2}, "allreduce", []string{"ring"}},
		"instances fixed":       {Options{Instances: 2}, "allreduce", nil},
		"tile fixed":            {Options{TileBytes: 1 << 20}, "allreduce", nil},
		"a user's own":          {Options{}, "mine", nil},
		"an executor not asked": {Options{Capabilities: nil}, "allreduce", nil},
		"none of them asked":    {Options{Families: []string{"direct"}}, "allreduce", nil},
		"both asked, one out":   {Options{Families: []string{"ring", "tree"}, Exclude: []string{"tree"}}, "allreduce", []string{"ring"}},
		"a parameter of theirs": {Options{Parameters: map[string]string{"buffer": "1M"}}, "allgather", []string{"ring"}},
	} {
		o := tc.o
		if name != "an executor not asked" {
			o.Capabilities = &Capabilities{Name: "library", Native: []executor.NativeAlgorithm{ring, tree}}
		}
		var got []string
		for _, a := range o.natives(tc.coll) {
			got = append(got, a.Algorithm)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
	o := Options{Channels: 2, Parameters: map[string]string{"buffer": "1M", "other": "x"}}
	if got := o.fixedSettings(ring); !maps.EqualFunc(got, map[string][]string{"channels": {"2"}, "buffer": {"1M"}}, slices.Equal) {
		t.Errorf("fixed: %v", got)
	}
	for _, c := range []struct {
		proto topologies.Proto
		of    executor.NativeAlgorithm
		want  []topologies.Proto // none: it can't be run
	}{
		{topologies.LL128, ring, nil}, // without it
		{topologies.LL128, tree, nil}, // it chooses by itself
		{topologies.LL, ring, []topologies.Proto{topologies.LL}},
	} {
		eachOn(t, problem{"ring:4", 1, "allreduce", []int64{1 << 10}}, Options{Protocols: []topologies.Proto{c.proto}}, func(p *placement) {
			if got, ok := p.nativeProtocols(c.of); ok != (c.want != nil) || !slices.Equal(got, c.want) {
				t.Errorf("%v of %s: %v, %v", c.proto, c.of.Algorithm, got, ok)
			}
		})
	}
}

// What is computed is part of an algorithm's identity.
func TestNativeHashTellsApart(t *testing.T) {
	base := collective.Spec{Name: "broadcast", Ranks: 8, Root: 1}
	seen := map[string]bool{}
	for _, h := range []string{
		results.NativeHash("ring", nil, base),
		results.NativeHash("tree", nil, base),
		results.NativeHash("ring", map[string]string{"channels": "8"}, base),
		results.NativeHash("ring", map[string]string{"channels": "4"}, base),
		results.NativeHash("ring", nil, collective.Spec{Name: "broadcast", Ranks: 8, Root: 2}),
		results.NativeHash("ring", nil, collective.Spec{Name: "broadcast", Ranks: 4, Root: 1}),
		results.NativeHash("ring", nil, collective.Spec{Name: "broadcast", Ranks: 8, Root: 1, InPlace: true}),
		results.NativeHash("ring", nil, collective.Spec{Name: "reduce", Ranks: 8, Root: 1}),
	} {
		if len(h) != 64 || seen[h] {
			t.Errorf("%s twice, or none", h)
		}
		seen[h] = true
	}
	chunked := base
	chunked.Chunks = 12
	if results.NativeHash("ring", nil, base) != results.NativeHash("ring", nil, chunked) {
		t.Error("chunks, which mean nothing here, change the hash")
	}
}

// A name that no family has may be an algorithm of the executor's own, as long as
// the executor has not been asked. The simulator has none, asked or not.
func TestNameMayBeTheExecutors(t *testing.T) {
	library := &Capabilities{Name: "library", Native: []executor.NativeAlgorithm{{Algorithm: "spiral"}}}
	for _, tc := range []struct {
		executor string
		backEnd  *Capabilities
		may      bool
	}{
		{"sim", nil, false},
		{"sim", &Capabilities{Name: "sim"}, false},
		{"plugin", nil, true},
		{"plugin", library, true},
		{"plugin", &Capabilities{Name: "plugin"}, false},
	} {
		o := Options{Executor: tc.executor, Capabilities: tc.backEnd, Families: []string{"spiral"}}
		_, _, err := o.families()
		if tc.may && err != nil {
			t.Errorf("%s, %v: %v", tc.executor, tc.backEnd, err)
		}
		if _, refused := err.(*UnknownFamily); !tc.may && !refused {
			t.Errorf("%s, %v: %v, want an unknown family", tc.executor, tc.backEnd, err)
		}
	}
}

// idleExecutor describes itself and runs nothing.
type idleExecutor struct{}

func (*idleExecutor) Describe(context.Context) (executor.Description, error) {
	return executor.Description{Name: "idle", Native: []executor.NativeAlgorithm{{Algorithm: "spiral"}}}, nil
}

func (*idleExecutor) Run(context.Context, executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{}, errors.New("it runs nothing")
}

// What the executors have of their own is known once one of them was asked.
func TestExecutorIsDescribed(t *testing.T) {
	pool := executor.NewPool(func() (executor.Executor, error) { return &idleExecutor{}, nil })
	topology, err := topologies.Resolve("ring:4", topologies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Executor: "idle"}
	if o.Capabilities, err = describeExecutor(t.Context(), pool, o.Executor, &Problem{Topology: topology, Sizes: []int64{1024}}); err != nil {
		t.Fatal(err)
	}
	if !o.isNative("spiral") {
		t.Error("what the executor has of its own is not known")
	}
}

// Settings are tried where trials are simulated on a machine that there may be, and flags don't ask for programs.
func TestWhereSettingsAreTried(t *testing.T) {
	for _, c := range []struct {
		name, system string
		options      Options
		want         bool
	}{
		{"by default", "dgx-a100", Options{}, true},
		{"of a generator", "ring:4", Options{}, false},
		{"measured", "dgx-a100", Options{Executor: "cpu"}, false},
		{"of another family", "dgx-a100", Options{Families: []string{"ring"}}, false},
		{"by name", "dgx-a100", Options{Families: []string{"ring", "nccl"}}, true},
		{"excluded", "dgx-a100", Options{Exclude: []string{"nccl"}}, false},
		{"beside an excluded family", "dgx-a100", Options{Exclude: []string{"ring"}}, true},
		{"instances", "dgx-a100", Options{Instances: 2}, false},
		{"tile", "dgx-a100", Options{TileBytes: 4096}, false},
		{"parameter", "dgx-a100", Options{Parameters: map[string]string{"rings": "1"}}, false},
		{"routing", "dgx-a100", Options{Routings: []string{"ring"}}, false},
		{"channels", "dgx-a100", Options{Channels: 4}, true},
		{"protocol", "dgx-a100", Options{Protocols: []topologies.Proto{topologies.LL}}, true},
		{"another runtime", "dgx-a100", Options{Runtime: "msccl"}, false},
		{"of RCCL as MSCCL's", "mi300x", Options{Runtime: "mscclpp"}, false},
		{"of RCCL as its own", "mi300x", Options{Runtime: "rccl"}, true},
		{"a campaign from before", "dgx-a100", Options{Unregistered: true}, false},
	} {
		if got := c.options.triesSettings(topotest.Resolve(t, c.system, 1)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// --registered, --protocol and --channels narrow them: kernels for windows are there where windows may be asked for, and have
// neither channels nor a protocol.
func TestSettingsAreNarrowed(t *testing.T) {
	none, window := nccl.None, nccl.Window
	for _, c := range []struct {
		name             string
		options          Options
		windows, general bool
		channels         []int
	}{
		{"best", Options{}, true, true, nil},
		{"none", Options{Registered: &none}, false, true, nil},
		{"window", Options{Registered: &window}, true, false, nil},
		{"protocol", Options{Protocols: []topologies.Proto{topologies.LL}}, false, true, nil},
		{"channels", Options{Channels: 12}, false, true, []int{12}},
	} {
		c.options.Families = []string{"nccl"}
		p := Problem{Topology: topotest.Resolve(t, "dgx-a100", 1), Call: collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, InPlace: true, Sizes: []int64{64 << 20}}
		space, err := Enumerate(t.Context(), p, c.options)
		if err != nil {
			t.Fatal(err)
		}
		windows, general := false, false
		var channels []int
		for i := range space.Candidates {
			x := &space.Candidates[i]
			if x.Setting == nil {
				continue
			}
			if windows, general = windows || x.Algorithm == "symmetric", general || x.Algorithm == "ring"; x.Source != results.SourceNative || x.Reference {
				t.Errorf("%s: %s of source %s", c.name, x.Algorithm, x.Source)
			}
			if x.Algorithm == "ring" && !slices.Contains(channels, x.Channels) {
				channels = append(channels, x.Channels)
			}
			for _, proto := range x.Protocols {
				if !slices.Contains(c.options.Protocols, proto) {
					t.Errorf("%s: %s with %v", c.name, x.Algorithm, proto)
				}
			}
		}
		if windows != c.windows || general != c.general || c.channels != nil && !slices.Equal(channels, c.channels) {
			t.Errorf("%s: kernels for windows %v, want %v; algorithms %v, want %v, over %v channels", c.name, windows, c.windows, general, c.general, channels)
		}
	}
}
