package nccltests_test

import (
	"fmt"

	"github.com/colltune/colltune/executor/nccl/nccltests"
)

func ExampleParse() {
	const text = `# nThread 1 nGpus 8 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
     1048576        262144     float     sum      -1    38.21   27.44   48.02       0    37.90   27.67   48.42       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 48.22
`
	report, err := nccltests.Parse("run.txt", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	row := report.Tables[0].Rows[0]
	fmt.Println(row.Bytes, row.Type, row.OutOfPlace.TimeUS, row.InPlace.TimeUS, report.Finished)
	// Output: 1048576 float 38.21 37.9 true
}
