package score

import (
	"context"
	"fmt"
	"sync"

	"github.com/colltune/colltune/cmd/lab/strategies"
	"github.com/colltune/colltune/executor/replay/recorded"
)

// Options say how strategies are played.
type Options struct {
	Strategies []strategies.Row
	Seeds      int            // plays of each strategy, at least 1
	Seed       int64          // of the first play, for the strategy and the noise; the others follow it
	Trials     int            // most trials a size, in the mean over sizes; 0: as many as there are configurations
	Noise      recorded.Noise // of trials; its seed is not used
	Gain       float64        // strategies.Options.Gain
	NoPrior    bool           // strategies see no prior, though the space has one
	Jobs       int            // plays at a time, at least 1; never changes the result
}

// Score is what Play returns.
type Score struct {
	Configs int  // of the space
	Points  int  // configurations times sizes that were recorded
	Sizes   int  // that have a time
	Prior   bool // strategies saw one
	Trials  int  // most trials a size
	Curves  []Curve
}

// Play plays strategies on a recorded space. The error is about the space, or that of ctx.
func Play(ctx context.Context, r *recorded.Space, o Options) (*Score, error) {
	g, err := newGame(r, !o.NoPrior)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Call, err)
	}
	s := &Score{Configs: len(g.space.Configs), Sizes: len(g.space.Sizes), Prior: g.space.PriorUS != nil, Trials: o.Trials}
	for c := range g.space.Configs {
		for n := range g.space.Sizes {
			if !g.space.Never(strategies.Point{Config: c, Size: n}) {
				s.Points++
			}
		}
	}
	if s.Trials == 0 {
		s.Trials = s.Configs
	}
	for _, row := range o.Strategies {
		plays := make([]play, max(o.Seeds, 1))
		seeds := make(chan int)
		var players sync.WaitGroup
		for range min(max(o.Jobs, 1), len(plays)) {
			players.Go(func() {
				for i := range seeds {
					plays[i] = g.play(ctx, row, o, s.Trials, o.Seed+int64(i))
				}
			})
		}
		for i := range plays {
			seeds <- i
		}
		close(seeds)
		players.Wait()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s.Curves = append(s.Curves, curveOf(row.Name, plays, s.Trials, s.Sizes))
	}
	return s, nil
}

// play is one play of a strategies.
type play struct {
	regret []Regret // after 1, 2, … trials a size
	trials int      // all that it made
}

// play plays a strategy until it is done, or has made most trials a size in the mean.
func (g *game) play(ctx context.Context, row strategies.Row, o Options, most int, seed int64) (p play) {
	s := row.New(&g.space, strategies.Options{Seed: seed, Gain: o.Gain, Exact: o.Noise.None()})
	noise := o.Noise
	noise.Seed = seed
	sizes := len(g.space.Sizes)
	var history []strategies.Observation
	same := map[strategies.Point]int{}
	done := false
	for len(p.regret) < most && ctx.Err() == nil {
		if !done {
			next := s.Next(history, 1)
			done = len(next) == 0
			for _, at := range next {
				us := g.truth[at.Config][at.Size]
				factor := noise.Factor(g.names[at.Config], g.space.Sizes[at.Size], same[at], len(history))
				same[at]++
				history = append(history, strategies.Observation{Point: at, TimeUS: us * factor, Failed: us == 0, Seconds: 1})
			}
		}
		if now := len(history); done || now%sizes == 0 {
			r := g.regret(s.Outlook(history))
			p.regret = append(p.regret, r)
		}
	}
	p.trials = len(history)
	return p
}
