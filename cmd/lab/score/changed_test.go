package score

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/colltune/colltune/autotune"
	"github.com/colltune/colltune/cmd/lab/strategies"
	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/replay/recorded"
	"github.com/colltune/colltune/executor/sim"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/search"
	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/topotest"
)

// changed returns the topology as another machine: every duration and rate of its file times
// a factor, log-normal with the deviation given. A constant of a protocol has a factor of its
// own; the numbers of all links of a kind share one each.
func changed(t *topologies.Topology, seed uint64, deviation float64) *topologies.Topology {
	r := rand.New(rand.NewPCG(seed, 7))
	factor := func() float64 { return math.Exp(deviation * r.NormFloat64()) }
	c := t.Clone()
	for i := range c.Protocols {
		p := &c.Protocols[i]
		for _, d := range []*units.Duration{&p.Launch, &p.Latency, &p.Credit, &p.SendCall, &p.RecvCall, &p.Dep, &p.Nop, &p.NetLatency, &p.NetStart, &p.NetRendezvous, &p.SendPass, &p.RecvPass, &p.SendSlice, &p.RecvSlice, &p.ReducePass, &p.CopyPass, &p.ReduceCall} {
			*d = units.Duration(float64(*d) * factor())
		}
		for _, b := range []*units.Bandwidth{&p.NetRate, &p.SendRate, &p.RecvRate} {
			*b = units.Bandwidth(float64(*b) * factor())
		}
	}
	var links [topologies.Host + 1][3]float64
	for kind := range links {
		links[kind] = [3]float64{factor(), factor(), factor()}
	}
	for i := range c.Edges {
		e := &c.Edges[i]
		e.Bandwidth = units.Bandwidth(float64(e.Bandwidth) * links[e.Kind][0])
		e.Latency = units.Duration(float64(e.Latency) * links[e.Kind][1])
		e.Message = units.Duration(float64(e.Message) * links[e.Kind][2])
	}
	memory := factor()
	for i := range c.Ranks {
		c.Ranks[i].Memory = units.Bandwidth(float64(c.Ranks[i].Memory) * memory)
	}
	return c
}

// systemCall is a call on a system.
type systemCall struct {
	system string
	nodes  int
	call   string
}

// tables simulates all that a search of a cell would try, on the machine of its file, which is
// the prior, and on others, which are the truth. It returns a file for each of those, as
// lab score reads it. Files that are in the folder are not made again.
func tables(t *testing.T, dir string, c systemCall, sizes []int64, machines int) (files []string) {
	t.Helper()
	there := true
	for m := range machines {
		files = append(files, filepath.Join(dir, fmt.Sprintf("%s-%d-%s-%d.csv", c.system, c.nodes, c.call, m)))
		_, err := os.Stat(files[m])
		there = there && err == nil
	}
	if there {
		return files
	}
	file := topotest.Resolve(t, c.system, c.nodes)
	found, err := search.Enumerate(t.Context(), search.Problem{Call: collective.Call{Collective: c.call, Op: "sum", DType: "f32"}, Topology: file, InPlace: c.call != "alltoall", Sizes: sizes}, search.Options{Executor: "sim"})
	if err != nil {
		t.Fatal(err)
	}
	all := []*topologies.Topology{file}
	for seed := range machines {
		all = append(all, changed(file, uint64(seed), 0.3))
	}
	names := map[string]bool{}
	for _, c := range found.Candidates {
		for name := range c.Parameters {
			names[name] = true
		}
	}
	parameters := slices.Sorted(maps.Keys(names))
	rows := make([][]string, len(found.Candidates)) // by candidate and machine
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range found.Candidates {
		if c.Reference || c.Program == nil {
			continue
		}
		group.Go(func() (err error) {
			rows[i], err = recordOf(&c, parameters, all, sizes)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	for m, name := range files {
		var text strings.Builder
		fmt.Fprintln(&text, strings.Join(slices.Concat([]string{"algorithm,protocol,instances,tile"}, parameters, []string{"bytes,time_us,prior_us"}), ","))
		for _, of := range rows {
			if of != nil {
				text.WriteString(of[m])
			}
		}
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// recordOf returns a candidate's rows of the tables of all machines but the first, whose
// times are their prior.
func recordOf(c *autotune.Candidate, parameters []string, all []*topologies.Topology, sizes []int64) ([]string, error) {
	of, err := collective.New(c.Program.Collective)
	if err != nil {
		return nil, err
	}
	prepared := make([]*sim.Prepared, len(all))
	for i := range all {
		if prepared[i], err = sim.Prepare(c.Program, all[i]); err != nil {
			return nil, err
		}
	}
	count := int32(1)
	for _, g := range c.Program.GPUs {
		for _, tb := range g.Threadblocks {
			for i := range tb.Steps {
				count = max(count, tb.Steps[i].Count)
			}
		}
	}
	var values []string
	for _, name := range parameters {
		value := ""
		if v, has := c.Parameters[name]; has {
			value = strings.ReplaceAll(fmt.Sprint(v), ",", " ")
		}
		values = append(values, value[:min(len(value), 200)])
	}
	texts := make([]strings.Builder, len(all)-1)
	for _, proto := range all[0].HasProtocols() {
		own := &all[0].Protocols[proto]
		if c.SlotsNeeded > own.Slots {
			continue
		}
		tiles := []int64{int64(own.Tile)}
		for _, tile := range own.Tiles {
			if !slices.Contains(tiles, int64(tile)) {
				tiles = append(tiles, int64(tile))
			}
		}
		for i, tile := range tiles {
			config := strings.Join(slices.Concat([]string{c.Algorithm, proto.String(), fmt.Sprint(c.Instances), fmt.Sprint(tile)}, values), ",")
			for _, bytes := range sizes {
				chunk := export.ChunkBytes(bytes, 4, of.LoopChunks())
				if slices.ContainsFunc(tiles[:i], func(earlier int64) bool { return export.SameTile(chunk, int(count), earlier, tile) }) {
					continue
				}
				us := make([]float64, len(all))
				for m := range all {
					r, err := prepared[m].Run(sim.Knobs{Bytes: bytes, Protocol: proto, TileBytes: tile, ElemBytes: 4})
					if err != nil {
						return nil, err
					}
					us[m] = r.TimeUS
				}
				for m := range texts {
					fmt.Fprintf(&texts[m], "%s,%d,%.6g,%.6g\n", config, bytes, us[m+1], us[0])
				}
			}
		}
	}
	var rows []string
	for m := range texts {
		rows = append(rows, texts[m].String())
	}
	return rows, nil
}

// The model's winners on machines whose constants differ from those of the prior, with noise
// and outliers, in 3 % of the trials. With COLLTUNE_LONG=1 on all systems, which takes an
// hour or two; with COLLTUNE_SPACES=DIR the tables stay there, for lab score.
func TestModelOnChangedMachines(t *testing.T) {
	cells, machines, sizes := []systemCall{{"dgx-1", 1, "alltoall"}}, 1, []int64{1 << 10, 512 << 10, 64 << 20}
	if os.Getenv("COLLTUNE_LONG") != "" {
		cells, machines, sizes = nil, 5, []int64{1 << 10, 32 << 10, 512 << 10, 4 << 20, 64 << 20, 512 << 20}
		for _, system := range []systemCall{{"mi300x", 1, ""}, {"dgx-a100", 1, ""}, {"dgx-1", 1, ""}, {"dgx-a100", 2, ""}, {"frontier", 4, ""}} {
			for _, call := range []string{"alltoall", "allgather", "reducescatter", "allreduce"} {
				cells = append(cells, systemCall{system.system, system.nodes, call})
			}
		}
	}
	dir := os.Getenv("COLLTUNE_SPACES")
	if dir == "" {
		dir = t.TempDir()
	}
	model, err := strategies.Named("model")
	if err != nil {
		t.Fatal(err)
	}
	noises := []float64{0.05, 0.1, 0.2}
	logs := make([]float64, len(noises)) // of the ratios' geometric means, summed
	for _, c := range cells {
		of := make([]float64, len(noises))
		configs, most := 0, 0
		for m, file := range tables(t, dir, c, sizes, machines) {
			table, err := recorded.Read(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, noise := range noises {
				o := Options{Strategies: []strategies.Row{model}, Seeds: 1, Seed: int64(m + 1), Noise: recorded.Noise{Spread: noise, Outliers: 0.01}, Jobs: 1}
				o.Trials = max(8, recordedPoints(&table.Spaces[0])*3/100/len(sizes))
				s, err := Play(context.Background(), &table.Spaces[0], o)
				if err != nil {
					t.Fatal(err)
				}
				configs, most = s.Configs, o.Trials
				of[i] += math.Log(float64(s.Curves[0].End().Mean.Median)) / float64(machines)
			}
		}
		row := fmt.Sprintf("%s on %d of %s, %d configurations, at most %d trials a size:", c.call, c.nodes, c.system, configs, most)
		for i, noise := range noises {
			row += fmt.Sprintf(" %.3f with %g %%", math.Exp(of[i]), 100*noise)
			logs[i] += of[i] / float64(len(cells))
		}
		t.Log(row)
	}
	for i, most := range []float64{1.03, 1.05, 1.08} {
		got := math.Exp(logs[i])
		t.Logf("noise %g: %.4f in the geometric mean", noises[i], got)
		if got > most {
			t.Errorf("noise %g: winners take %.4f of the best in the geometric mean, want at most %g", noises[i], got, most)
		}
	}
}

// recordedPoints is the number of configurations times sizes that a space has.
func recordedPoints(s *recorded.Space) (n int) {
	for c := range s.Configs {
		for size := range s.Sizes {
			if s.At(c, size).Recorded {
				n++
			}
		}
	}
	return n
}
