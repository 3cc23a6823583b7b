package tuning_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/results/tuning/tuningtest"
)

// kinds are what rules of each format are drawn from.
var kinds = map[string]struct {
	scopes  []tuning.Scope
	configs []tuning.Config
	step    int64 // sizes are multiples of it; 0: of the ranks
	endless bool  // the first and the last entry go on, and so does one before a gap
}{
	"nccl-tuner-csv": {tunerScopes, tunerConfigs("nccl", 1, 24), 1, false},
	"rccl-conf":      {tunerScopes, tunerConfigs("rccl", 0, 24), 1, false},
	"ncclx-csv":      {nodeScopes, tunerConfigs("nccl", 0, 24), 0, false},
	"ncclx-json":     {nodeScopes, tunerConfigs("nccl", 0, 24), 0, false},
	"nccl-sym-env": {[]tuning.Scope{{Collective: "allreduce", Ranks: 8}}, []tuning.Config{
		{Library: "nccl", Kernel: "AllReduce_RSxTmaLD_AGxTmaST", Channels: 16}, {Library: "nccl", Kernel: "AllReduce_AGxLL_R"},
	}, 1, true},
	"mscclpp-tuning": {[]tuning.Scope{{Collective: "allreduce", Ranks: 8, System: "h100"}, {Collective: "allgather", Ranks: 4, System: "NVIDIA H200"}, {Collective: "allreduce", Ranks: 4}}, []tuning.Config{
		{Library: "mscclpp", Kernel: "default_allreduce_packet", Channels: 28, Threads: 512}, {Library: "mscclpp", Kernel: "default_allreduce_nvls_zero_copy", Registered: true}, {Library: "mscclpp", Kernel: "mine", Channels: 4},
	}, 0, true},
	"vllm": {[]tuning.Scope{{Collective: "allreduce", Ranks: 8, System: "h200"}, {Collective: "allreduce", Ranks: 2, System: "b200"}, {Collective: "allreduce", Ranks: 4, System: "h200"}}, []tuning.Config{
		{Library: "vllm", Kernel: "custom"}, {Library: "vllm", Kernel: "symm_mem"}, {Library: "nccl"},
	}, 16, true},
	"sglang": {[]tuning.Scope{{Collective: "allreduce", Ranks: 8}}, []tuning.Config{
		{Library: "sglang", Kernel: "1shot_push"}, {Library: "sglang", Kernel: "own"}, {Library: "nccl"},
	}, 1024, true},
	"mcr-dl": {[]tuning.Scope{{Collective: "allgather", Ranks: 8}, {Collective: "allgather", Ranks: 16}}, []tuning.Config{{Library: "nccl"}, {Library: "mpi"}, {Library: "msccl"}}, 0, true},
	"json":   {append(nodeScopes, tuning.Scope{Collective: "alltoall", Ranks: 3, System: "mine"}), append(tunerConfigs("nccl", 0, 24), tuning.Config{Library: "vllm", Version: "0.24"}), 1, false},
}

var (
	tunerScopes = []tuning.Scope{{Collective: "allreduce", Ranks: 8, Nodes: 1}, {Collective: "allreduce", Ranks: 16, Nodes: 2}, {Collective: "allgather", Ranks: 6}, {Collective: "broadcast", Ranks: 8, Nodes: 2}}
	nodeScopes  = []tuning.Scope{{Collective: "allreduce", Ranks: 8, Nodes: 1}, {Collective: "reducescatter", Ranks: 16, Nodes: 2}, {Collective: "allgather", Ranks: 6, Nodes: 2}}
)

func tunerConfigs(library string, channels ...int) (all []tuning.Config) {
	for i, kernel := range []string{"ring", "tree", "nvlstree", "collnetdirect", "pat"} {
		for _, n := range channels {
			all = append(all, tuning.Config{Library: library, Kernel: kernel, Protocol: []string{"LL", "LL128", "Simple"}[i%3], Channels: n})
		}
	}
	return all
}

// drawRules draws the rules of a format.
func drawRules(t *rapid.T, f *tuning.Format) (rules []tuning.Rule) {
	kind := kinds[f.Name]
	for _, scope := range kind.scopes {
		if !rapid.Bool().Draw(t, "scope") && len(rules) > 0 {
			continue
		}
		step := kind.step
		if step == 0 {
			step = int64(scope.Ranks)
		}
		n := rapid.IntRange(1, 5).Draw(t, "rules")
		if f.One {
			n = 1
		}
		if f.Rung != nil {
			n = rapid.IntRange(1, len(kind.configs)).Draw(t, "rungs")
		}
		next := int64(0)
		for i := range n {
			r := tuning.Rule{Scope: scope, Config: rapid.SampledFrom(kind.configs).Draw(t, "config")}
			if f.Rung != nil {
				r.Config = kind.configs[i]
			}
			first := next + 1 // in steps
			if !kind.endless {
				first += rapid.Int64Range(0, 1).Draw(t, "gap")
			}
			next = first + rapid.Int64Range(0, 400).Draw(t, "steps")
			r.Config = f.Same(r.Config)
			r.First, r.Last = first*step, (next+1)*step-1
			rules = append(rules, r)
		}
	}
	return rules
}

// expected is what rules say at a size.
func expected(f *tuning.Format, rules []tuning.Rule, scope tuning.Scope, bytes int64) (c tuning.Config, ok bool) {
	endless := kinds[f.Name].endless
	for _, r := range rules {
		if r.Scope != scope {
			continue
		}
		if bytes >= r.First && (bytes <= r.Last || endless) || endless && !ok {
			c, ok = f.Same(r.Config), true
		}
	}
	return c, ok
}

// Each format's reader finds in a file what its writer was given, at the bytes at which the
// ranges begin and end, and those beside.
func TestRoundTrip(t *testing.T) {
	for i := range tuning.Formats {
		f := &tuning.Formats[i]
		t.Run(f.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				rules := drawRules(t, f)
				for _, r := range rules {
					if why := f.Lacks(r.Scope, r.Config); why != "" {
						t.Fatalf("%+v: %s", r, why)
					}
				}
				files, _ := f.Write(rules, tuning.Options{Head: []string{"made by a test", strings.Repeat("long ", 100)}})
				for i := range rules {
					r := &rules[i]
					reader := readerOf(t, f, files, r.Scope)
					step := max(kinds[f.Name].step, 1)
					if kinds[f.Name].step == 0 {
						step = int64(r.Ranks)
					}
					for _, at := range []int64{r.First - step, r.First, r.First + step, r.Last + 1 - step, r.Last + 1, r.Last + 1 + step} {
						if at < 1 {
							continue
						}
						want, wantOK := expected(f, rules, r.Scope, at)
						if f.Rung != nil {
							want = ladderAt(f, rules, r.Scope, at)
						}
						got, ok := reader.Choose(r.Scope, at)
						if ok != wantOK || ok && sameAs(f, got) != sameAs(f, want) {
							t.Fatalf("%s at %d: %+v %v, want %+v %v\n%s", r.Scope, at, got, ok, want, wantOK, text(files))
						}
						// the last byte below a boundary, where sizes need be no multiple of anything
						if kinds[f.Name].step == 1 {
							for _, at := range []int64{r.First - 1, r.Last, r.Last + 1} {
								want, wantOK := expected(f, rules, r.Scope, at)
								if got, ok := reader.Choose(r.Scope, at); at > 0 && (ok != wantOK || ok && sameAs(f, got) != sameAs(f, want)) {
									t.Fatalf("%s at %d: %+v %v, want %+v %v\n%s", r.Scope, at, got, ok, want, wantOK, text(files))
								}
							}
						}
					}
					other := r.Scope
					other.Ranks *= 3
					if other.Nodes > 0 {
						other.Nodes *= 3
					}
					if _, ok := reader.Choose(other, r.First); ok && f.Rung == nil && !f.One {
						t.Fatalf("an answer for %+v, of which the file says nothing\n%s", other, text(files))
					}
				}
			})
		})
	}
}

// sameAs is a configuration as the format's entries have it.
func sameAs(f *tuning.Format, c tuning.Config) tuning.Config {
	if f.Rung != nil {
		return tuning.Config{Kernel: c.Kernel}
	}
	return f.Same(c)
}

// ladderAt is what thresholds come to: vLLM's own kernels end below 8 MiB, and what no rule is
// for is NCCL's.
func ladderAt(f *tuning.Format, rules []tuning.Rule, scope tuning.Scope, bytes int64) tuning.Config {
	c := tuning.Config{Kernel: "nccl"}
	for _, r := range slices.Backward(rules) {
		if r.Scope == scope && bytes <= r.Last {
			c.Kernel = f.Same(r.Config).Kernel
		}
	}
	return c
}

// readerOf reads the files, of which one answers for a scope.
func readerOf(t *rapid.T, f *tuning.Format, files []tuning.File, scope tuning.Scope) tuningtest.Reader {
	for _, file := range files {
		reader, err := tuningtest.Read(f.Name, file.Name, file.Text)
		if err != nil {
			t.Fatalf("%v\n%s", err, file.Text)
		}
		if len(files) == 1 || strings.Contains(file.Name, fmt.Sprintf("%s-%dr", scope.Collective, scope.Ranks)) {
			return reader
		}
	}
	t.Fatalf("no file of %d for %s", len(files), scope)
	return nil
}

func text(files []tuning.File) string {
	var b strings.Builder
	for _, f := range files {
		fmt.Fprintf(&b, "-- %s --\n%s", f.Name, f.Text)
	}
	return b.String()
}

// Of each release of NCCL, the kernel's variable is as that reads it: up to 2.30 a name, from
// 2.31 on of a collective, since a bare name there takes the kernels of all others.
func TestSymmetricKernelsByRelease(t *testing.T) {
	f, _ := tuning.Named("nccl-sym-env")
	rules := []tuning.Rule{{Scope: tuning.Scope{Collective: "allreduce", Ranks: 8}, First: 1024, Last: 4096, Config: tuning.Config{Library: "nccl", Kernel: "AllReduce_AGxLL_R"}}}
	for asked, want := range map[string]string{
		"2.27": "AllReduce_AGxLL_R", "2.30.7": "AllReduce_AGxLL_R",
		"2.31": "allreduce:AllReduce_AGxLL_R", "2.31.2": "allreduce:AllReduce_AGxLL_R", "": "allreduce:AllReduce_AGxLL_R",
	} {
		release, err := f.Release(asked)
		if err != nil {
			t.Fatal(err)
		}
		files, told := f.Write(rules, tuning.Options{Release: release})
		text := string(files[0].Text)
		if !strings.Contains(text, "\nexport NCCL_SYM_KERNEL="+want+"\n") || !strings.Contains(text, "start nothing in production") {
			t.Errorf("%q: want %s and a warning in\n%s", asked, want, text)
		}
		if fails := strings.Contains(strings.Join(told, "\n"), "whose buffers are not registered as windows fail"); fails != strings.Contains(want, ":") {
			t.Errorf("%q: told %q", asked, told)
		}
	}
	for _, asked := range []string{"2.26", "2.3", "2.33", "2.300", "latest"} {
		if _, err := f.Release(asked); err == nil || !strings.Contains(err.Error(), "want one of 2.27, 2.28, 2.29, 2.30, 2.31, 2.32") {
			t.Errorf("%q: %v", asked, err)
		}
	}
}
