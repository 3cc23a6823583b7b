package collective

import (
	"slices"
	"strings"
	"testing"
)

func TestTraffic(t *testing.T) {
	for _, c := range []struct {
		name, traffic string
		n             int
		want          []int
	}{
		{"alltoall", "", 4, nil},
		{"alltoallv", "balanced", 4, nil},
		{"allgatherv", "skew:2", 4, []int{3, 1, 1, 1}},
		{"gatherv", "skew:1", 3, []int{1, 1, 1}},
		{"scatterv", "skew:4", 4, []int{1, 0, 0, 0}},
		{"alltoallv", "skew:1.5", 2, []int{3, 1, 3, 1}},
	} {
		if got, err := Traffic(c.name, c.n, c.traffic); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s of %d, %s: %v, %v: want %v", c.name, c.n, c.traffic, got, err, c.want)
		}
	}
	for traffic, want := range map[string]string{"skew:5": "from 1 to the ranks", "skew:0.5": "from 1", "skew:x": "want skew:F", "skew:0x1p1": "want skew:F", "skew:1_0": "want skew:F", "heavy": "want balanced, or skew:F"} {
		if _, err := Traffic("alltoallv", 4, traffic); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %q", traffic, err, want)
		}
	}
	if _, err := Traffic("allreduce", 4, "skew:2"); err == nil || !strings.Contains(err.Error(), "has no traffic of its own") {
		t.Error(err)
	}
	for _, c := range []struct {
		name   string
		counts []int
		want   string
	}{
		{"allgatherv", nil, "balanced"},
		{"alltoallv", []int{2, 2, 2, 2}, "balanced"},
		{"allgatherv", []int{6, 2, 2, 2}, "skew:2"},
		{"alltoallv", []int{3, 1, 3, 1}, "skew:1.5"},
		{"alltoallv", []int{3, 1, 1, 3}, "matrix:"},
		{"scatterv", []int{2, 6, 2, 2}, "matrix:"},
	} {
		if got := TrafficName(c.name, c.counts); !strings.HasPrefix(got, c.want) || c.want == "matrix:" && len(got) != 19 {
			t.Errorf("%s of %v is %s: want %s", c.name, c.counts, got, c.want)
		}
	}
	// The first of all has F times the mean, whatever the ranks.
	for n := 2; n < 40; n++ {
		counts, err := Traffic("allgatherv", n, "skew:1.25")
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, c := range counts {
			sum += c
		}
		if counts[0]*n*100 != sum*125 {
			t.Errorf("%d ranks: %v", n, counts)
		}
	}
}
