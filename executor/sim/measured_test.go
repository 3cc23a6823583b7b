package sim

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/topologies"
)

// row is a published measurement.
type row struct {
	collective string
	nodes      int
	gpus       int
	bytes      int64
	algo       string
	time       float64
	inPlace    bool
}

// measured returns the rows of a file of shared/data/measured, which lies above the
// working directory, and skips the test if there is no such file.
func measured(t testing.TB, name string) []row {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open(filepath.Join(dir, "shared", "data", "measured", name+".csv"))
		if err == nil {
			defer f.Close()
			all, err := csv.NewReader(f).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			var rows []row
			for _, r := range all[1:] {
				nodes, _ := strconv.Atoi(r[1])
				gpus, _ := strconv.Atoi(r[2])
				bytes, _ := strconv.ParseInt(r[3], 10, 64)
				time, _ := strconv.ParseFloat(r[6], 64)
				rows = append(rows, row{r[0], nodes, gpus, bytes, r[4], time, r[9] == "1"})
			}
			return rows
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Skipf("no shared/data/measured/%s.csv above the working directory", name)
	}
}

// spread returns the median and 95th percentile of relative errors.
func spread(errs []float64) (median, p95 float64) {
	abs := make([]float64, len(errs))
	for i, e := range errs {
		abs[i] = math.Abs(e)
	}
	slices.Sort(abs)
	return abs[len(abs)/2], abs[len(abs)*95/100]
}

// mi300xProgram builds the program of a label such as msccl:ag_ring_LL_8_1.
func mi300xProgram(label string) (*ir.Program, topologies.Proto, bool) {
	parts := strings.Split(strings.TrimPrefix(label, "msccl:ag_"), "_")
	if !strings.HasPrefix(label, "msccl:ag_") || len(parts) != 4 {
		return nil, 0, false
	}
	proto, err := topologies.ParseProto(parts[1])
	if err != nil {
		return nil, 0, false
	}
	instances, _ := strconv.Atoi(parts[3])
	switch parts[0] {
	case "allpair":
		return allPairsAllGather(8, instances), proto, true
	case "ring":
		channels, _ := strconv.Atoi(parts[2])
		return ringAllGather(8, channels, instances, false), proto, true
	}
	return nil, 0, false
}

func TestMI300XProgramsAsMeasured(t *testing.T) {
	top := system(t, "mi300x", 1)
	errs := map[string][]float64{}
	prepared := map[string]*Prepared{}
	for _, file := range []string{"mi300x_msccl_allgather_allpair", "mi300x_msccl_allgather_ring_1_8ch"} {
		for _, r := range measured(t, file) {
			if r.bytes < 1024 || !r.inPlace {
				continue
			}
			program, proto, ok := mi300xProgram(r.algo)
			if !ok || proto == topologies.LL128 { // an offset that no program explains
				continue
			}
			p := prepared[r.algo]
			if p == nil {
				var err error
				if p, err = Prepare(program, top); err != nil {
					t.Fatal(err)
				}
				prepared[r.algo] = p
			}
			got, err := p.Run(Knobs{Bytes: r.bytes, Protocol: proto})
			if err != nil {
				t.Fatal(err)
			}
			e := got.TimeUS/r.time - 1
			for _, group := range []string{"all", proto.String(), strings.TrimPrefix(r.algo, "msccl:ag_")} {
				errs[group] = append(errs[group], e)
			}
		}
	}
	var groups []string
	for g := range errs {
		groups = append(groups, g)
	}
	slices.Sort(groups)
	for _, g := range groups {
		median, p95 := spread(errs[g])
		t.Logf("%-20s %4d points: median %4.1f %%, p95 %4.1f %%", g, len(errs[g]), 100*median, 100*p95)
	}
	if median, p95 := spread(errs["all"]); median > 0.03 || p95 > 0.15 {
		t.Errorf("median error %.1f %%, p95 %.1f %%: want at most 3 and 15", 100*median, 100*p95)
	}
}
