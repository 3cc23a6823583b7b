package results

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/ir/irtest"
)

// TestMain lets the test binary be the process that holds a campaign and is
// killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("COLLTUNE_TEST_HOLD"); dir != "" {
		os.Exit(hold(dir))
	}
	os.Exit(m.Run())
}

// hold opens a campaign, starts a child that outlives it, says so and waits to
// be killed.
func hold(dir string) int {
	if _, err := Open(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	child := exec.Command("sleep", "20")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("held", child.Process.Pid)
	time.Sleep(20 * time.Second)
	return 0
}

// testPlan is a small plan: allreduce over four ranks.
func testPlan(sizes ...int64) Plan {
	if len(sizes) == 0 {
		sizes = []int64{1024, 2048, 4096, 8192}
	}
	return Plan{
		Version:  "0.1.0",
		Topology: Topology{Name: "ring:4", Nodes: 1, Ranks: 4, Hash: fmt.Sprintf("%064x", 7), Text: "name = \"ring:4\"\n\n[node]\ngpus = 4\n"},
		Call:     collective.Call{Collective: "allreduce", Op: "sum", DType: "f32"}, Placement: "in",
		Sizes: sizes, Iters: 20, Warmup: 5, Seed: 1, Executor: "fake",
		Flags: []Flag{{"family", "ring,allpairs"}},
	}
}

var testExecutor = Executor{Name: "fake", Version: "1", Deterministic: true, Fingerprint: map[string]string{"model": "1"}}

// testRing is a ring allreduce; scratch tells programs apart.
func testRing(ranks, instances, scratch int, inPlace bool) *ir.Program {
	return irtest.Ring(ranks, instances, scratch, inPlace)
}

// newCampaign makes a campaign with an executor named.
func newCampaign(t testing.TB, p Plan) *Campaign {
	t.Helper()
	c, err := Create(t.TempDir(), p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.SetExecutor(testExecutor); err != nil {
		t.Fatal(err)
	}
	return c
}

// testTrial is an ok trial of a ring.
func testTrial(t testing.TB, c *Campaign, p *ir.Program, name, protocol string, tile, bytes int64, us ...float64) Trial {
	t.Helper()
	hash := p.Hash()
	if err := c.SaveProgram(hash, p); err != nil {
		t.Fatal(err)
	}
	col, err := collective.New(p.Collective)
	if err != nil {
		t.Fatal(err)
	}
	placement := "out"
	if p.Collective.InPlace {
		placement = "in"
	}
	trial := Trial{
		Bytes: bytes, Placement: placement, Algorithm: name, Source: "template",
		Parameters: map[string]any{"scratch": p.GPUs[0].Scratch}, Channels: p.Channels(), Instances: p.Channels(),
		Protocol: protocol, TileBytes: tile, Program: hash, LoopChunks: col.LoopChunks(), MaxCount: 1, Granularity: int64(col.LoopChunks()) * 4,
		Threadblocks: p.MaxThreadblocks(), Steps: p.MaxSteps(), Fingerprint: testExecutor.Hash(),
		Outcome: OK, TimesUS: us, Data: Checked, Seconds: 0.25,
	}
	return keyed(c, trial)
}

// keyed is a trial under the key that it has in a campaign.
func keyed(c *Campaign, t Trial) Trial {
	t.Key = c.plan.Key(&t).Hash()
	return t
}

// appendAll journals trials under the keys that they have in the campaign.
func appendAll(t testing.TB, c *Campaign, trials ...Trial) {
	t.Helper()
	for i := range trials {
		trials[i] = keyed(c, trials[i])
	}
	if err := c.Append(trials...); err != nil {
		t.Fatal(err)
	}
}
