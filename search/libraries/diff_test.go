package libraries_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/colltune/colltune/executor/measured/measuredtest"
	"github.com/colltune/colltune/results/table"
	"github.com/colltune/colltune/search/libraries"
)

func TestDiff(t *testing.T) {
	const head = "collective,ranks,bytes,library,version,time_us,low_us,high_us\n"
	before := head + `allreduce,8,1024,nccl,2.28,10,10,10
allreduce,8,1024,nccl,2.27,11,11,11
allreduce,8,2048,nccl,2.28,10,10,10
allreduce,8,4096,nccl,2.28,10,9,12
allreduce,8,8192,nccl,2.28,10,10,10
allreduce,8,1024,mpi,4,5,5,5
`
	after := head + `allreduce,8,1024,nccl,2.29,20,20,20
allreduce,8,2048,nccl,2.29,5,5,5
allreduce,8,4096,nccl,2.29,13,11,14
allreduce,8,8192,nccl,2.29,10.2,10.2,10.2
allreduce,8,1024,vllm,1,5,5,5
`
	build := func(text string) *libraries.Table {
		table, _ := libraries.Build(measuredtest.MustRead(t, "f.csv", text), nil)
		return table
	}
	var got []string
	changes := libraries.Diff(build(before), build(after), 0.03)
	for _, c := range changes {
		got = append(got, fmt.Sprintf("%d %s %s %.2f", c.Row().Bytes, c.Row().Library, c.Verdict, c.Ratio))
	}
	want := []string{
		"1024 mpi gone 0.00", "1024 nccl slower 2.00", "1024 vllm new 0.00", // the faster of two versions counts
		"2048 nccl faster 0.50",
		"4096 nccl same 1.30", // the intervals meet
		"8192 nccl same 1.02", // within the tolerance
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if mean := libraries.MeanRatio(changes); math.Abs(mean-math.Pow(2*0.5*1.3*1.02, 0.25)) > 1e-12 {
		t.Errorf("mean ratio %v", mean)
	}
	for _, c := range libraries.Diff(build(before), build(before), 0) {
		if c.Verdict != table.Same || c.Ratio != 1 {
			t.Errorf("a table differs from itself: %+v", c)
		}
	}
}
