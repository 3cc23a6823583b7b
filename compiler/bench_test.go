//go:build unix

package compiler

import (
	"bytes"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/compiler/verify"
)

// large are the sizes at which the peer's figures are known, and some beyond;
// docs/measurements/compiler.md has both.
var large = []struct {
	name string
	make func() *lang.Program
	opt  Options
}{
	{"ring-allreduce-64-ranks-8-channels", func() *lang.Program { return ringAllReduce(64, 8) }, Options{}},
	{"ring-allreduce-128-ranks-8-channels", func() *lang.Program { return ringAllReduce(128, 8) }, Options{}},
	{"ring-allreduce-8-ranks-24-instances", func() *lang.Program { return ringAllReduce(8, 1) }, Options{Instances: 24}},
	{"all-pairs-allreduce-16-ranks-R²-chunks", func() *lang.Program { return allPairs(16, true) }, Options{}},
	{"all-pairs-allreduce-32-ranks-R²-chunks", func() *lang.Program { return allPairs(32, true) }, Options{}},
	{"halving-doubling-allreduce-64-ranks", func() *lang.Program { return halvingDoubling(64) }, Options{}},
	{"halving-doubling-allreduce-128-ranks", func() *lang.Program { return halvingDoubling(128) }, Options{}},
	{"two-step-alltoall-16x8", func() *lang.Program { return twoStep(16, 8) }, Options{}},
	{"two-step-alltoall-32x8", func() *lang.Program { return twoStep(32, 8) }, Options{}},
	{"two-step-alltoall-64x8", func() *lang.Program { return twoStep(64, 8) }, Options{}},
	{"two-level-allgather-256x8", func() *lang.Program { return twoLevel(256, 8, false) }, Options{}},
	{"two-level-allgather-256x8-chunk-by-chunk", func() *lang.Program { return twoLevel(256, 8, true) }, Options{}},
}

// BenchmarkCompile traces and compiles, as the peer does; BenchmarkWhole verifies
// what comes of it too. What each takes is in processor seconds, the collector's
// among them; peak-MB is the most memory the process had at any time since the
// row began.
func BenchmarkCompile(b *testing.B) { benchmark(b, false) }

func BenchmarkWhole(b *testing.B) { benchmark(b, true) }

func benchmark(b *testing.B, verified bool) {
	for _, c := range large {
		b.Run(c.name, func(b *testing.B) {
			debug.FreeOSMemory()
			forgetPeak()
			var tracing, compiling, verifying float64
			steps := 0
			for b.Loop() {
				start := processor()
				p := traced(b, c.make)
				tracing += processor() - start

				start = processor()
				res, err := Compile(p, c.opt)
				if err != nil {
					b.Fatal(err)
				}
				compiling += processor() - start
				if !verified {
					continue
				}

				start = processor()
				report := verify.Check(res.Program, verify.Options{})
				if err := report.Err(); err != nil {
					b.Fatal(err)
				}
				verifying += processor() - start
				steps = report.Steps
			}
			n := float64(b.N)
			b.ReportMetric(tracing/n, "trace-s")
			b.ReportMetric(compiling/n, "compile-s")
			if verified {
				b.ReportMetric(verifying/n, "verify-s")
				b.ReportMetric(float64(steps), "steps")
			}
			if peak := peakBytes(); peak > 0 {
				b.ReportMetric(peak/1e6, "peak-MB")
			}
		})
	}
}

// traced has the language trace a program, operation by operation.
func traced(b *testing.B, write func() *lang.Program) *lang.Program {
	var t *lang.Trace
	traceNext = func(next *lang.Trace) { t = next }
	defer func() { traceNext = nil }()
	write()
	p, err := t.Finish()
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkPasses says what each pass takes, in milliseconds.
func BenchmarkPasses(b *testing.B) {
	for _, c := range large {
		b.Run(c.name, func(b *testing.B) {
			p := c.make()
			times := map[string]float64{}
			for b.Loop() {
				res, err := Compile(p, c.opt)
				if err != nil {
					b.Fatal(err)
				}
				for _, t := range res.Times {
					times[t.Name] += 1e3 * t.Elapsed.Seconds()
				}
			}
			for _, p := range Passes() {
				b.ReportMetric(times[p.Name]/float64(b.N), string(bytes.ReplaceAll([]byte(p.Name), []byte(" "), []byte("-")))+"-ms")
			}
		})
	}
}

// processor returns the processor time this process has used, in seconds.
func processor() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// forgetPeak has Linux begin to look for the peak anew.
func forgetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// peakBytes returns the peak of the process's memory, 0 where nobody says.
func peakBytes() float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == "VmHWM:" {
			if kib, err := strconv.Atoi(string(fields[1])); err == nil {
				return 1024 * float64(kib)
			}
		}
	}
	return 0
}
