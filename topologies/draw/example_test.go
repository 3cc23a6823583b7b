package draw_test

import (
	"fmt"
	"os"

	"github.com/colltune/colltune/topologies"
	"github.com/colltune/colltune/topologies/draw"
)

func ExampleText() {
	t, err := topologies.Resolve("ring:4", topologies.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := draw.Text(os.Stdout, t); err != nil {
		fmt.Println(err)
	}
	// Output:
	// ring:4: 4 ranks on 1 node, ampere, runtime nccl
	//
	// the node: 4 GPUs of 108 SMs
	//
	// gpu  0  1  2  3
	// 0    -  1  .  1
	// 1    1  -  1  .
	// 2    .  1  -  1
	// 3    1  .  1  -
	//
	// nvlink  50 GB/s, 0.5 us  gpu 0 = gpu 1; gpu 0,2 = gpu 3; gpu 1 = gpu 2
}
