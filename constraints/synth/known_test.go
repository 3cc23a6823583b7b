package synth

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/internal/units"
)

// Every built-in known routing has the chunks, steps and rounds in its name, replays on
// its system, and compiles.
func TestBuiltinRoutings(t *testing.T) {
	s := open(t, "pb")
	names, err := fs.Glob(builtin, "known/*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		text, err := builtin.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		k, err := ParseKnown(name, text)
		if err != nil {
			t.Error(err)
			continue
		}
		steps, rounds := len(k.Schedule), 0
		for _, step := range k.Schedule {
			rounds += step.Rounds
		}
		if want := fmt.Sprintf("known/%s-%dr-%dc-%ds-%dr.json", k.Collective, k.Ranks, k.Chunks, steps, rounds); name != want {
			t.Errorf("%s holds what %s is for", name, want)
		}
		a := ask(t, s, resolve(t, k.Topology, 0), row{k.Collective, k.Chunks, steps, rounds, sat})
		if a.By != Known || a.Detail != name {
			t.Errorf("%s: answered by %s (%s)", name, a.By, a.Detail)
		}
	}
}

// ofTwo is the file of an allgather between two ranks.
const ofTwo = `{
  "schema": "colltune.synth/v1", "topology": "ring:2", "collective": "allgather",
  "ranks": 2, "status": "sat", "by": "pb", "chunks": 1, "steps": 1, "rounds": 1,
  "schedule": [
    {"rounds": 1, "sends": [
      {"source": 0, "chunk": 0, "from": 0, "to": 1},
      {"source": 1, "chunk": 0, "from": 1, "to": 0, "reduce": false}
    ]}
  ]
}
`

// A known routing answers its own query, and no other.
func TestKnownRoutingIsReplayed(t *testing.T) {
	s := open(t, "pb")
	k, err := ParseKnown("two.json", []byte(ofTwo))
	if err != nil {
		t.Fatal(err)
	}
	unsent := k
	unsent.Schedule = Schedule{{Rounds: 1, Sends: k.Schedule[0].Sends[:1]}}
	other := k
	other.Items = []Item{{0, 0}, {1, 7}}
	top := resolve(t, "ring:2", 0)
	for _, w := range []struct {
		what   string
		known  []KnownRouting
		name   string
		chunks int
		unit   units.Bandwidth
		rounds int
		by     string
	}{
		{"as it is", []KnownRouting{k}, "allgather", 1, 0, 1, Known},
		{"in more rounds", []KnownRouting{k}, "allgather", 1, 0, 2, Known},
		{"after others that are none", []KnownRouting{unsent, other, k}, "allgather", 1, 0, 1, Known},
		{"with a send left out", []KnownRouting{unsent}, "allgather", 1, 0, 1, "pb"},
		{"of a chunk that there is not", []KnownRouting{other}, "allgather", 1, 0, 1, "pb"},
		{"of another collective", []KnownRouting{k}, "alltoall", 2, 0, 1, Bound},
		{"of fewer chunks", []KnownRouting{k}, "allgather", 2, 0, 2, "pb"},
		{"over links slower than the unit", []KnownRouting{k}, "allgather", 1, 1e15, 1, Bound},
	} {
		each, err := ChunksOf(w.name, 2, w.chunks)
		if err != nil {
			t.Fatal(err)
		}
		c, err := collective.New(collective.Spec{Name: w.name, Ranks: 2, Chunks: each})
		if err != nil {
			t.Fatal(err)
		}
		a, err := Find(context.Background(), s, Query{Topology: top, Collective: c, Steps: 1, Rounds: w.rounds, Unit: w.unit, Known: w.known})
		if err != nil || (a.By == Known) != (w.by == Known) {
			t.Errorf("%s: %v by %s (%s), %v; want it by %s", w.what, a.Status, a.By, a.Detail, err, w.by)
		}
	}
}

// An error in a file names the line and the key.
func TestDamagedKnownRoutings(t *testing.T) {
	for _, w := range []struct{ from, to, want string }{
		{"colltune.synth/v1", "colltune.synth/v2", `k.json:2: schema: "colltune.synth/v2": want colltune.synth/v1`},
		{`"sat"`, `"unsat"`, `k.json:3: status: "unsat": want sat`},
		{`"ring:2"`, `7`, `k.json:2: topology: 7: want a string`},
		{`"ranks": 2`, `"ranks": 257`, `k.json:3: ranks: 257: want a whole number from 2 to 256`},
		{`"ranks": 2`, `"ranks": 2.5`, `k.json:3: ranks: 2.5: want a whole number`},
		{`"ranks": 2`, `"ranks": "2"`, `k.json:3: ranks: "2": want a whole number`},
		{`"ranks": 2`, `"ranks": 1e400`, `k.json:3: ranks: 1e400: want a whole number`},
		{`"ranks": 2`, `"ranks": null`, `k.json:3: ranks: null: want a whole number`},
		{`"ranks": 2`, `"links": 2`, `k.json:3: unknown key "links": want schema, topology`},
		{`"ranks": 2`, `"rounds": 2`, `k.json:3: rounds: a second time`},
		{`"ranks": 2, `, ``, `k.json:4: schedule: comes before ranks`},
		{`"by": "pb"`, `"by": [[["pb"]]]`, `k.json:3: by: want a number or a string`},
		{`"by": "pb", "chunks": 1`, `"by": "pb"`, `k.json:10: no key "chunks"`},
		{`"steps": 1`, `"steps": 0`, `k.json:3: steps: 0: want a whole number from 1`},
		{`{"rounds": 1, "sends": [`, `{"rounds": 1, "sends": []}, {"rounds": 1, "sends": [`, `k.json:5: schedule[1]: more than 1 step`},
		{`{"rounds": 1, "sends": [`, `{"rounds": 2, "sends": [`, `k.json:5: schedule[0].rounds: 2: want a whole number from 1 to 1`},
		{`{"rounds": 1, "sends": [`, `{"sends": [`, `k.json:8: schedule[0]: no key "rounds"`},
		{`"source": 1`, `"source": 2`, `k.json:7: schedule[0].sends[1].source: 2: want a whole number from -1 to 1`},
		{`"source": 1`, `"source": -2`, `k.json:7: schedule[0].sends[1].source: -2: want`},
		{`"from": 1`, `"from": 2`, `k.json:7: schedule[0].sends[1].from: 2: want a whole number from 0 to 1`},
		{`"to": 0`, `"to": -1`, `k.json:7: schedule[0].sends[1].to: -1: want`},
		{`"reduce": false`, `"reduce": 0`, `k.json:7: schedule[0].sends[1].reduce: 0: want true or false`},
		{`"from": 0, "to": 1}`, `"from": 0}`, `k.json:6: schedule[0].sends[0]: no key "to"`},
		{`"schedule": [`, `"schedule": {`, `k.json:4: schedule: {: want [`},
		{`"sends": [`, `"sends": [7, `, `k.json:5: schedule[0].sends[0]: 7: want {`},
		{`"chunk": 0, "from": 1`, `"chunk": 0 "from": 1`, `k.json:7: schedule[0].sends[1]`},
		{"  ]\n}\n", "  ]\n", `k.json:9: the file ends here`},
		{"  ]\n}\n", "  ]\n}\n[]\n", `k.json:11: more text after the answer`},
		{ofTwo, "", `k.json:1: the file ends here`},
		{ofTwo, "routing", `k.json:1: no JSON`},
	} {
		text := strings.Replace(ofTwo, w.from, w.to, 1)
		if text == ofTwo {
			t.Fatalf("%q is not there", w.from)
		}
		if _, err := ParseKnown("k.json", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), w.want) {
			t.Errorf("%q for %q: %v; want %s", w.to, w.from, err, w.want)
		}
	}
}

// Every error of the reader names the file, and everything it accepts can be replayed.
func FuzzParseKnown(f *testing.F) {
	f.Add([]byte(ofTwo))
	f.Add([]byte(ofTwo[:len(ofTwo)/2]))
	f.Add([]byte(`{"schedule": [[[[`))
	f.Add([]byte(`{"schema": "colltune.synth/v1", "ranks": 1e9}`))
	names, _ := fs.Glob(builtin, "known/*")
	for _, name := range names {
		if text, err := builtin.ReadFile(name); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := ParseKnown("k.json", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "k.json:") || len(err.Error()) > 1000 {
				t.Fatal(err)
			}
			return
		}
		rounds := 0
		for _, step := range k.Schedule {
			rounds += step.Rounds
			for _, m := range step.Sends {
				if m.Item >= len(k.Items) || m.From < 0 || m.From >= k.Ranks || m.To < 0 || m.To >= k.Ranks || k.Items[m.Item].Source >= k.Ranks {
					t.Fatalf("%+v of %d ranks was let through", m, k.Ranks)
				}
			}
		}
		if k.Ranks > 16 || k.Chunks > 16 {
			return
		}
		top := system(k.Ranks, 0, map[[2]int]int{{0, 1}: 1, {1, 0}: 1})
		c, err := collective.New(collective.Spec{Name: k.Collective, Ranks: k.Ranks, Chunks: k.Chunks})
		if err != nil {
			return
		}
		_ = Replay(Query{Topology: top, Collective: c, Steps: len(k.Schedule), Rounds: rounds}, gb, k.Items, k.Schedule)
	})
}
