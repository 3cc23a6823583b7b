package script

import (
	"errors"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/lang"
)

// A program that its template says is too large is refused before it is traced;
// the value that operations returns is checked.
func TestOperations(t *testing.T) {
	const family = `family(name = "x", collectives = ["allreduce"])
def operations(topo, p):
    return RETURNED
def allreduce(topo, p):
    fail("traced")
`
	m := Even(1, 4)
	for _, c := range []struct {
		returned string
		most     int
		want     string
		large    bool
	}{
		{"100", 100, "x.star:5:9: fail: traced", false},
		{"100", 99, "x.star:4:1: the program has 100 operations: want at most 99", true},
		{"1 << 30", 99, "x.star:4:1: the program has 1073741824 operations: want at most 16777216", false},
		{"1 << 30", 0, "x.star:4:1: the program has 1073741824 operations: want at most 16777216", false},
		{"None", 1, "x.star:5:9: fail: traced", false},
		{"-1", 0, "x.star:2:1: operations returned -1: want a whole number from 0, or None", false},
		{"1 << 60", 0, "want a whole number from 0", false},
		{"1 << 80", 0, "want a whole number from 0", false},
		{"1.5", 0, "operations returned 1.5: want", false},
		{"\"many\"", 0, "operations returned \"many\": want", false},
		{"[1]", 0, "operations returned a list: want", false},
	} {
		f, err := Load("x.star", []byte(strings.Replace(family, "RETURNED", c.returned, 1)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.Trace(m, Request{Collective: "allreduce", InPlace: true, MaxOps: c.most}, nil)
		var e *lang.Error
		if err == nil || !strings.Contains(err.Error(), c.want) || (errors.As(err, &e) && e.Large) != c.large {
			t.Errorf("%s, at most %d: %v, want %s", c.returned, c.most, err, c.want)
		}
	}
}
