package sim

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/ir"
)

// every simulates every tile of the loop.
func every(t testing.TB, p *Prepared, k Knobs) float64 {
	t.Helper()
	c, err := p.costs(k)
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{p: p}
	e.pattern.off = true
	time, err := e.simulate(context.Background(), c, c.tiles)
	if err != nil {
		t.Fatal(err)
	}
	return c.launch + time
}

// Skipping tiles of the loop does not change the time.
func TestCutLoopsTakeAsLong(t *testing.T) {
	for _, c := range []struct {
		name    string
		program *ir.Program
		on      string
		nodes   int
	}{
		{"ring", ringAllReduce(order(8), 4), "dgx-a100", 1},
		{"ring over two nodes", ringAllReduce(order(16), 4), "dgx-a100", 2},
		{"all pairs", allPairsAllReduce(8, 1), "dgx-a100", 1},
		{"ring over channels", ringAllGather(8, 8, 2, false), "mi300x", 1},
		{"all pairs of 8", allPairsAllGather(8, 8), "mi300x", 1},
		{"all to all", directAllToAll(16), "dgx-a100", 2},
	} {
		p, err := Prepare(c.program, system(t, c.on, c.nodes))
		if err != nil {
			t.Fatal(err)
		}
		for _, proto := range p.topology.HasProtocols() {
			tile := int64(p.topology.Protocols[proto].Tile)
			for _, tiles := range []int64{7, 20, 61, 200} {
				k := Knobs{Bytes: p.loopChunks * (tile*tiles - tile/3) / 16 * 16, Protocol: proto}
				r, err := p.Run(k)
				if err != nil {
					t.Fatal(err)
				}
				want := every(t, p, k)
				off := math.Abs(r.TimeUS-want) / want
				limit := 1e-6
				if r.Method == Linear {
					limit = 0.002
				}
				if off > limit || tiles == 200 && r.Method == Whole {
					t.Errorf("%s %v %d tiles: %v us (%v, %d simulated), want %v", c.name, proto, tiles, r.TimeUS, r.Method, r.Simulated, want)
				}
				t.Logf("%-20s %-6v %3d tiles: %v, %d simulated, off by %.1e", c.name, proto, tiles, r.Method, r.Simulated, off)
			}
		}
	}
}

func TestRandomLoopsTakeAsLong(t *testing.T) {
	worst := map[Method]float64{}
	times := map[Method]int{}
	rapid.Check(t, func(rt *rapid.T) {
		top := randomSystem(rt, t)
		p, err := Prepare(randomProgram(rt, len(top.Ranks)), top)
		if err != nil {
			rt.Fatal(err)
		}
		k := randomKnobs(rt, top)
		k.TileBytes = 4096
		k.Bytes = p.loopChunks * 4096 * int64(rapid.IntRange(8, 150).Draw(rt, "tiles"))
		r, err := p.Run(k)
		if err != nil {
			rt.Fatal(err)
		}
		want := every(t, p, k)
		off := math.Abs(r.TimeUS-want) / want
		worst[r.Method] = max(worst[r.Method], off)
		times[r.Method]++
		if limit := map[Method]float64{Whole: 1e-12, Periodic: 1e-6, Linear: 0.1}[r.Method]; off > limit {
			rt.Fatalf("%+v: %v us (%v, %d of %d tiles), want %v", k, r.TimeUS, r.Method, r.Simulated, r.Tiles, want)
		}
	})
	t.Logf("worst error by method: %v in %v", worst, times)
}

// A threadblock that is no longer steady is not counted as steady.
func TestSteadyNoMore(t *testing.T) {
	p, err := Prepare(ringAllReduce(order(8), 1), system(t, "dgx-a100", 1))
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.costs(Knobs{Bytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	e := &engine{p: p}
	e.reset(c)
	w := &e.pattern
	w.reset(e, c.tiles)
	w.retry = math.MaxInt // only watch, never cut
	s := &blockState{}
	ended := func(took float64) {
		s.tile++
		s.ready += took
		s.calls, s.sum = 1, s.ready
		w.tile(e, 0, s)
	}
	for range 8 {
		ended(5)
	}
	if w.steady[1] != 1 {
		t.Fatalf("%d threadblocks are steady, want 1", w.steady[1])
	}
	ended(6)
	if w.steady[1] != 0 {
		t.Errorf("%d threadblocks are steady after one took longer, want none", w.steady[1])
	}
	for range 8 {
		ended(6)
	}
	if w.steady[1] != 1 {
		t.Errorf("%d threadblocks are steady at another pace, want 1", w.steady[1])
	}
}
