package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/internal/atomicfile"
	"github.com/google/go-cmp/cmp"
)

func TestCreateGoesOnWithTheSamePlan(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "campaign")
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.SetExecutor(testExecutor); err != nil {
		t.Fatal(err)
	}
	trial := testTrial(t, c, testRing(4, 2, 0, true), "ring", "Simple", 2<<20, 1024, 3, 1, 2)
	appendAll(t, c, trial)
	c.Close()

	newer := testPlan()
	newer.Version = "0.2.0"
	c, err = Create(dir, newer)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, known := c.Lookup(trial.Key)
	want := trial
	want.Parameters = map[string]any{"scratch": 0.0} // as JSON gives a number back
	if diff := cmp.Diff(want, got); !known || diff != "" {
		t.Errorf("the trial came back as (-want +got)\n%s", diff)
	}
	if c.Plan().Version != "0.1.0" {
		t.Errorf("plan's version is %s, want the one that made the campaign", c.Plan().Version)
	}
	p, err := c.Program(trial.Program)
	if err != nil {
		t.Fatal(err)
	}
	if p.Hash() != testRing(4, 2, 0, true).Hash() {
		t.Error("the program came back changed")
	}
}

func TestCreateRefusesAnotherPlan(t *testing.T) {
	dir := t.TempDir()
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	p := testRing(4, 1, 0, true)
	if err := c.SaveProgram(p.Hash(), p); err != nil {
		t.Fatal(err)
	}
	c.Close()
	before, _ := os.ReadFile(filepath.Join(dir, planFile))
	asked := testPlan()
	asked.Seed, asked.Collective = 2, "reduce"
	_, err = Create(dir, asked)
	var other *OtherPlanError
	if !errors.As(err, &other) {
		t.Fatalf("%v, want an OtherPlanError", err)
	}
	if diff := cmp.Diff([]string{"collective: allreduce there, reduce asked for", "seed: 1 there, 2 asked for"}, other.Diff); diff != "" {
		t.Error(diff)
	}
	if after, _ := os.ReadFile(filepath.Join(dir, planFile)); string(after) != string(before) {
		t.Error("the plan was overwritten")
	}
	// The refusal has let go of the lock.
	if c, err = Create(dir, testPlan()); err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestCreateRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "thesis.tex"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := testPlan()
	wrong.Placement = "sideways"
	for _, c := range []struct {
		name, dir string
		plan      Plan
		want      string
	}{
		{"a file", file, testPlan(), "not a directory"},
		{"under a file", filepath.Join(file, "x"), testPlan(), "not a directory"},
		{"another's folder", foreign, testPlan(), "holds thesis.tex and no campaign.toml"},
		{"impossible plan", t.TempDir(), wrong, `placement "sideways"`},
	} {
		if _, err := Create(c.dir, c.plan); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if entries, _ := os.ReadDir(foreign); len(entries) != 1 {
		t.Error("another's folder was written to")
	}
	for _, open := range []func(string) (*Campaign, error){Open, OpenReadOnly} {
		if _, err := open(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v, want that there is no campaign", err)
		}
	}
}

// A run killed before its plan was whole leaves a folder that the next can use.
func TestCreateAfterAnEarlyKill(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{lockFile, ".campaign.toml123"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("proc"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Create(dir, testPlan())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestCloseTwice(t *testing.T) {
	c := newCampaign(t, testPlan())
	reader, err := OpenReadOnly(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	for _, open := range []*Campaign{reader, reader, c, c} {
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoWriters(t *testing.T) {
	c := newCampaign(t, testPlan())
	for _, open := range []func() (*Campaign, error){
		func() (*Campaign, error) { return Open(c.Dir()) },
		func() (*Campaign, error) { return Create(c.Dir(), testPlan()) },
	} {
		_, err := open()
		var locked *LockedError
		if !errors.As(err, &locked) {
			t.Fatalf("%v, want a LockedError", err)
		}
		if want := "process " + strconv.Itoa(os.Getpid()); !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to name %s", err, want)
		}
	}
	r, err := OpenReadOnly(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.SetExecutor(Executor{Name: "other"}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v, want ErrReadOnly", err)
	}
	if err := r.SaveProgram(fmt.Sprintf("%064x", 1), testRing(4, 1, 0, true)); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v, want ErrReadOnly", err)
	}
}

// A holder that is killed leaves the lock to the next, and so does a child that
// it leaves behind.
func TestLockIsFreeAfterKill(t *testing.T) {
	c := newCampaign(t, testPlan())
	c.Close()
	holder := exec.Command(os.Args[0])
	holder.Env = append(os.Environ(), "COLLTUNE_TEST_HOLD="+c.Dir())
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "held ")))
	if err != nil {
		t.Fatalf("holder said %q", line)
	}
	defer syscall.Kill(child, syscall.SIGKILL)

	_, err = Open(c.Dir())
	if want := fmt.Sprintf("process %d", holder.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want it to name %s", err, want)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait()
	if err := syscall.Kill(child, 0); err != nil {
		t.Fatalf("the child is gone: %v", err)
	}
	again, err := Open(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// Trials of another fingerprint stay, and are not the table's.
func TestFingerprintsDoNotMix(t *testing.T) {
	c := newCampaign(t, testPlan())
	appendAll(t, c, testTrial(t, c, testRing(4, 1, 0, true), "ring", "LL", 32768, 1024, 3))
	other := testExecutor
	other.Fingerprint = map[string]string{"model": "2"}
	before, err := c.SetExecutor(other)
	if err != nil {
		t.Fatal(err)
	}
	if before == nil || before.Fingerprint["model"] != "1" {
		t.Errorf("the executor before is %v, want the first", before)
	}
	if n := len(c.Trials()); n != 0 {
		t.Errorf("%d trials of the other fingerprint, want none", n)
	}
	if before, err = c.SetExecutor(other); before != nil || err != nil {
		t.Errorf("%v, %v, want no change", before, err)
	}
	if _, err := c.SetExecutor(testExecutor); err != nil {
		t.Fatal(err)
	}
	if n := len(c.Trials()); n != 1 {
		t.Errorf("%d trials of the first fingerprint again, want 1", n)
	}
}

// A program that was changed on disk is not what its name says.
func TestChangedProgramIsFound(t *testing.T) {
	c := newCampaign(t, testPlan())
	a, b := testRing(4, 1, 0, true), testRing(4, 1, 1, true)
	if err := c.SaveProgram(a.Hash(), a); err != nil {
		t.Fatal(err)
	}
	var other bytes.Buffer
	if err := ir.Encode(&other, b); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(filepath.Join(c.Dir(), programsDir, a.Hash()+".json"), other.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Program(a.Hash()); err == nil || !strings.Contains(err.Error(), "the file was changed") {
		t.Errorf("%v, want that the file was changed", err)
	}
	if _, err := c.Program("../campaign"); err == nil || !strings.Contains(err.Error(), "64 hexadecimal") {
		t.Errorf("%v, want that this is no hash", err)
	}
	if _, err := c.Program(b.Hash()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want that it is not there", err)
	}
}

// Every part of a key makes a key of its own.
func TestKeyCoversEverything(t *testing.T) {
	base := Key{Program: "p", Bytes: 1, DType: "f32", Op: "sum", Placement: "in", Protocol: "LL", TileBytes: 2, Iters: 3, Warmup: 4, Seed: 5, Fingerprint: "f", Topology: "t"}
	seen := map[string]string{base.Hash(): "base"}
	for _, c := range []struct {
		name   string
		change func(*Key)
	}{
		{"program", func(k *Key) { k.Program = "q" }},
		{"bytes", func(k *Key) { k.Bytes = 9 }},
		{"dtype", func(k *Key) { k.DType = "f16" }},
		{"op", func(k *Key) { k.Op = "max" }},
		{"placement", func(k *Key) { k.Placement = "out" }},
		{"protocol", func(k *Key) { k.Protocol = "LL128" }},
		{"tile", func(k *Key) { k.TileBytes = 9 }},
		{"iters", func(k *Key) { k.Iters = 9 }},
		{"warmup", func(k *Key) { k.Warmup = 9 }},
		{"seed", func(k *Key) { k.Seed = 9 }},
		{"repeat", func(k *Key) { k.Repeat = 9 }},
		{"fingerprint", func(k *Key) { k.Fingerprint = "g" }},
		{"topology", func(k *Key) { k.Topology = "u" }},
		{"a letter moved", func(k *Key) { k.DType, k.Op = "f32s", "um" }},
	} {
		k := base
		c.change(&k)
		if other, twice := seen[k.Hash()]; twice {
			t.Errorf("%s has the key of %s", c.name, other)
		}
		seen[k.Hash()] = c.name
	}
}

// What a killed holder had begun to start keeps the lock for a moment: that is
// waited for, and a holder that lives is not.
func TestLockOfADeadHolder(t *testing.T) {
	defer func(d time.Duration) { forkGrace = d }(forkGrace)
	forkGrace = time.Minute // it has all the time that a busy machine takes
	c := newCampaign(t, testPlan())
	c.Close()
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.OpenRoot(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	held, err := lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("process %d on %s\n", ended.Process.Pid, host)
	if err := os.WriteFile(filepath.Join(c.Dir(), "lock"), []byte(line), 0o644); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error)
	go func() {
		again, err := Open(c.Dir())
		if err == nil {
			again.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("%v while the lock is held", err)
	case <-time.After(50 * time.Millisecond):
	}
	held.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// TestGone tells a holder of a lock that has ended from one that goes on, or that
// nobody here can know of.
func TestGone(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Skip(err)
	}
	for holder, want := range map[string]bool{
		fmt.Sprintf("process %d on %s", ended.Process.Pid, host):     true,
		fmt.Sprintf("process %d on %s", os.Getpid(), host):           false,
		fmt.Sprintf("process %d on %s.not", ended.Process.Pid, host): false,
		fmt.Sprintf("process %d on %s", -ended.Process.Pid, host):    false,
		fmt.Sprintf("process %d, here", ended.Process.Pid):           false,
		"another process": false,
	} {
		if hasExited(holder) != want {
			t.Errorf("%s: gone %t, want %t", holder, !want, want)
		}
	}
}

// TestKeepOutput keeps what an executor printed where the campaign is written to,
// once for each attempt.
func TestKeepOutput(t *testing.T) {
	c := newCampaign(t, testPlan(1<<10))
	key := strings.Repeat("0123456789abcdef", 4)
	name, err := c.KeepOutput(key, 1, "out of order\n")
	if want := "output/0123456789abcdef-2.txt"; err != nil || name != want {
		t.Fatalf("%q, %v; want %s", name, err, want)
	}
	if text, err := os.ReadFile(filepath.Join(c.Dir(), name)); err != nil || string(text) != "out of order\n" {
		t.Errorf("%q, %v", text, err)
	}
	for _, nothing := range []struct{ key, text string }{{key, ""}, {"../../x", "text"}} {
		if name, err := c.KeepOutput(nothing.key, 0, nothing.text); err != nil || name != "" {
			t.Errorf("%+v: %q, %v; want nothing kept", nothing, name, err)
		}
	}
	reader, err := OpenReadOnly(c.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := reader.KeepOutput(key, 0, "text"); !errors.Is(err, ErrReadOnly) {
		t.Errorf("%v: want that it is only read", err)
	}
}
