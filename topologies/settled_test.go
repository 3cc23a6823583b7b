package topologies

import (
	"slices"
	"testing"
)

// TestSettledBy: what was fitted to programs is told by the sources, in each form that
// they have, and in a file that a calibration wrote.
func TestSettledBy(t *testing.T) {
	text, _ := Source("mi300x")
	if s := SettledBy(text); !s.Launch || !slices.Equal(s.Links, []LinkKind{XGMI}) {
		t.Errorf("mi300x: %+v", s)
	}
	for _, name := range []string{"frontier", "dgx-1", "l40s-4"} {
		text, _ := Source(name)
		if s := SettledBy(text); s.Launch || s.Links != nil {
			t.Errorf("%s, which has nothing from programs: %+v", name, s)
		}
		changed := Calibration{Launch: 2, Links: map[LinkKind]float64{Net: 0.9}}
		library, err := Rewrite(name, text, changed, "all_reduce.txt")
		if err != nil {
			t.Fatal(err)
		}
		if s := SettledBy(library); s.Launch || s.Links != nil {
			t.Errorf("%s, fitted to the library: %+v", name, s)
		}
		programs, err := Rewrite(name, text, changed, "all_reduce.txt, programs of ring.json")
		if err != nil {
			t.Fatal(err)
		}
		if s := SettledBy(programs); !s.Launch || !slices.Equal(s.Links, []LinkKind{Net}) {
			t.Errorf("%s, fitted to programs: %+v", name, s)
		}
	}
	// What is assumed, inferred or not measured is a guess, until it is fitted.
	for _, c := range []struct {
		name  string
		links []LinkKind
		speed bool
	}{{"dgx-h100", nil, false}, {"dgx-b300", nil, true}, {"l40s-8", []LinkKind{Net}, false}, {"a10g-8", nil, true}} {
		text, _ := Source(c.name)
		if s := SettledBy(text); !slices.Equal(s.Guessed, c.links) || s.Speed != c.speed {
			t.Errorf("%s: guessed %v, and speed %t", c.name, s.Guessed, s.Speed)
		}
		fitted, err := Rewrite(c.name, text, Calibration{Speed: 1.2, Links: map[LinkKind]float64{Net: 0.9}}, "all_reduce.txt")
		if err != nil {
			t.Fatal(err)
		}
		if s := SettledBy(fitted); slices.Contains(s.Guessed, Net) || s.Speed {
			t.Errorf("%s, fitted: guessed %v, and speed %t", c.name, s.Guessed, s.Speed)
		}
	}
	if s := SettledBy(nil); s.Launch || s.Links != nil {
		t.Errorf("no file: %+v", s)
	}
}
