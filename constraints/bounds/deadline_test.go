package bounds

import (
	"context"
	"errors"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

// patience is a context that ends after a number of checks.
type patience struct {
	context.Context
	left, checks int
}

func (p *patience) Err() error {
	p.checks++
	if p.left--; p.left < 0 {
		return context.Canceled
	}
	return nil
}

// maxLateChecks is how often a context may be checked after its end: once for each set of
// eight ranks and its complement, and a few more.
const maxLateChecks = 150

// Every bound checks its context regularly and returns at the first check after its end.
func TestBoundsEndWithTheirContext(t *testing.T) {
	for _, system := range []string{"dgx-1", "mesh:5x5"} {
		top := resolve(t, system, 1)
		for name := range bandwidthRules {
			spec := collective.Spec{Name: name, Ranks: len(top.Ranks), Chunks: 1}
			c, err := collective.New(spec)
			if err != nil {
				continue // with counts only
			}
			whole := &patience{Context: context.Background(), left: 1 << 30}
			if _, err := Of(whole, top, c); err != nil {
				t.Fatal(err)
			}
			if whole.checks < 2 {
				t.Errorf("%s on %s checked its context %d times", name, system, whole.checks)
			}
			for _, left := range []int{0, 1, whole.checks / 2, whole.checks - 1} {
				short := &patience{Context: context.Background(), left: left}
				if _, err := Of(short, top, c); !errors.Is(err, context.Canceled) {
					t.Errorf("%s on %s, over after %d checks of %d: %v", name, system, left, whole.checks, err)
				}
				if short.checks > left+maxLateChecks {
					t.Errorf("%s on %s checked %d times, and it was over after %d", name, system, short.checks, left)
				}
			}
		}
	}
}
