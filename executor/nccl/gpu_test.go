package nccl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/data"
	"github.com/colltune/colltune/internal/units"
)

// TestEveryCollectiveOnGPU runs everything that this machine's library is described to
// do, over one GPU and over all, and writes the figures to nccl.md in the folder
// COLLTUNE_GPU_OUT (make test-gpu).
func TestEveryCollectiveOnGPU(t *testing.T) {
	if os.Getenv("COLLTUNE_GPU") == "" {
		t.Skip("COLLTUNE_GPU is not set")
	}
	p := &page{o: here(t, nil), folder: os.Getenv("COLLTUNE_GPU_OUT"), sizes: []int64{8, 1000, 100000}, timed: []int64{1 << 10, 1 << 20, 64 << 20}}
	p.deadline, _ = t.Deadline()
	p.fill(t)
}

// TestEveryCollectiveOnFakeGPU does the same with the library of testdata, so that
// errors in the test show without a GPU.
func TestEveryCollectiveOnFakeGPU(t *testing.T) {
	fakeNCCL(t, "")
	t.Setenv("FAKE_DEVICES", "1")
	p := &page{o: here(t, nil), folder: t.TempDir(), sizes: []int64{1000}, timed: []int64{1 << 10}}
	p.fill(t)
	text, err := os.ReadFile(filepath.Join(p.folder, "nccl.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"nccl 2.27.7, CUDA 12.9, 1 × FAKE GPU", " trials over 1 rank: 14 collectives", " 0 wrong elements, 0 not checked, 0 failed", "| allreduce | ", "| scatterv | "} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	// What goes wrong is on the page as well.
	t.Setenv("FAKE_FAULT", "unhandled")
	p.o.stopWorker()
	p.text.Reset()
	if failed := p.each(t.Context(), 1); failed == nil || !strings.Contains(p.text.String(), "ncclGroupEnd: error 1 (unhandled cuda error") {
		t.Errorf("failed: %v; the page:\n%s", failed, &p.text)
	}
	// And where its time is up, it says how far it came.
	t.Setenv("FAKE_FAULT", "")
	p.deadline = time.Now()
	if failed := p.each(t.Context(), 1); failed == nil || !strings.Contains(failed.Error(), "time is up after 0 trials") {
		t.Errorf("late: %v", failed)
	}
}

// page is what is seen of a library, as a page of docs/measurements has it.
type page struct {
	o        *oneHost
	folder   string    // empty: not written
	sizes    []int64   // that everything is tried at
	timed    []int64   // and that times are written down of
	deadline time.Time // of the tests; zero: none
	text     strings.Builder
}

func (p *page) say(format string, args ...any) { fmt.Fprintf(&p.text, format+"\n", args...) }

func (p *page) fill(t *testing.T) {
	defer func() {
		t.Log("\n" + p.text.String())
		if p.folder != "" {
			if err := os.WriteFile(filepath.Join(p.folder, "nccl.md"), []byte(p.text.String()), 0o644); err != nil {
				t.Error(err)
			}
		}
	}()
	d, err := p.o.Describe(t.Context())
	if err != nil {
		p.say("%v", err)
		t.Fatal(err)
	}
	p.say("%s, %s, %s\n", d.Fingerprint["library"], d.Fingerprint["driver"], d.Fingerprint["devices"])
	for _, ranks := range slices.Compact([]int{1, len(d.Devices)}) {
		if err := p.each(t.Context(), ranks); err != nil {
			t.Error(err)
		}
		if err := p.times(t.Context(), ranks); err != nil {
			t.Error(err)
		}
	}
}

// late reports whether only as much of the tests' time is left as writing the page
// takes.
func (p *page) late() bool { return !p.deadline.IsZero() && time.Until(p.deadline) < 15*time.Second }

// trial returns a trial of the algorithm that the library chooses.
func trialOf(name string, ranks int, bytes int64, dtype, op string, inPlace bool) executor.Trial {
	return executor.Trial{
		Native: &executor.Native{Algorithm: libraryChoice}, Collective: collective.Spec{Name: name, Ranks: ranks, Chunks: 1, InPlace: inPlace},
		Bytes: bytes, DType: dtype, Op: op, Iters: 2, Warmup: 1, Seed: bytes,
	}
}

// each runs every collective in every placement with every type and reduction,
// at sizes that leave parts uneven, and checks every element.
func (p *page) each(ctx context.Context, ranks int) error {
	var trials, unchecked, failed int
	var wrong int64
	var first error
	for _, name := range supported() {
		for _, inPlace := range []bool{false, true} {
			c, err := collective.New(collective.Spec{Name: name, Ranks: ranks, Chunks: 1, InPlace: inPlace})
			if err != nil {
				continue // it has no such placement
			}
			operations := []string{"sum"}
			if c.Reduces() {
				operations = data.Operations()
			}
			for _, dtype := range collective.DTypes() {
				for _, op := range operations {
					for _, bytes := range p.sizes {
						if p.late() {
							return fmt.Errorf("time is up after %d trials: %d wrong elements, %d failed, and the rest is not run", trials, wrong, failed)
						}
						trials++
						m, err := p.o.Run(ctx, trialOf(name, ranks, bytes, dtype, op, inPlace))
						if err == nil && m.Wrong != 0 {
							err = fmt.Errorf("%d wrong elements", m.Wrong)
						}
						if err != nil {
							err = fmt.Errorf("%s of %d bytes, %s %s, in place %v: %w", name, bytes, dtype, op, inPlace, err)
							p.say("%v\n", err)
							failed++
							first = errors.Join(first, err)
							if failed == 20 {
								return fmt.Errorf("20 of %d trials failed, and the rest is not run: %w", trials, first)
							}
						}
						wrong += m.Wrong
						if err == nil && !m.Checked {
							unchecked++
						}
					}
				}
			}
		}
	}
	p.say("%d trials over %s: %d collectives in their placements, %d types, every reduction, sizes of %v bytes; %d wrong elements, %d not checked, %d failed.\n",
		trials, plural(ranks, "rank"), len(supported()), len(collective.DTypes()), p.sizes, wrong, unchecked, failed)
	return first
}

// times writes the time of each collective, of f32 and out of place if it has that form.
func (p *page) times(ctx context.Context, ranks int) error {
	head, rule := "| collective |", "|---|"
	for _, bytes := range p.timed {
		head += fmt.Sprintf(" %s, us | GB/s |", units.Bytes(bytes))
		rule += "---:|---:|"
	}
	p.say("%s\n%s", head, rule)
	var all error
	for _, name := range supported() {
		row := "| " + name + " |"
		for _, bytes := range p.timed {
			if p.late() {
				row += " not run | |"
				continue
			}
			t := trialOf(name, ranks, bytes, "f32", "sum", false)
			if _, err := collective.New(t.Collective); err != nil {
				t.Collective.InPlace = true
			}
			t.Iters, t.Warmup = 20, 5
			m, err := p.o.Run(ctx, t)
			if err == nil && m.Wrong != 0 {
				err = fmt.Errorf("%d wrong elements", m.Wrong)
			}
			if err != nil {
				all = errors.Join(all, fmt.Errorf("%s of %d bytes: %w", name, bytes, err))
				row += " failed | |"
				continue
			}
			us := slices.Sorted(slices.Values(m.TimesUS))[len(m.TimesUS)/2]
			row += fmt.Sprintf(" %.2f | %.1f |", us, float64(bytes)/us/1e3)
		}
		p.say("%s", row)
	}
	p.say("")
	return all
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
