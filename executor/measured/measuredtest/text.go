package measuredtest

import (
	"testing"

	"github.com/colltune/colltune/executor/measured"
)

// Outputs of all-gathers, by nccl-tests and by OSU's micro-benchmarks.
const (
	NCCLText = `# nThread 1 nGpus 8 minBytes 1024 maxBytes 2048 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
# Collective test starting: all_gather_perf
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
        1024            32     float    none      -1    10.00    0.10    0.09       0    11.00    0.09    0.08       0
        2048            64     float    none      -1    12.00    0.17    0.15       3    13.00    0.16    0.14       0
# Out of bounds values : 0 OK
`
	OSUText = `# OSU MPI-CUDA Allgather Latency Test v7.3
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations
128                     9.00              8.00             10.00        1000
256                    14.00             13.00             15.00        1000
`
)

// Read reads one file stated as text is; the file has that content.
func Read(text, content string) ([]measured.Row, []string, error) {
	s, err := measured.ParseSource(text)
	if err != nil {
		return nil, nil, err
	}
	return measured.Read(s, []byte(content))
}

// MustRead is Read without an error, which ends the test, and without notes.
func MustRead(t *testing.T, text, content string) []measured.Row {
	t.Helper()
	rows, _, err := Read(text, content)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
