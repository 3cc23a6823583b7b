package export_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/export"
	"github.com/colltune/colltune/results/resultstest"
	"github.com/colltune/colltune/results/tuning"
)

// The fastest of NCCL's own algorithms become rows of its example tuner's file.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	c, err := resultstest.CreateIn(filepath.Join(dir, "campaign"), resultstest.Plan(1024), // an allreduce over 4 ranks
		resultstest.NativeTrial("ring", "LL", map[string]string{"channels": "8"}, 8, 1024, 5))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	// What NCCL would run by itself, of whatever has no other row.
	left := func(tuning.Scope, int64) ([]tuning.Config, error) {
		return []tuning.Config{{Library: "nccl", Kernel: "ring", Protocol: "Simple", Channels: 64}}, nil
	}
	report, err := export.Write(c, export.Options{To: "nccl-tuner-csv", Out: filepath.Join(dir, "out"), Left: left, KeepSlower: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range report.Files {
		fmt.Println(f.Name, f.Algorithm, f.Protocol, f.MinBytes, f.MaxBytes)
	}
	// Output: colltune-allreduce-4r-in-nccl-tuner.conf ring LL 1024 1024
}

// RCCL runs a program only with its own tile, and only where its chunks divide the call.
func ExampleRuntime() {
	rccl, err := export.RuntimeNamed("rccl")
	if err != nil {
		fmt.Println(err)
		return
	}
	t := results.Trial{Bytes: 1024, Protocol: "LL", TileBytes: 32 << 10, LoopChunks: 12, MaxCount: 1, Granularity: 48}
	fmt.Println(rccl.Runs(&t, 4))
	// Output: its 12 chunks do not divide 256 elements
}
