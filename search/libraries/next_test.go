package libraries_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/colltune/colltune/search/libraries"
)

// What is not known yet, and may be the fastest, is measured first; where a table has all
// points, nothing new is left.
func TestNext(t *testing.T) {
	text := "collective,ranks,bytes,library,time_us\n"
	for bytes := 1024; bytes <= 1<<20; bytes *= 2 {
		text += fmt.Sprintf("allreduce,8,%d,nccl,%d\n", bytes, 20+bytes/4096)
	}
	text += "allreduce,8,1024,vllm,4\nallreduce,8,1048576,vllm,900\n"
	table, _ := libraries.Build(mustRead(t, "f.csv", text), nil)
	curves, err := table.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for bytes := int64(1024); bytes <= 1<<20; bytes *= 2 {
		sizes = append(sizes, bytes)
	}
	points, err := curves.Next(sizes, 3, 1)
	if err != nil || len(points) == 0 || len(points) > 3 {
		t.Fatalf("%d points: %v; want 1 to 3", len(points), err)
	}
	for _, p := range points {
		if p.Library != "vllm" || p.Again || p.Bytes <= 1024 || p.Bytes >= 1<<20 {
			t.Errorf("next is %s at %d, again %v: want a size between vllm's two", p.Library, p.Bytes, p.Again)
		}
	}
	again, _ := curves.Next(sizes, 3, 1)
	if fmt.Sprint(points) != fmt.Sprint(again) {
		t.Errorf("the same table gives %v and %v", points, again)
	}
}

// TestFewPoints measures a system's all-reduces over 8 GPUs point by point as Next says,
// from recorded times: the choice by these points loses no more than that by an even grid of
// as many.
func TestFewPoints(t *testing.T) {
	for _, system := range []string{"h200_sxm", "b200_sxm"} {
		text, err := os.ReadFile(measured(system))
		if err != nil {
			t.Fatal(err)
		}
		table, _ := libraries.Build(mustRead(t, system, string(text)), libraries.DefaultEqual)
		newest := map[string]string{"nccl": "2.29.2", "vllm": "0.24.0", "sglang": "0.5.14", "trtllm": "1.3.0rc20"}
		known := map[string]float64{} // by candidate and size
		best := map[int64]float64{}
		var rows []libraries.Row
		for _, r := range table.Rows {
			if r.Collective == "allreduce" && r.Ranks == 8 && r.Width() == 2 && r.Version == newest[r.Library] && r.Bytes >= 512 && r.Bytes <= 512<<20 {
				rows = append(rows, r)
				known[key(&r)] = r.TimeUS
				if b := best[r.Bytes]; b == 0 || r.TimeUS < b {
					best[r.Bytes] = r.TimeUS
				}
			}
		}
		loss := func(have []libraries.Row) float64 {
			logs := 0.0
			for bytes, b := range best {
				// the table's choice is what it measured as the fastest, or, where it
				// measured nothing, the fastest by its curves; it then takes its real time.
				part, _ := libraries.Build(have, libraries.DefaultEqual)
				curves, err := part.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
				if err != nil {
					t.Fatal(err)
				}
				us := math.Inf(1)
				for _, x := range curves.At(bytes) {
					if real := known[key(&libraries.Row{Library: x.Library, Version: x.Version, Conditions: x.Conditions, Bytes: bytes})]; real > 0 {
						us = real
						break
					}
				}
				logs += math.Log(us / b)
			}
			return math.Exp(logs / float64(len(best)))
		}
		only := func(sizes ...int64) []libraries.Row {
			return slices.DeleteFunc(slices.Clone(rows), func(r libraries.Row) bool { return !slices.Contains(sizes, r.Bytes) })
		}
		sizes := slices.Sorted(maps.Keys(best))
		have := only(512 << 10) // every candidate once
		for len(have) < 40 {
			part, _ := libraries.Build(have, libraries.DefaultEqual)
			curves, err := part.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
			if err != nil {
				t.Fatal(err)
			}
			points, err := curves.Next(sizes, 1, 1)
			if err != nil || len(points) == 0 {
				break
			}
			i := slices.IndexFunc(rows, func(r libraries.Row) bool { return key(&r) == key(&points[0].Row) })
			if i < 0 || points[0].Again {
				break
			}
			have = append(have, rows[i])
		}
		grid := only(512, 4<<10, 32<<10, 256<<10, 2<<20, 16<<20, 512<<20)
		chosen, even := loss(have), loss(grid)
		t.Logf("%s: %d points of %d: %.3f times the best; a grid of %d: %.3f", system, len(have), len(rows), chosen, len(grid), even)
		if chosen > even {
			t.Errorf("%s: chosen points lose %.3f times the best, and an even grid %.3f", system, chosen, even)
		}
	}
}

func key(r *libraries.Row) string {
	return fmt.Sprint(r.Library, r.Version, r.Conditions, r.Bytes)
}
