package symmetric_test

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/search/library/symmetric"
)

// TestWorked compares times and choices with those of an independent reading of NCCL's sources.
func TestWorked(t *testing.T) {
	f, err := os.Open("testdata/worked.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.Comment = '\t', '#'
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) float64 {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for _, line := range lines[1:] {
		release, kernel, flags := symmetric.Of(int(number(line[1]))), line[3], line[7]
		s := symmetric.System{Capability: int(number(line[2])), Ranks: int(number(line[4])), Multicast: flags == "multicast"}
		s.Team = s.Ranks
		collective, _, _ := strings.Cut(strings.ToLower(kernel), "_")
		c := symmetric.Call{Collective: collective, Count: int64(number(line[5])) / 2, ElemBytes: 2, DType: "f16", Op: "sum", Send: true, Recv: true,
			InPlace: flags == "inplace", Captured: flags == "graph"}
		near := func(what string, got float64, want string) {
			if x := number(want); math.Abs(got-x) > 1e-4*x {
				t.Errorf("%v: %s %v, want %s", line, what, got, want)
			}
		}
		if line[0] == "time" {
			us, _ := release.Time(kernel, s, c, int(number(line[6])))
			near("time", us, line[8])
			continue
		}
		if kernel == "CE_UC" {
			c.Collective, c.DType, c.ElemBytes, c.Count, kernel = "allgather", "i8", 1, 2*c.Count, ""
		}
		got, ok := release.Choose(s, c)
		if !ok || got.Kernel != kernel || strconv.Itoa(got.CTAs) != line[6] {
			t.Errorf("%v: %+v", line, got)
		}
		near("time", got.US, line[8])
		near("score", got.US*(1+.025*float64(got.CTAs)), line[9])
	}
}
