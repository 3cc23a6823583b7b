package topologies

import (
	"bytes"
	"cmp"
	"math"
	"strings"
	"testing"

	"github.com/colltune/colltune/internal/units"
)

// TestRewriteCatalogue: every entry can be given other numbers, reads back with
// them, and keeps its other lines.
func TestRewriteCatalogue(t *testing.T) {
	const launch, speed, times = 1.3, 1.1, 0.9
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			text, _ := Source(name)
			before, err := Read(name, text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			links := map[LinkKind]float64{}
			for _, k := range before.Kinds() {
				links[k] = times
			}
			out, err := Rewrite(name, text, Calibration{Launch: launch, Speed: speed, Links: links}, "m.txt")
			if err != nil {
				t.Fatal(err)
			}
			after, err := Read(name, out, Options{})
			if err != nil {
				t.Fatal(err)
			}
			near := func(what string, got, want, tolerance float64) {
				if math.Abs(got-want) > tolerance*math.Abs(want)+1e-9 {
					t.Errorf("%s is %g, want %g", what, got, want)
				}
			}
			for i, e := range before.Edges {
				near("a bandwidth", float64(after.Edges[i].Bandwidth), float64(e.Bandwidth)*times, 1e-4)
				if inside := e.Kind != Net; inside && after.Edges[i].Counted != cmp.Or(e.Counted, e.Bandwidth) {
					t.Errorf("counted as %v, where it was %v", after.Edges[i].Counted, cmp.Or(e.Counted, e.Bandwidth))
				}
			}
			for _, p := range before.HasProtocols() {
				a, b := after.Protocols[p], before.Protocols[p]
				near("launch", float64(a.Launch), float64(b.Launch)+launch, 1e-3)
				near("send_pass", float64(a.SendPass), float64(b.SendPass)/speed, 1e-3)
				near("recv_pass", float64(a.RecvPass), float64(b.RecvPass)/speed, 1e-3)
				near("send_rate", float64(a.SendRate), float64(b.SendRate)*speed, 1e-3)
				near("recv_rate", float64(a.RecvRate), float64(b.RecvRate)*speed, 1e-3)
				near("latency", float64(a.Latency), float64(b.Latency), 0)
			}
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "#") && !bytes.Contains(out, []byte(line)) {
					t.Errorf("lost %s", line)
				}
			}
			same, err := Rewrite(name, text, Calibration{}, "m.txt")
			if err != nil || !bytes.Equal(same, text) {
				t.Errorf("nothing to change, and it is another file (%v)", err)
			}
		})
	}
}

const rewritten = `name    = "pair" # a comment
nodes   = 1
runtime = "nccl"
arch    = "ampere"

[node]
gpus   = 2
sms    = 8
source = "me"

[[node.link]] # [a heading's comment]
pairs     = [
  [0, 1],
]
kind      = "nvlink"
bandwidth = "100 GB/s"
latency   = "1 us"
source    = %s

[protocol]
like   = "dgx-a100"
source = "not measured"
`

// TestRewrite looks for the changed lines and for those that must stay, and rewrites the
// result again.
func TestRewrite(t *testing.T) {
	c := Calibration{Launch: 2, Links: map[LinkKind]float64{NVLink: 0.5}}
	text := strings.Replace(rewritten, "%s", `"data sheet"`, 1)
	out, err := Rewrite("pair.toml", []byte(text), c, `a"b.txt`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"bandwidth = \"50 GB/s\"\n", `source    = "data sheet; bandwidth fitted to a_b.txt, 100 GB/s before"`,
		"[protocol.LL]\nlaunch = \"11.2 us\"\n", "[protocol.LL128]\nlaunch = \"17 us\"\n", "# a comment", "[[node.link]] # [a heading's comment]",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	// What is fitted can be fitted again.
	again, err := Rewrite("pair.toml", out, Calibration{Launch: -1}, "c.txt")
	if err != nil {
		t.Fatal(err)
	}
	top, err := Read("pair.toml", again, Options{})
	if err != nil || top.Protocols[LL].Launch != 10.2 || top.Edges[0].Bandwidth != units.Bandwidth(50e9) {
		t.Errorf("%v, %v", top, err)
	}

	// What was inferred is so no longer.
	guessed := strings.Replace(rewritten, "source    = %s", "[node.link.source]\nbandwidth = \"inferred: as others\"\nlatency = \"inferred: as others\"", 1)
	out, err = Rewrite("pair.toml", []byte(guessed), c, "m.txt")
	if err != nil || !strings.Contains(string(out), "bandwidth = \"fitted to m.txt, 100 GB/s before\"\nlatency = \"inferred: as others\"\n") {
		t.Errorf("%v\n%s", err, out)
	}

	for _, c := range []struct{ name, text, want string }{
		{"inline source", strings.Replace(rewritten, "%s", `{ others = "data sheet" }`, 1), "pair.toml:11: the source of bandwidth is not written in a line, nor as [node.link.source]"},
		{"escaped source", strings.Replace(rewritten, "source    = %s", "[node.link.source]\nothers = \"me\"\nbandwidth = \"a \\\"data\\\" sheet\"", 1), "pair.toml:20: the source of bandwidth is not a text in double quotes without escapes"},
		{"inline table", "node.gpus = 2\n" + text, "pair.toml"},
		{"no topology", "name = 1", "pair.toml"},
	} {
		if _, err := Rewrite("pair.toml", []byte(c.text), Calibration{Links: map[LinkKind]float64{NVLink: 0.5}}, "m.txt"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	single := strings.Replace(text, `bandwidth = "100 GB/s"`, `bandwidth = '100 GB/s'`, 1)
	if _, err := Rewrite("pair.toml", []byte(single), c, "m.txt"); err == nil || !strings.Contains(err.Error(), "change them by hand") {
		t.Errorf("a number in other quotes: %v", err)
	}
}

// The numbers of any text are changed as requested, or the error says that they were
// not.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(strings.Replace(rewritten, "%s", `"data sheet"`, 1)))
	f.Fuzz(func(t *testing.T, text []byte) {
		before, err := Read("x.toml", text, Options{})
		if err != nil || len(before.Edges) > 1<<12 {
			return
		}
		c := Calibration{Launch: 1, Links: map[LinkKind]float64{}}
		for _, k := range before.Kinds() {
			c.Links[k] = 0.5
		}
		out, err := Rewrite("x.toml", text, c, "m")
		if err != nil {
			return
		}
		after, err := Read("x.toml", out, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range before.Edges {
			if got, want := float64(after.Edges[i].Bandwidth), float64(e.Bandwidth)/2; math.Abs(got-want) > 1+1e-3*want {
				t.Errorf("%g, not %g", got, want)
			}
		}
	})
}
