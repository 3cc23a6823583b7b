package search

import (
	"slices"
	"testing"
)

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		least, most int64
		step        int
		want        []int64
	}{
		{1024, 8192, 2, []int64{1024, 2048, 4096, 8192}},
		{1024, 8000, 2, []int64{1024, 2048, 4096}},
		{8, 8, 2, []int64{8}},
		{1, 1000, 10, []int64{1, 10, 100, 1000}},
		{1 << 62, 1<<63 - 1, 2, []int64{1 << 62}}, // no overflow past the end
		{0, 8, 2, nil},
		{16, 8, 2, nil},
		{8, 16, 1, nil},
	} {
		got, err := Sizes(c.least, c.most, c.step)
		if !slices.Equal(got, c.want) || (err != nil) != (c.want == nil) {
			t.Errorf("Sizes(%d, %d, %d) = %v, %v; want %v", c.least, c.most, c.step, got, err, c.want)
		}
	}
}
