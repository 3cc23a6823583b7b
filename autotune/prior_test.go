package autotune

import (
	"math"
	"reflect"
	"testing"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/topologies"
)

// links is how an executor's ranks are joined.
type links int

const (
	joined  links = iota // by the topology's links
	shared               // ranks share GPUs
	inTurns              // ranks are no GPUs
)

// spaceAndPrior returns the space of candidates in place, and its prior.
func spaceAndPrior(t *testing.T, candidates []Candidate, links links, jobs int) (*space, [][]float64) {
	t.Helper()
	p := testProblem()
	p.OtherLinks, p.InTurns = links != joined, links == inTurns
	any := func(topologies.Proto) bool { return true }
	all, _, _, err := prepare(&p, 4, any, candidates)
	if err != nil {
		t.Fatal(err)
	}
	s := newSpace(newCells(&p, all))
	prior, err := s.prior(t.Context(), &p, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return s, prior
}

// The prior is the simulator's times wherever a program may be the fastest; what is not
// simulated has more than the fastest of its size. It does not depend on the jobs.
func TestPriorIsSimulated(t *testing.T) {
	candidates := field{1}.candidates(24, true, false)
	s, prior := spaceAndPrior(t, candidates, joined, 1)
	if _, again := spaceAndPrior(t, candidates, joined, 4); !reflect.DeepEqual(again, prior) {
		t.Error("with 4 jobs the prior is another")
	}
	for size := range s.Sizes {
		simulated, skipped, best := 0, 0, math.Inf(1)
		true := make([]float64, len(s.Configs))
		for config, row := range s.trials {
			if x := row[size]; x != nil {
				result, err := sim.Run(x.Program, testTopology(), sim.Knobs{Bytes: s.Sizes[size], Protocol: x.proto, TileBytes: x.tile, ElemBytes: 4})
				if err != nil {
					t.Fatal(err)
				}
				true[config] = result.TimeUS
				best = min(best, result.TimeUS)
			} else if prior[config][size] != 0 {
				t.Errorf("%s has a prior at %d bytes, where it is not tried", s.Configs[config].Name, s.Sizes[size])
			}
		}
		for config, want := range true {
			switch got := prior[config][size]; {
			case got == want:
				simulated++
			case want == best:
				t.Errorf("%d bytes: the fastest has %v us, want %v", s.Sizes[size], got, want)
			case got <= best:
				t.Errorf("%d bytes: one of %v us has %v, less than the fastest, %v", s.Sizes[size], want, got, best)
			default:
				skipped++
			}
		}
		if simulated < batchSize || skipped == 0 && size == 0 {
			t.Errorf("%d bytes: %d simulated, %d not", s.Sizes[size], simulated, skipped)
		}
	}
}

// Where ranks share GPUs, whose times no link bounds, the prior is the simulator's as it is
// where each has its own.
func TestPriorOfSharedGPUs(t *testing.T) {
	_, want := spaceAndPrior(t, field{1}.candidates(4, true, false), joined, 1)
	if _, got := spaceAndPrior(t, field{1}.candidates(4, true, false), shared, 1); !reflect.DeepEqual(got, want) {
		t.Errorf("prior %v, want %v", got, want)
	}
}

// Where ranks are no GPUs, the prior is the work of all ranks.
func TestPriorIsWork(t *testing.T) {
	s, prior := spaceAndPrior(t, field{1}.candidates(6, true, false), inTurns, 1)
	for config, row := range s.trials {
		for size, x := range row {
			if got := prior[config][size]; x != nil && got != workUS(x.stepCounts, x.chunk(), x.tile) {
				t.Errorf("%s at %d bytes: %v us, want %v", s.Configs[config].Name, s.Sizes[size], got, workUS(x.stepCounts, x.chunk(), x.tile))
			}
		}
	}
	// 3 steps of 2 chunks of 64 KiB take 3 tiles each, and 5 of a chunk take 2.
	if got, want := workUS([]stepCount{{2, 3}, {1, 5}}, 64<<10, 48<<10), 3*(3*passUS+(128<<10)/bytesPerUS)+5*(2*passUS+(64<<10)/bytesPerUS); math.Abs(got-want) > 1e-9 {
		t.Errorf("%v us, want %v", got, want)
	}
	p := ring(2, 0, true)
	steps := 0
	for _, s := range stepCounts(p) {
		steps += s.steps
	}
	if want := p.Steps(); steps != want {
		t.Errorf("%d steps by count, want %d", steps, want)
	}
}

// A native algorithm has the prior that its candidate brings, beside the programs'; where no
// candidate has one, there is none.
func TestPriorOfNatives(t *testing.T) {
	candidates := field{1}.candidates(2, true, false)
	c := candidates[0]
	c.Collective, c.Program, c.Native, c.Hash = c.Program.Collective, nil, &executor.Native{Algorithm: "ring"}, "native"
	if _, prior := spaceAndPrior(t, []Candidate{c}, joined, 1); prior != nil {
		t.Errorf("prior %v, want none", prior)
	}
	c.Prior = func(bytes int64, proto topologies.Proto) float64 {
		if proto == topologies.LL128 {
			return 0
		}
		return float64(bytes) + float64(proto)
	}
	for _, all := range [][]Candidate{{c}, {c, candidates[1]}} {
		s, prior := spaceAndPrior(t, all, joined, 1)
		natives, programs := 0, 0
		for config, row := range s.trials {
			for size, x := range row {
				switch {
				case x == nil:
				case x.Native == nil:
					programs++
					if prior[config][size] == 0 {
						t.Errorf("a program has no prior at %d bytes", s.Sizes[size])
					}
				case prior[config][size] != c.Prior(s.Sizes[size], x.proto):
					t.Errorf("prior %g of %v at %d bytes", prior[config][size], x.proto, s.Sizes[size])
				default:
					natives++
				}
			}
		}
		if natives != 3*len(s.Sizes) || (programs > 0) != (len(all) > 1) {
			t.Errorf("%d native points and %d of programs", natives, programs)
		}
	}
}
