package cpu

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/colltune/colltune/compiler"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cpu/mpi/mpitest"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/internal/dynlib"
	"github.com/colltune/colltune/topologies"
)

// allReduceSizes are the sizes of BenchmarkAllReduce, in bytes.
var allReduceSizes = []int64{1 << 20, 4 << 20, 16 << 20, 64 << 20}

// BenchmarkAllReduce measures an AllReduce of f32 in GB/s of its buffer, beside two
// references in the same run: a plain loop with the sums and copies that each rank
// needs, one goroutine a core, and MPI_Allreduce of two processes of Open MPI. Each
// figure is the best iteration, which other load on the machine disturbs least.
func BenchmarkAllReduce(b *testing.B) {
	theirs := mpiAllReduce(b)
	for _, program := range []struct {
		name  string
		trace func(ranks int) *ir.Program
	}{
		{"ring", func(ranks int) *ir.Program { return ring(b, ranks, compiler.Options{}) }},
		{"all-pairs", func(ranks int) *ir.Program { return allPairs(b, ranks, compiler.Options{}) }},
	} {
		for _, ranks := range []int{2, 4} {
			p, top := program.trace(ranks), system(b, fmt.Sprintf("fullmesh:%d", ranks))
			for _, n := range allReduceSizes {
				b.Run(fmt.Sprintf("%s/%dranks/%dMiB", program.name, ranks, n>>20), func(b *testing.B) {
					trial := executor.Trial{Program: p, Topology: top, Bytes: n, Protocol: topologies.Simple, Iters: iterationsOf(n)}
					var ours, plain float64 // us
					for b.Loop() {
						m, err := New().Run(b.Context(), trial)
						if err != nil || m.Wrong != 0 {
							b.Fatalf("%d wrong, %v", m.Wrong, err)
						}
						ours, plain = slices.Min(m.TimesUS), plainAllReduce(n, ranks)
					}
					b.ReportMetric(float64(n)/ours/1e3, "GB/s")
					b.ReportMetric(plain/ours, "of-plain")
					if ranks == 2 && theirs[n] > 0 {
						b.ReportMetric(theirs[n]/ours, "of-MPI")
					}
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// iterationsOf returns the number of iterations of a size: about 2 GiB in all.
func iterationsOf(bytes int64) int { return int(max(2<<30/bytes, 20)) }

// plainAllReduce returns the best time in µs of the work that no AllReduce can avoid on
// a rank: summing all parts of the buffer but one, and copying as much.
func plainAllReduce(bytes int64, ranks int) float64 {
	n := bytes / int64(ranks) * int64(ranks-1)
	mine, others := make([][]byte, ranks), make([][]byte, ranks)
	for r := range ranks {
		mine[r], others[r] = make([]byte, n), make([]byte, n)
		data.Spread(mine[r], 4, 0)
		data.Spread(others[r], 4, 0)
	}
	sum := data.Reduction(data.F32, data.Sum)
	best := time.Duration(1 << 62)
	for range iterationsOf(bytes) {
		begun := time.Now()
		var all sync.WaitGroup
		for w := range min(runtime.GOMAXPROCS(0), ranks) {
			all.Go(func() {
				for r := w; r < ranks; r += runtime.GOMAXPROCS(0) {
					sum(mine[r], mine[r], others[r])
					copy(others[r], mine[r])
				}
			})
		}
		all.Wait()
		best = min(best, time.Since(begun))
	}
	return float64(best) / float64(time.Microsecond)
}

// mpiAllReduce returns MPI_Allreduce's best time at each size, in µs, or nil if there is
// no Open MPI.
func mpiAllReduce(b *testing.B) map[int64]float64 {
	launch, err := mpitest.Launchers[0].Command(2)
	if err != nil {
		b.Log(err)
		return nil
	}
	cmd := exec.Command(launch[0], append(launch[1:], os.Args[0])...)
	cmd.Env = append(os.Environ(), launchedVariable+"=allreduce")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	best := map[int64]float64{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		var n int64
		var us float64
		if _, err := fmt.Sscanf(s.Text(), "%d bytes %f us", &n, &us); err == nil {
			best[n] = us
		}
	}
	return best
}

// timeMPI is the main of the processes that mpiAllReduce launches. It calls Open MPI
// directly.
func timeMPI() error {
	lib, err := dynlib.Open("libmpi.so.40", "libmpi.so.80")
	if err != nil {
		return err
	}
	at := map[string]uintptr{}
	for _, name := range []string{
		"MPI_Init", "MPI_Finalize", "MPI_Allreduce", "MPI_Barrier",
		"ompi_mpi_comm_world", "ompi_mpi_float", "ompi_mpi_op_sum",
	} {
		s, err := lib.Symbol(name)
		if err != nil {
			return err
		}
		at[name] = uintptr(s)
	}
	call := func(name string, args ...uintptr) { dynlib.Call(dynlib.Symbol(at[name]), args...) }
	runtime.LockOSThread()
	call("MPI_Init", 0, 0)
	for _, n := range allReduceSizes {
		in, out := make([]float32, n/4), make([]float32, n/4)
		for i := range in {
			in[i], out[i] = 1, 0
		}
		best := time.Duration(1 << 62)
		for range iterationsOf(n) {
			call("MPI_Barrier", at["ompi_mpi_comm_world"])
			begun := time.Now()
			call("MPI_Allreduce", uintptr(unsafe.Pointer(&in[0])), uintptr(unsafe.Pointer(&out[0])), uintptr(n/4), at["ompi_mpi_float"], at["ompi_mpi_op_sum"], at["ompi_mpi_comm_world"])
			best = min(best, time.Since(begun))
		}
		if out[0] != 2 || out[len(out)-1] != 2 {
			return fmt.Errorf("MPI_Allreduce made %v of two ones", out[0])
		}
		fmt.Printf("%d bytes %.1f us\n", n, float64(best)/float64(time.Microsecond))
	}
	call("MPI_Finalize")
	return nil
}
