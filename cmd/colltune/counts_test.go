package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/search/workload"
)

// countsSeeds are what --counts may name, and a file may hold.
var countsSeeds = []string{"1 2 3 4", "# parts\n4,4\n8\t0", "\ufeff1 2\r\n3 4\r\n", "1\n-5", "1_000 2", "0x10 1", "+8 8", "2305843009213693953 1", "9223372036854775807 9223372036854775807", "67108864 1", "0 0 0 0", "", "=cmd"}

// FuzzSearchCounts: of search --counts, a file or skew:F, what is accepted is one count for
// each part of a call, of which a collective is made or refused; the rest is told.
func FuzzSearchCounts(f *testing.F) {
	for _, seed := range countsSeeds {
		f.Add(uint8(0), uint8(2), "counts", seed)
	}
	for i, value := range []string{"skew:2", "skew:0x1p1", "skew:1_0", "skew:-5", "skew:", "skew:NaN", "skew:1e308", "nowhere", "a=b", strings.Repeat("x", 300), ""} {
		f.Add(uint8(i), uint8(4), value, "1 1 1 1")
	}
	names := slices.Concat(collective.VectorForms(), []string{"allreduce"})
	f.Fuzz(func(t *testing.T, which, ranks uint8, value, text string) {
		t.Chdir(t.TempDir())
		writeCounts(t, text)
		name, n := names[int(which)%len(names)], int(ranks%32)+1
		cmd := &cobra.Command{}
		countsFlag(cmd)
		if err := cmd.Flags().Set("counts", value); err != nil {
			t.Fatal(err)
		}
		cmd.SetContext(t.Context())
		counts, err := countsOf(cmd, name, n)
		if err != nil {
			refused(t, err)
			return
		}
		if counts == nil {
			return // none were asked for
		}
		if len(counts) != collective.CountsOf(name, n) || slices.Min(counts) < 0 {
			t.Fatalf("%s over %d ranks: %d counts", name, n, len(counts))
		}
		sum := 0
		for _, c := range counts {
			sum += c
		}
		col, err := collective.New(collective.Spec{Name: name, Ranks: n, Chunks: 1, Counts: counts})
		if (err == nil) == (sum == 0) && n > 1 && sum < 1<<20 {
			t.Fatalf("%s over %d ranks of counts %v: %v, %v", name, n, counts, col, err)
		}
	})
}

// FuzzWorkloadCounts: of workload --counts NAME=FILE, what is accepted is the traffic that a
// step calls NAME, with a name that its counts give it; the rest is told.
func FuzzWorkloadCounts(f *testing.F) {
	for _, seed := range countsSeeds {
		f.Add("hot=counts", seed)
	}
	for _, value := range []string{"counts", "=counts", "hot=", "hot=nowhere", "hot=counts=", "=cmd=counts", "skew:2=counts", "balanced=counts", "a b=counts", "hot=.", "\x1b[2J=counts", strings.Repeat("x", 300) + "=counts", "\"=counts"} {
		f.Add(value, "1 1 1 5")
	}
	f.Fuzz(func(t *testing.T, value, text string) {
		t.Chdir(t.TempDir())
		writeCounts(t, text)
		cmd := workloadCommand()
		cmd.SetContext(t.Context())
		if err := cmd.Flags().Set("counts", value); err != nil {
			t.Fatal(err)
		}
		matrices, err := matricesOf(cmd)
		if err != nil {
			refused(t, err)
			return
		}
		name, _, _ := strings.Cut(value, "=")
		if len(matrices) != 1 || len(matrices[name]) == 0 || slices.Min(matrices[name]) < 0 {
			t.Fatalf("%q: %v", value, slices.Collect(maps.Keys(matrices)))
		}
		ranks := max(2, len(matrices[name]))
		if ranks > 64 {
			return
		}
		quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)
		step := fmt.Sprintf("name = \"s\"\nranks = %d\n[[block]]\n[[block.op]]\nname = \"x\"\ncall = \"allgatherv\"\nbytes = 8\ntraffic = \"%s\"\n", ranks, quoted)
		s, _, err := workload.Read([]workload.File{{Name: "s.toml", Text: []byte(step)}}, workload.Options{Matrices: matrices})
		if err != nil {
			if ranks == len(matrices[name]) && name == strings.ToValidUTF8(name, "") && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f }) {
				t.Fatalf("%q: %v", value, err)
			}
			return
		}
		if want := collective.TrafficName("allgatherv", matrices[name]); s.Kinds[0].Traffic != want {
			t.Fatalf("%q: traffic %s, want %s", value, s.Kinds[0].Traffic, want)
		}
	})
}

// writeCounts writes the file counts into the working folder.
func writeCounts(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile("counts", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// refused fails unless an error is one of usage, in a sentence of a bounded length.
func refused(t *testing.T, err error) {
	t.Helper()
	if exitCode(err) != exitUsage || len(err.Error()) > 4096 {
		t.Errorf("exit code %d: %v", exitCode(err), err)
	}
}
