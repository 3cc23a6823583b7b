package script

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/lang"
)

// testLibrary has the modules that tests load.
var testLibrary = map[string]string{
	"lib.star": "def send(c, to):\n    c.copy(to, \"in\", 0)\n",
}

// squareMachine returns 2 nodes of 2 GPUs, without links between ranks 0 and 3.
func squareMachine() Machine {
	m := Even(2, 2)
	m.Linked = func(a, b int) bool { return a+b != 3 || a == 1 || a == 2 }
	return m
}

// loadAndRun loads a template and runs its program for its first collective.
func loadAndRun(name, src string, m Machine) (*lang.Program, error) {
	return runLoaded(Load, name, src, m)
}

func runLoaded(load func(string, []byte, Options) (*Template, error), name, src string, m Machine) (*lang.Program, error) {
	t, err := load(name, []byte(src), Options{Library: testLibrary})
	if err != nil {
		return nil, err
	}
	c := t.Collectives[0]
	return t.Trace(m, Request{Collective: c, InPlace: collective.DefaultInPlace(c)}, nil)
}

var location = regexp.MustCompile(`^errors\.star:(\d+):\d+: `)

// TestErrors runs the parts of testdata/errors.star: each must end in the error that is
// written beside its line.
func TestErrors(t *testing.T) {
	text, err := os.ReadFile("testdata/errors.star")
	if err != nil {
		t.Fatal(err)
	}
	before, parts := 0, strings.Split(string(text), "---\n")
	for _, part := range parts {
		src, want, line := strings.Repeat("\n", before)+part, "", 0
		for i, l := range strings.Split(src, "\n") {
			if _, msg, ok := strings.Cut(l, " ### "); ok {
				want, line = msg, i+1
			}
		}
		before += strings.Count(part, "\n") + 1
		for _, load := range []func(string, []byte, Options) (*Template, error){Load, LoadApart} {
			_, err := runLoaded(load, "errors.star", src, squareMachine())
			if err == nil {
				t.Errorf("errors.star:%d: no error, want %q", line, want)
				continue
			}
			got := err.Error()
			if m := location.FindStringSubmatch(got); m != nil && m[1] == itoa(line) {
				got = strings.TrimPrefix(got, m[0])
			}
			if got != want {
				t.Errorf("errors.star:%d: error\n\t%s\nwant\n\t%s", line, got, want)
			}
		}
	}
	if len(parts) < 40 {
		t.Errorf("only %d parts were found", len(parts))
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	_, err := loadAndRun("a.star", `
load("lib.star", "send")
family(name = "x", collectives = ["allreduce"])
def program(topo, p):
    send(chunk(1, "in", 0), 9)
`, squareMachine())
	var ours *Error
	var traced *lang.Error
	if !errors.As(err, &ours) || !errors.As(err, &traced) {
		t.Fatalf("%T %v: want an *Error around a *lang.Error", err, err)
	}
	if want := "lib.star:2:11"; ours.Pos.String() != want {
		t.Errorf("the error is at %s, want %s", ours.Pos, want)
	}
}

func TestAllUnknownNamesAreTold(t *testing.T) {
	_, err := Load("a.star", []byte("x = first\ny = second\n"), Options{})
	if want := "a.star:1:5: undefined: first\na.star:2:5: undefined: second"; err == nil || err.Error() != want {
		t.Errorf("error\n%v\nwant\n%s", err, want)
	}
}
