package libraries_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/measured/measuredtest"
	"github.com/colltune/colltune/results/tuning"
	"github.com/colltune/colltune/results/tuning/tuningtest"
	"github.com/colltune/colltune/search/libraries"
)

// drawTable draws times of libraries at some of a few sizes.
func drawTable(t *rapid.T, names []string) (*libraries.Table, []int64) {
	sizes := []int64{1024, 1600, 4096, 8192, 65536}
	var b strings.Builder
	b.WriteString("collective,ranks,nodes,system,bytes,dtype,library,kernel,protocol,channels,time_us\n")
	for _, name := range names {
		for _, bytes := range sizes {
			fmt.Fprintf(&b, "allreduce,8,1,h200,%d,f32,%s,%d\n", bytes, name, rapid.IntRange(1, 40).Draw(t, "us"))
		}
	}
	rows, _, err := measuredtest.Read("f.csv", b.String())
	if err != nil {
		t.Fatal(err)
	}
	table, _ := libraries.Build(rows, libraries.DefaultEqual)
	return table, sizes
}

func export(t *rapid.T, table *libraries.Table, name string) (*libraries.Export, *tuning.Format, tuningtest.Reader) {
	f, err := tuning.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	left := func(tuning.Scope, int64) ([]tuning.Config, error) {
		return []tuning.Config{{Library: "nccl", Kernel: "ring", Protocol: "Simple", Channels: 64}}, nil
	}
	e, err := table.Export(f, tuning.Options{Head: []string{"made by a test"}, KeepSlower: true, Left: left})
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Files()) != 1 {
		t.Fatalf("%d files", len(e.Files()))
	}
	reader, err := tuningtest.Read(f.Name, "f", e.Files()[0].Text)
	if err != nil {
		t.Fatal(err)
	}
	return e, f, reader
}

// Whoever loads a file runs the fastest of what it can name: at the measured sizes, and on
// both sides of the byte where that changes.
func TestExportsTheFastest(t *testing.T) {
	names := []string{"nccl,ring,LL,16", "nccl,ring,LL128,16", "nccl,tree,Simple,8", "vllm,custom,,"}
	for _, format := range []string{"nccl-tuner-csv", "json", "mcr-dl"} {
		t.Run(format, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				table, sizes := drawTable(t, names)
				e, f, reader := export(t, table, format)
				curves, err := table.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
				if err != nil {
					t.Fatal(err)
				}
				for _, bytes := range sizes {
					chosen, ok := reader.Choose(tuning.Scope{Collective: "allreduce", Ranks: 8, Nodes: 1, System: "h200"}, bytes)
					if !ok {
						t.Fatalf("no answer at %d\n%s", bytes, e.Files()[0].Text)
					}
					best := math.Inf(1) // of what can be named
					for _, r := range table.Rows {
						if r.Bytes == bytes && (r.Library == "nccl" || format == "json") {
							best = min(best, r.TimeUS)
						}
					}
					if us := timeOf(table, f, chosen, bytes); us != best {
						t.Fatalf("%+v at %d takes %v, the fastest %v", chosen, bytes, us, best)
					}
					fastest := curves.At(bytes)[0].TimeUS
					lost := slices.ContainsFunc(e.Losses, func(l libraries.ExportLoss) bool {
						return l.Bytes == bytes && l.BestUS == fastest && l.ExportedUS == best
					})
					if lost != (fastest < best) {
						t.Fatalf("at %d the fastest takes %v, what is exported %v; told: %v", bytes, fastest, best, e.Losses)
					}
				}
			})
		})
	}
}

// timeOf is the time of the fastest row that a file's entry stands for.
func timeOf(table *libraries.Table, f *tuning.Format, c tuning.Config, bytes int64) float64 {
	best := math.Inf(1)
	for _, r := range table.Rows {
		of := tuning.Config{Library: r.Library, Kernel: r.Conditions[measured.Kernel], Protocol: r.Conditions[measured.Protocol]}
		fmt.Sscan(r.Conditions[measured.SMs], &of.Channels)
		if r.Bytes == bytes && f.Lacks(tuning.Scope{Collective: "allreduce", Ranks: 8, Nodes: 1, System: "h200"}, of) == "" && f.Same(of) == f.Same(c) {
			best = min(best, r.TimeUS)
		}
	}
	return best
}

// Thresholds are the best that there are, where times within noise are the same, and then the
// lowest.
func TestThresholdsAreTheBest(t *testing.T) {
	names := []string{"vllm,custom,,", "vllm,symm_mem,,", "nccl,ring,LL,4"}
	rapid.Check(t, func(t *rapid.T) {
		table, sizes := drawTable(t, names)
		e, f, _ := export(t, table, "vllm")
		kernels := []string{"custom", "symm_mem", "nccl"}
		cost := func(kernel func(bytes int64) string) (logs float64) {
			for _, bytes := range sizes {
				us, best := 0.0, math.Inf(1)
				for _, k := range kernels {
					t := timeOf(table, f, tuning.Config{Library: "vllm", Kernel: k}, bytes)
					best = min(best, t)
					if k == kernel(bytes) {
						us = t
					}
				}
				if us > best*1.03 {
					logs += math.Log(us / best)
				}
			}
			return logs
		}
		got := cost(func(bytes int64) string {
			for _, r := range e.Rules {
				if bytes >= r.First && bytes <= r.Last {
					return r.Kernel
				}
			}
			return ""
		})
		best, lowest := math.Inf(1), 0 // lowest: the sizes below NCCL's
		for i := range len(sizes) + 1 {
			for j := i; j <= len(sizes); j++ {
				c := cost(func(bytes int64) string {
					switch at := slices.Index(sizes, bytes); {
					case at < i:
						return "custom"
					case at < j:
						return "symm_mem"
					}
					return "nccl"
				})
				if c < best-1e-9 || c < best+1e-9 && j < lowest {
					best, lowest = c, j
				}
			}
		}
		last := int64(0)
		for _, r := range e.Rules {
			if r.Kernel != "nccl" {
				last = r.Last
			}
		}
		if i, _ := slices.BinarySearch(sizes, last+1); math.Abs(got-best) > 1e-9 || i != lowest {
			t.Fatalf("thresholds cost %v, the best %v; NCCL begins at size %d, want %d: %+v", got, best, i, lowest, e.Rules)
		}
	})
}

// A file has rows only where they are faster than what the library chooses by itself, between
// the measured sizes, too.
func TestLeavesWhatIsNotFaster(t *testing.T) {
	names := []string{"nccl,ring,LL,16", "nccl,tree,Simple,8", "nccl,auto,,"}
	f, err := tuning.Named("ncclx-csv")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		table, sizes := drawTable(t, names)
		e, err := table.Export(f, tuning.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own := table.Select(libraries.Query{Collective: "allreduce", Conditions: measured.Conditions{measured.Kernel: "auto"}})
		ownCurves, err := own.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
		if err != nil {
			t.Fatal(err)
		}
		served := map[int64]bool{}
		for _, r := range e.Rules {
			curves, err := table.Select(libraries.Query{Conditions: measured.Conditions{measured.Kernel: r.Kernel}}).Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
			if err != nil {
				t.Fatal(err)
			}
			for _, bytes := range append([]int64{r.First, (r.First + r.Last) / 2, r.Last}, sizes...) {
				if bytes < r.First || bytes > r.Last {
					continue
				}
				served[bytes] = true
				if us, ours := ownCurves.At(bytes)[0].TimeUS, curves.At(bytes)[0].TimeUS; ours >= us {
					t.Fatalf("at %d %s takes %v, and the library's own choice %v", bytes, r.Kernel, ours, us)
				}
			}
		}
		for _, bytes := range sizes {
			all, err := table.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
			if err != nil {
				t.Fatal(err)
			}
			if all.At(bytes)[0].TimeUS < ownCurves.At(bytes)[0].TimeUS != served[bytes] {
				t.Fatalf("at %d something is faster, and served is %v: %+v", bytes, served[bytes], e.Gaps)
			}
		}
	})
}
