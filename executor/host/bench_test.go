package host_test

import (
	"testing"

	"github.com/colltune/colltune/executor/executortest"
	"github.com/colltune/colltune/executor/host"
)

// BenchmarkStart measures a process from its start to its description.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		h, err := host.Start(b.Context(), "well", host.Options{})
		if err != nil {
			b.Fatal(err)
		}
		h.Close()
	}
}

// BenchmarkRun measures the cost of the wire: a trial that does nothing.
func BenchmarkRun(b *testing.B) {
	h := executortest.Start(b, "well", host.Options{})
	t := executortest.Trial(b, 8)
	for b.Loop() {
		if _, err := h.Run(b.Context(), t); err != nil {
			b.Fatal(err)
		}
	}
}
