package synth

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"testing"
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
		var k knownRouting
		if err := json.Unmarshal(text, &k); err != nil {
			t.Fatal(name, err)
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
