package executor_test

import (
	"testing"

	"github.com/colltune/colltune/executor"
)

// BenchmarkStart is a process from its start to its description.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		h, err := executor.Start(b.Context(), "well", executor.HostOptions{})
		if err != nil {
			b.Fatal(err)
		}
		h.Close()
	}
}

// BenchmarkRun is a trial that costs nothing itself: what the wire adds.
func BenchmarkRun(b *testing.B) {
	h := start(b, "well", executor.HostOptions{})
	t := trial(b, 8)
	for b.Loop() {
		if _, err := h.Run(b.Context(), t); err != nil {
			b.Fatal(err)
		}
	}
}
