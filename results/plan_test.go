package results

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPlanFileRoundTrip(t *testing.T) {
	word := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "plain", "a b", "it's", "'''", "x''", "tail'", "a\nb\n", "\n", "a\r\nb", "tab\tend\n", "nul\x00\n", "del\x7f\n", `back\slash`, `"quoted"`, "\u2028\n", "\ufeff"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		p := testPlan(rapid.SliceOfN(rapid.Int64Range(1, 1<<40), 1, 5).Draw(t, "sizes")...)
		p.Version, p.Op, p.Executor = word.Draw(t, "version"), word.Draw(t, "op"), word.Draw(t, "executor")
		p.Seed, p.Iters = rapid.Int64().Draw(t, "seed"), rapid.IntRange(0, 1<<30).Draw(t, "iters")
		p.Topology.Name, p.Topology.Text = word.Draw(t, "topology"), word.Draw(t, "text")
		p.Flags = nil
		for range rapid.IntRange(0, 3).Draw(t, "flags") {
			p.Flags = append(p.Flags, Flag{word.Draw(t, "flag"), word.Draw(t, "value")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "files") {
			p.Files = append(p.Files, File{word.Draw(t, "kind"), word.Draw(t, "name"), word.Draw(t, "content")})
		}
		text := string(p.encode())
		back, err := decodePlan(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if diff := cmp.Diff(p.normal(), back); diff != "" {
			t.Fatalf("%s\nin %s", diff, text)
		}
		if d := p.Diff(back); d != nil {
			t.Fatalf("a plan differs from itself read back: %v", d)
		}
		if again := string(back.encode()); again != text {
			t.Fatalf("written again as\n%s\nnot\n%s", again, text)
		}
	})
}

func TestPlanDiff(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Plan)
		want   string // "": no difference
	}{
		{"same", func(*Plan) {}, ""},
		{"version", func(p *Plan) { p.Version = "9" }, ""},
		{"order of sizes", func(p *Plan) { p.Sizes = []int64{8192, 4096, 2048, 1024} }, ""},
		{"order of flags", func(p *Plan) { p.Flags = []Flag{{"family", "ring,allpairs"}} }, ""},
		{"topology", func(p *Plan) { p.Topology.Name = "dgx-1" }, "topology: ring:4 there, dgx-1 asked for"},
		{"graph", func(p *Plan) { p.Topology.Hash = "abc" }, "topology's graph: 000000000000 there, abc asked for"},
		{"text", func(p *Plan) { p.Topology.Text = strings.Replace(p.Topology.Text, "4\n", "5\n", 1) }, "topology's text: line 4: gpus = 4 there, gpus = 5 asked for"},
		{"collective", func(p *Plan) { p.Collective = "reduce" }, "collective: allreduce there, reduce asked for"},
		{"sizes", func(p *Plan) { p.Sizes = p.Sizes[:2] }, "sizes: 1K 2K 4K 8K there, 1K 2K asked for"},
		{"seed", func(p *Plan) { p.Seed = 2 }, "seed: 1 there, 2 asked for"},
		{"flag", func(p *Plan) { p.Flags[0].Value = "ring" }, "--family: ring,allpairs there, ring asked for"},
		{"flag gone", func(p *Plan) { p.Flags = nil }, "--family: ring,allpairs there, none asked for"},
		{"file", func(p *Plan) { p.Files = []File{{"template", "a.star", "x"}} }, "template a.star: none there, one asked for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := testPlan()
			c.change(&asked)
			diff := testPlan().Diff(asked)
			if c.want == "" {
				if diff != nil {
					t.Errorf("differs: %v", diff)
				}
				return
			}
			if len(diff) != 1 || diff[0] != c.want {
				t.Errorf("%q, want %q", diff, c.want)
			}
		})
	}
}

func TestPlanCommand(t *testing.T) {
	p := testPlan(1<<30, 1024)
	p.Topology.Nodes = 2
	p.Flags = []Flag{{"template", "my ring.star"}, {"family", "ring"}}
	want := "colltune search -t ring:4 -c allreduce --nodes 2 -b 1K -e 1G -f 1048576 --op sum --dtype f32 --placement in --iters 20 --warmup-iters 5 --seed 1 --executor fake --family ring --template 'my ring.star'"
	if got := p.Command(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestPlanRefused(t *testing.T) {
	good := string(testPlan().encode())
	for _, c := range []struct{ name, old, new, want string }{
		{"syntax", "seed = 1", "seed = ", "line 13: "},
		{"schema", PlanSchema, "colltune.campaign/v9", `schema "colltune.campaign/v9": want "colltune.campaign/v1"`},
		{"unknown key", "seed = 1", "sede = 1", `line 13: unknown key "sede" (did you mean seed?): want one of schema, version, command, collective`},
		{"unknown key of a table", "nodes = 1", "nods = 1\nname2.x = 1", `line 18: unknown key "topology.nods" (did you mean nodes?): want one of name, nodes, ranks, hash, text`},
		{"unknown table", "[topology]", "[topologie]\nx = 1\n[topology]", `line 16: unknown`},
		{"unknown key behind a text", "seed = 1", "command2 = '''\nsede = 1\n'''\nseed = 1", `line 13: unknown key "command2" (did you mean command?)`},
		{"collective", "\"allreduce\"", "\"allreduse\"", `unknown collective "allreduse"`},
		{"dtype", "\"f32\"", "\"f33\"", `unknown dtype "f33"`},
		{"placement", "placement = \"in\"", "placement = \"up\"", `placement "up": want in, out or both`},
		{"no sizes", "[1024, 2048, 4096, 8192]", "[]", "no sizes"},
		{"size", "[1024, ", "[-1024, ", "size -1024: want at least 1"},
		{"ranks", "ranks = 4", "ranks = 0", "allreduce over 0 ranks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(good, c.old, c.new, 1)
			if text == good {
				t.Fatalf("%q is not in the file", c.old)
			}
			_, err := decodePlan(text)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func FuzzDecodePlan(f *testing.F) {
	f.Add(string(testPlan().encode()))
	f.Add("schema = 1")
	f.Add("[[file]]\n[[file]]")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := decodePlan(text)
		if err != nil {
			return
		}
		back, err := decodePlan(string(p.encode()))
		if err != nil {
			t.Fatalf("%v in what was written of\n%s", err, text)
		}
		if diff := cmp.Diff(p.normal(), back); diff != "" {
			t.Fatal(diff)
		}
	})
}

// decodePlan reads a plan that a search could have written.
func decodePlan(text string) (Plan, error) {
	p, err := parsePlan(text)
	if err != nil {
		return Plan{}, err
	}
	return p, p.check()
}
