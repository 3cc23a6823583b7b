package irtest_test

import (
	"testing"

	"github.com/colltune/colltune/compiler/ir/irtest"
	"github.com/colltune/colltune/compiler/verify"
)

func TestRingIsRight(t *testing.T) {
	seen := map[string]bool{}
	for _, ranks := range []int{2, 3, 4, 8} {
		for _, instances := range []int{1, 2, 3} {
			for _, scratch := range []int{0, 1} {
				p := irtest.Ring(ranks, instances, scratch, true)
				if err := verify.Check(p, verify.Options{}).Err(); err != nil {
					t.Errorf("%d ranks, %d instances: %v", ranks, instances, err)
				}
				if seen[p.Hash()] {
					t.Errorf("%d ranks, %d instances, scratch %d: the hash of another", ranks, instances, scratch)
				}
				seen[p.Hash()] = true
			}
		}
	}
}
