package debuglog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A sample written by hand after lines that the libraries print.
const sample = `NCCL version 2.30.7+cuda12.9
node1:411:411 [0] NCCL INFO NCCL_ALGO set by environment to Ring
node1:411:411 [0] NCCL INFO NCCL_MIN_NCHANNELS set by environment to 8.
[1,0]<stdout>:node1:411:430 [0] NCCL INFO 8 coll channels, 8 collnet channels, 0 nvls channels, 8 p2p channels, 2 p2p channels per peer
node1:411:411 [0] NCCL INFO Connected all rings
node1:412:412 [1] NCCL INFO Connected 2 MSCCL algorithms
node1:411:411 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
     1048576        262144     float     sum      -1node1:411:411 [0] NCCL INFO AllReduce: 1048576 Bytes -> Algo Ring proto LL128 channel{Lo..Hi}={0..7}
node1:411:411 [0] NCCL INFO Broadcast:    32768 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..15}
node1:411:411 [0] NCCL INFO AllGather: 65536 Bytes -> Algo 1 proto 2 time 12.5
node1:411:411 [0] NCCL INFO 4096 Bytes -> Algo 0 proto 0 time 11.500000
node1:411:411 [0] NCCL INFO ReduceScatter [Symmetric]: 4194304 Bytes -> Kernel ReduceScatter_LD nchannels 32 nthreads 512 nWorks 1

node1:411:431 [1] NCCL WARN Error : no algorithm/protocol available for function AllReduce
`

func TestRead(t *testing.T) {
	want := &Log{
		Library: "nccl", Version: "2.30.7", MSCCL: 2, Channels: 8,
		Environment: map[string]string{"NCCL_ALGO": "Ring", "NCCL_MIN_NCHANNELS": "8"},
		Choices: []Choice{
			{"allreduce", 1024, "ring", "ll", 1},
			{"allreduce", 1048576, "ring", "ll128", 8},
			{"broadcast", 32768, "nvlstree", "simple", 16},
			{"allgather", 65536, "ring", "simple", 0},
			{"", 4096, "tree", "ll", 0},
		},
		Kernels:  []Kernel{{"ReduceScatter_LD", 32}},
		Warnings: []string{"Error : no algorithm/protocol available for function AllReduce"},
	}
	got := Read(sample)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Read(strings.ReplaceAll(sample, "\n", "\r\n")); cmp.Diff(want, got) != "" {
		t.Error("carriage returns change it")
	}
}

func TestReadsRCCL(t *testing.T) {
	got := Read("RCCL version : 2.20.5-HEAD:d380693+\nnode:1:1 [0] NCCL INFO NCCL version 2.20.5+hip6.2\n")
	if got.Library != "rccl" || got.Version != "2.20.5" || got.MSCCL != -1 {
		t.Errorf("%+v", got)
	}
}

// FuzzRead: no bytes bring the reader down, and it keeps within its limits.
func FuzzRead(f *testing.F) {
	f.Add(sample)
	f.Add("99999999999999999999 Bytes -> Algo 7 proto 9 channel{Lo..Hi}={9..1}")
	f.Fuzz(func(t *testing.T, text string) {
		l := Read(text)
		for _, c := range l.Choices {
			if c.Bytes < 0 || c.Channels < 0 || c.Algorithm != strings.ToLower(c.Algorithm) {
				t.Errorf("%+v", c)
			}
		}
		if len(l.Warnings) > maxWarnings || l.MSCCL < -1 {
			t.Errorf("%+v", l)
		}
	})
}
