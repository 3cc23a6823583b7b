package compiler

import (
	"fmt"
	"testing"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/verify"
)

// families are programs of the kinds people write.
func families() map[string]*lang.Program {
	return map[string]*lang.Program{
		"ring 4":               ringAllReduce(4, 1),
		"ring 5 on 3 channels": ringAllReduce(5, 3),
		"all-pairs 4":          allPairs(4, false),
		"all-pairs 4 wide":     allPairs(4, true),
		"hierarchical 2x3":     hierarchical(2, 3, 1),
		"hierarchical 2x3 x2":  hierarchical(2, 3, 2),
		"hierarchical 3x2 x3":  hierarchical(3, 2, 3),
		"two-level 4x3":        twoLevel(4, 3),
		"two-step 2x3":         twoStep(2, 3),
		"two-step 3x2":         twoStep(3, 2),
		"recursive doubling 8": recursiveDoubling(8),
		"halving doubling 8":   halvingDoubling(8),
	}
}

func TestFamiliesComputeTheirCollective(t *testing.T) {
	for name, p := range families() {
		for _, o := range []Options{
			{}, {Instances: 2}, {Instances: 3, MaxChannels: 64}, {Slots: 1}, {Slots: 8}, {CallPerChunk: true}, {CallPerChunk: true, Slots: 1},
		} {
			t.Run(fmt.Sprintf("%s/i%d s%d %v", name, o.Instances, o.Slots, o.CallPerChunk), func(t *testing.T) {
				o.CheckEachPass = true
				res, err := Compile(p, o)
				if err != nil {
					t.Fatal(err)
				}
				if err := judge(res.Program, o, 10); err != nil {
					t.Fatal(err)
				}
				if err := verify.Check(res.Program, verify.Options{}).Err(); err != nil {
					t.Fatalf("the verifier: %v", err)
				}
			})
		}
	}
}
