package debuglog_test

import (
	"fmt"

	"github.com/colltune/colltune/executor/nccl/debuglog"
)

// With NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING the library says what it chose.
func ExampleRead() {
	log := debuglog.Read(`node1:20114:20114 [0] NCCL INFO NCCL_ALGO set by environment to ring
node1:20114:20114 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..7}
`)
	fmt.Printf("%+v %v\n", log.Choices, log.Environment)
	// Output: [{Collective:allreduce Bytes:1048576 Algorithm:ring Protocol:simple Channels:8}] map[NCCL_ALGO:ring]
}
