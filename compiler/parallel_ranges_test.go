package compiler

import (
	"math"
	"runtime"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/internal/container"
	"github.com/colltune/colltune/compiler/lang"
)

// alone and shared compile a program without and with others at its side, whatever
// its size, and give the IR's hash.
func alone(p *lang.Program, o Options) (string, error) { return compiledWith(p, o, math.MaxInt) }

func shared(p *lang.Program, o Options) (string, error) { return compiledWith(p, o, 0) }

func compiledWith(p *lang.Program, o Options, work int) (string, error) {
	defer func(n int) { container.MinWork = n }(container.MinWork)
	container.MinWork = work
	res, err := Compile(p, o)
	if err != nil {
		return "", err
	}
	return res.Program.Hash(), nil
}

// TestParallelRanges: what is done side by side comes to what is done alone, and so
// does what gives its memory back at once.
func TestParallelRanges(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	for name, p := range families() {
		want, err := alone(p, Options{Instances: 2})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := shared(p, Options{Instances: 2}); got != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	defer func(n int) { manyOps = n }(manyOps)
	manyOps = 0
	p := twoStep(2, 3)
	want, err := alone(p, Options{})
	if got, wrong := shared(p, Options{}); got != want || err != nil || wrong != nil {
		t.Errorf("%s, %v; want %s, %v", got, wrong, want, err)
	}
}

// TestParallelRangesAtRandom is the same of whatever routings come.
func TestParallelRangesAtRandom(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rapid.Check(t, func(t *rapid.T) {
		p := drawRouting(t)
		o := Options{
			Instances:       rapid.IntRange(1, 3).Draw(t, "instances"),
			MaxChannels:     1000,
			MaxThreadblocks: rapid.SampledFrom([]int{0, 0, 2, 20}).Draw(t, "threadblocks"),
		}
		want, wrong := alone(p, o)
		got, err := shared(p, o)
		if got != want || (err == nil) != (wrong == nil) || err != nil && err.Error() != wrong.Error() {
			t.Fatalf("%s, %v; alone %s, %v", got, err, want, wrong)
		}
	})
}
