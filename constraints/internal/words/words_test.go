package words

import (
	"fmt"
	"testing"
)

func TestList(t *testing.T) {
	for n, want := range map[int]string{
		0:  "",
		1:  "gpu 0",
		2:  "gpu 0 and gpu 1",
		3:  "gpu 0, gpu 1 and gpu 2",
		8:  "gpu 0, gpu 1, gpu 2, gpu 3, gpu 4, gpu 5, gpu 6 and gpu 7",
		9:  "gpu 0, gpu 1, gpu 2, gpu 3, gpu 4, gpu 5, gpu 6, gpu 7 and 1 more",
		99: "gpu 0, gpu 1, gpu 2, gpu 3, gpu 4, gpu 5, gpu 6, gpu 7 and 91 more",
	} {
		if got := List(n, func(i int) string { return fmt.Sprint("gpu ", i) }); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
