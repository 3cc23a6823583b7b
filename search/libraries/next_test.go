package libraries_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/executor/measured"
	"github.com/colltune/colltune/executor/measured/measuredtest"
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
	table, _ := libraries.Build(measuredtest.MustRead(t, "f.csv", text), nil)
	curves, err := table.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int64
	for bytes := int64(1024); bytes <= 1<<20; bytes *= 2 {
		sizes = append(sizes, bytes)
	}
	points, err := curves.Next(sizes, 3)
	if err != nil || len(points) == 0 || len(points) > 3 {
		t.Fatalf("%d points: %v; want 1 to 3", len(points), err)
	}
	for _, p := range points {
		if p.Library != "vllm" || p.Again || p.Bytes <= 1024 || p.Bytes >= 1<<20 {
			t.Errorf("next is %s at %d, again %v: want a size between vllm's two", p.Library, p.Bytes, p.Again)
		}
	}
	again, _ := curves.Next(sizes, 3)
	if fmt.Sprint(points) != fmt.Sprint(again) {
		t.Errorf("the same table gives %v and %v", points, again)
	}
}

// newest reports whether a version is its library's newest among the rows, by its numbers.
func newest(rows []measured.Row) func(*measured.Row) bool {
	last := map[string][]int{}
	numbers := func(r *measured.Row) (all []int) {
		for _, digits := range regexp.MustCompile(`[0-9]+`).FindAllString(r.Version, -1) {
			n, _ := strconv.Atoi(digits)
			all = append(all, n)
		}
		return all
	}
	for i := range rows {
		if n := numbers(&rows[i]); slices.Compare(n, last[rows[i].Library]) > 0 {
			last[rows[i].Library] = n
		}
	}
	return func(r *measured.Row) bool { return slices.Equal(numbers(r), last[r.Library]) }
}

// TestFewPoints measures all-reduces point by point as Next says, from recorded times, begun
// with each candidate at one size: the choice by 40 points costs at most 1.02 times the best.
// An even grid of about as many stands beside it. A100 and L40S, on which no number of the
// process was chosen, are printed, and so is the CSV file that COLLTUNE_LIBRARIES names.
func TestFewPoints(t *testing.T) {
	files := []string{fileOf("h200_sxm"), fileOf("b200_sxm"), fileOf("a100_sxm"), fileOf("l40s")}
	if other := os.Getenv("COLLTUNE_LIBRARIES"); other != "" {
		files = append(files, other)
	}
	print := func(file string, ranks int) (chosen float64) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := recordedOf(t, file, string(text), ranks)
		if len(all.rows) == 0 {
			t.Fatalf("%s has no all-reduces over %d ranks", file, ranks)
		}
		have := all.at(512 << 10)
		for len(have) < 40 {
			points, err := all.curves(t, have).Next(all.sizes, 1)
			if err != nil || len(points) == 0 || points[0].Again {
				break
			}
			i := slices.IndexFunc(all.rows, func(r measured.Row) bool { return key(&r) == key(&points[0].Row) })
			if i < 0 {
				t.Fatalf("%s was not recorded", key(&points[0].Row))
			}
			have = append(have, all.rows[i])
		}
		grid := all.at(512, 4<<10, 32<<10, 256<<10, 2<<20, 16<<20, 512<<20)
		chosen = all.loss(t, have)
		t.Logf("%s, %d ranks: %d points of %d: %.3f times the best; a grid of %d: %.3f", filepath.Base(file), ranks, len(have), len(all.rows), chosen, len(grid), all.loss(t, grid))
		return chosen
	}
	for i, file := range files {
		for _, ranks := range []int{2, 4, 8} {
			if chosen := print(file, ranks); chosen > 1.02 && i < 2 {
				t.Errorf("%s, %d ranks: the choice by 40 points costs %.3f times the best", file, ranks, chosen)
			}
		}
	}
}

// recorded is the all-reduces of a system and number of ranks that a test plays back.
type recorded struct {
	rows  []measured.Row
	sizes []int64
	best  map[int64]float64
}

func recordedOf(t *testing.T, system, text string, ranks int) *recorded {
	table, _ := libraries.Build(measuredtest.MustRead(t, system, text), libraries.DefaultEqual)
	all := &recorded{best: map[int64]float64{}}
	rows := slices.DeleteFunc(slices.Clone(table.Rows), func(r measured.Row) bool {
		repeats := r.Library == "sglang" && r.Conditions[measured.Kernel] == "TRTLLM" // trtllm's rows
		return repeats || r.Collective != "allreduce" || r.Ranks != ranks || r.Width() != 2
	})
	counts := newest(rows)
	for _, r := range rows {
		if counts(&r) && r.Bytes >= 512 && r.Bytes <= 512<<20 {
			all.rows = append(all.rows, r)
			if b := all.best[r.Bytes]; b == 0 || r.TimeUS < b {
				all.best[r.Bytes] = r.TimeUS
			}
		}
	}
	all.sizes = slices.Sorted(maps.Keys(all.best))
	return all
}

// at are the rows at some sizes.
func (all *recorded) at(sizes ...int64) []measured.Row {
	return slices.DeleteFunc(slices.Clone(all.rows), func(r measured.Row) bool { return !slices.Contains(sizes, r.Bytes) })
}

func (all *recorded) curves(t *testing.T, have []measured.Row) *libraries.Curves {
	part, _ := libraries.Build(have, libraries.DefaultEqual)
	curves, err := part.Curves(libraries.Query{Collective: "allreduce", Ranks: have[0].Ranks})
	if err != nil {
		t.Fatal(err)
	}
	return curves
}

// loss is how many times the best the choice by some rows costs: at each size, what the
// table of these rows has first, at its real time; between two kernels of one library, at the
// slower's.
func (all *recorded) loss(t *testing.T, have []measured.Row) float64 {
	curves, logs := all.curves(t, have), 0.0
	for bytes, b := range all.best {
		us := math.Inf(1)
		if at := curves.At(bytes); len(at) > 0 {
			us = 0
			for kernel := range strings.SplitSeq(at[0].Conditions[measured.Kernel], " to ") {
				for i := range all.rows {
					if r := &all.rows[i]; r.Bytes == bytes && r.Entry() == at[0].Entry() && r.Conditions[measured.Kernel] == kernel {
						us = max(us, r.TimeUS)
					}
				}
			}
		}
		logs += math.Log(us / b)
	}
	return math.Exp(logs / float64(len(all.best)))
}

func key(r *measured.Row) string {
	return fmt.Sprint(r.Library, r.Version, r.Conditions, r.Bytes)
}

// TestNextIsBounded: so many candidates that their covariances would fill the memory are an
// error.
func TestNextIsBounded(t *testing.T) {
	text := "collective,ranks,bytes,library,version,time_us\n"
	for v := range 300 {
		text += fmt.Sprintf("allreduce,8,1024,nccl,%d,20\n", v)
	}
	table, _ := libraries.Build(measuredtest.MustRead(t, "f.csv", text), nil)
	curves, err := table.Curves(libraries.Query{Collective: "allreduce", Ranks: 8})
	if err != nil {
		t.Fatal(err)
	}
	sizes := make([]int64, 20)
	for i := range sizes {
		sizes[i] = 1 << (10 + i)
	}
	if _, err := curves.Next(sizes, 1); err == nil || !strings.Contains(err.Error(), "300 candidates at 20 sizes") {
		t.Errorf("300 candidates at 20 sizes: %v", err)
	}
	if points, err := curves.Next(sizes[:6], 1); err != nil || len(points) != 1 {
		t.Errorf("300 candidates at 6 sizes: %d points, %v", len(points), err)
	}
}
