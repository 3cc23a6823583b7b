package model_test

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/autotune/model"
)

func TestCoarseFirst(t *testing.T) {
	for n, want := range map[int]string{0: "[]", 1: "[0]", 2: "[1 0]", 3: "[2 0 1]", 5: "[4 0 2 1 3]", 6: "[5 0 2 1 3 4]"} {
		if got := fmt.Sprint(model.CoarseFirst(n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
