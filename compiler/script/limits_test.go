package script

import (
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.starlark.net/starlark"
)

// little has limits that a test reaches soon.
var little = limits{Steps: 1_000_000, Memory: 32 << 20, Processor: 30 * time.Millisecond, Grace: 30 * time.Millisecond}

const (
	// tooMuch is what a program is refused for that no count stops: which of them it
	// reaches first depends on the machine.
	tooMuch = `too many steps|not done after \d+ms of the processor's time|more than 32 MiB of memory taken`
	// harmless is a program that ends, although it looks as if it would not, and does
	// nothing.
	harmless = "wrong result"
)

// refused loads a template and calls all its functions, with little limits. The error
// has to match want, and says where in the template it is.
func refused(t *testing.T, src, want string) {
	t.Helper()
	l := little
	if !strings.HasPrefix(want, tooMuch) {
		l.Processor = time.Hour // what is counted must do without the clock
	}
	tpl, err := loadApart("x.star", []byte(src), Options{}, l)
	m, q := Even(2, 4), Request{Collective: "allgather"}
	if err == nil {
		_, _, err = tpl.Admits(m, q, nil)
	}
	if err == nil {
		_, _, err = tpl.Cost(m, q, nil)
	}
	if err == nil {
		_, err = tpl.Trace(m, q, nil)
	}
	wantRefused(t, err, src, want)
}

func wantRefused(t *testing.T, err error, src, want string) {
	t.Helper()
	at := `^x\.star:\d+:\d+: `
	if want == harmless {
		at = `^x\.star`
	}
	if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) || len(err.Error()) > 1<<13 || !regexp.MustCompile(at).MatchString(err.Error()) {
		t.Errorf("error %.1000v, want one with %q, and where\n%s", err, want, src)
	}
}

// TestRunawayTemplates runs templates that would never end or take all memory.
func TestRunawayTemplates(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"endless loop", `
    for i in range(1 << 22):
        for j in range(1 << 22):
            pass`, "too many steps"},
		{"endless operations", `
    for i in range(1 << 22):
        chunk(0, "in", 0).copy(1, "sc", i % 2)`, "more than 34816 chunk operations, for 8 ranks and 8 chunks"},
		{"endless operations, many at once", `
    for i in range(1 << 22):
        chunk(0, "in", 0).copy_along([1, 2] * 10000, "sc", i % 2)`, "more than 34816 chunk operations, for 8 ranks and 8 chunks"},
		{"endless references", `
    a = []
    for i in range(1 << 22):
        a.append(chunk([0] * 10000, "in", 0))`, "too many steps"},
		{"references to a range", `
    chunk(0, "in", range(1 << 22))`, "a list of indices of 4194304: want at most 262144"},
		{"many chunks, many times", `
    c = chunk(0, "in", 0)
    for i in range(18):
        c.copy(0, "sc", i)
    for i in range(1 << 22):
        chunk([0] * 1000, "sc", 0, 18)`, "too many steps"},
		{"endless append", `
    a = []
    for i in range(1 << 22):
        a.append([0] * 1000)`, tooMuch},
		{"endless copies", `
    a = []
    for i in range(1 << 22):
        a.append(list(range(1 << 10)))`, tooMuch},
		{"endless slices", `
    a = [0] * 1000
    b = []
    for i in range(1 << 22):
        b.append(a[1:])`, tooMuch},
		{"endless items", `
    a = {i: i for i in range(1000)}
    b = []
    for i in range(1 << 22):
        b.append(a.items())`, tooMuch},
		{"endless words", `
    a = "a," * 1000
    b = []
    for i in range(1 << 22):
        b.append(a.split(","))`, tooMuch},
		{"endless unions", `
    a = {i: i for i in range(1000)}
    b = []
    for i in range(1 << 22):
        b.append(a | {i: i})`, tooMuch},
		{"endless literals", `
    a = []
    for i in range(1 << 22):
        a.append([i, i, i, i, i, i, i, i])`, "too many steps"},
		{"doubled list", `
    a = [0]
    for i in range(60):
        a = a + a`, tooMuch},
		{"doubled string", `
    a = "x"
    for i in range(60):
        a = a + a`, tooMuch},
		{"repeated string", `
    a = "x"
    a *= 1 << 30`, "excessive repeat"},
		{"repeated tuple", `
    a = (1 << 40) * (1, 2)`, "repeat count 1099511627776 too large"},
		{"squared number", `
    a = 3
    for i in range(60):
        a *= a`, tooMuch},
		{"shared list printed", `
    a = []
    for i in range(40):
        a = [a, a]
    print(a)`, tooMuch},
		{"shared list formatted", `
    a = {}
    for i in range(40):
        a = {"x": a, "y": a}
    a = "%s" % a`, tooMuch},
		{"joined strings", `
    a = ",".join(["x" * (1 << 19)] * (1 << 17))`, tooMuch},
		{"long joint", `
    a = ("x" * (1 << 19)).join(["y"] * 10)`, harmless},
		{"long format", `
    a = ("%s" * 10000) % (1, 2)`, "not enough arguments for format string"},
		{"scratch without end", `
    for i in range(1 << 22):
        chunk(0, "in", 0).copy(i % topo.ranks, "sc", (1 << 23) + i)`, "scratch chunk 8388608: want one below 66560, for 8 ranks and 8 chunks"},
		{"named scratch without end", `
    for i in range(1 << 22):
        chunk(0, "in", 0).copy(i % topo.ranks, "b%d" % i, 6655)`, "at most 64 by names of their own"},
		{"long text looked into", `
    a = "x" * (1 << 20)
    for i in range(1 << 22):
        a.find("y")`, tooMuch},
		{"text grown by letters", `
    a = ""
    for i in range(1 << 22):
        a += "x"`, tooMuch},
		{"text grown in a dictionary", `
    a = {"x": ""}
    for i in range(1 << 22):
        a["x"] += "x"`, tooMuch},
		{"texts formatted", `
    a = [i for i in range(1000)]
    for i in range(1 << 22):
        b = "%s" % a`, tooMuch},
		{"words joined", `
    a = ["word"] * 1000
    for i in range(1 << 22):
        b = ",".join(a)`, tooMuch},
		{"flood of print", `
    for i in range(1 << 22):
        print(i)`, "too many steps"},
		{"long list sorted", `
    a = [-i for i in range(100000)]
    for i in range(1 << 22):
        sorted(a, key = lambda x: x % 7)`, tooMuch},
		{"sorted by shared lists", `
    a = [0] * 1000
    for i in range(5):
        a = [a] * 1000
    sorted([a, a])`, tooMuch},
		{"shared lists compared", `
    a, b = [], []
    for i in range(40):
        a, b = [a, a], [b, b]
    c = a == b`, "maximum recursion depth"},
		{"cyclic lists compared", `
    a, b = [], []
    for i in range(400):
        a.append(a)
        b.append(b)
    c = a < b`, "maximum recursion depth"},
		{"cyclic list printed", `
    a = []
    a.append(a)
    print(a)`, harmless},
		{"cyclic dictionary formatted", `
    a = {}
    for i in range(1000):
        a[i] = a
    b = "%r" % a`, harmless},
		{"long lists compared", `
    a = list(range(100000))
    b = list(range(100000))
    for i in range(1 << 22):
        c = a == b`, tooMuch},
		{"long list searched", `
    a = list(range(100000))
    for i in range(1 << 22):
        c = -1 in a`, tooMuch},
		{"long list's index", `
    a = list(range(100000))
    for i in range(1 << 22):
        c = a.index(99999)`, tooMuch},
		{"long list's end before its beginning", `
    a = []
    for i in range(1 << 22):
        a.insert(0, i)`, tooMuch},
		{"long list emptied from its beginning", `
    a = list(range(200000))
    for i in range(200000):
        a.pop(0)`, tooMuch},
		{"most of a range", `
    for i in range(1 << 22):
        max(range(1 << 16))`, tooMuch},
		{"all of a range", `
    for i in range(1 << 22):
        all(range(1, 1 << 22))`, tooMuch},
		{"dictionary without end", `
    a = {}
    for i in range(1 << 22):
        a[i] = i`, tooMuch},
		{"set without end", `
    a = set()
    for i in range(1 << 22):
        a.add(i)`, tooMuch},
		{"long dictionary put into another", `
    a = {i: i for i in range(100000)}
    b = {}
    for i in range(1 << 22):
        b.update(a)`, tooMuch},
		{"long set taken from another", `
    a = set(range(100000))
    b = set([1])
    for i in range(1 << 22):
        b.difference(a)`, tooMuch},
		{"long set compared with itself", `
    a = set(range(100000))
    for i in range(1 << 22):
        a.issubset(a)`, tooMuch},
		{"attributes asked for", `
    for i in range(1 << 22):
        hasattr(topo, "ranks")`, "too many steps"},
		{"links asked for", `
    for i in range(1 << 22):
        topo.linked(0, 1)`, "too many steps"},
		{"nested comprehension", `
    a = [1 for i in range(1 << 11) for j in range(1 << 11) for k in range(1 << 11) if False]`, "too many steps"},
		{"large comprehension", `
    a = [[i for i in range(1 << 12)] for j in range(1 << 12)]`, "too many steps"},
		{"function called by another", `
    def f(g, n):
        return [g(g, n - 1) for i in range(n)]
    f(f, 60)`, "called recursively"},
		{"shared tuples as a key", `
    a = (1, 2)
    for i in range(60):
        a = (a, a)
    b = {a: 1}`, tooMuch},
		{"shared tuples of arguments", `
    def both(*args):
        return args
    a = (1, 2)
    for i in range(60):
        a = both(a, a)
    b = {a: 1}`, tooMuch},
		{"shared tuples zipped", `
    a = (1, 2)
    for i in range(60):
        a = zip([a], [a])[0]
    b = {a: 1}`, tooMuch},
		{"shared tuples of lists", `
    a = (1, 2)
    for i in range(60):
        a = tuple([a, a])`, harmless},
		{"shared tuples of a slice", `
    a = tuple([(i, i) for i in range(4000)])
    b = ([a] * 100)[1:]`, harmless},
		{"long tuple looked for", `
    a = tuple(range(10000))
    b = [a] * 1000
    for i in range(200):
        1 in b
        a not in b`, harmless},
		{"large keys of a set", `
    a = tuple([(i, i) for i in range(4000)])
    b = set([a] * 100000)`, tooMuch},
		{"number shifted on", `
    a = 1
    for i in range(60):
        a = a << 500`, harmless},
		{"number shifted in place", `
    a = 1
    for i in range(60):
        a <<= 500`, harmless},
		{"number doubled", `
    a = 1
    for i in range(1 << 22):
        a = a + a`, tooMuch},
		{"number of a long text", `
    a = int("9" * (1 << 20))`, tooMuch},
		{"long message", `
    fail("x" * (1 << 17))`, "xxx"},
		{"chunks without end", `
    for i in range(1 << 22):
        chunk(0, "in", 0)`, "too many steps"},
		{"splits without end", `
    for i in range(1 << 22):
        chunk(0, "out", 0, 8).split()`, "uninitialised"},
		{"empty scopes", `
    for i in range(1 << 22):
        for _ in parallelize(1):
            pass`, "too many steps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused(t, "family(name = \"x\", collectives = [\"allgather\"])\ndef program(topo, p):"+c.body+"\n", c.want)
		})
	}
}

// TestStepWithoutEnd runs a single step that does not end, which the count of steps
// cannot stop: the limits on time and memory do, and the step is abandoned.
func TestStepWithoutEnd(t *testing.T) {
	late, large := usual, usual
	late.Processor = 10*time.Millisecond - time.Duration(usual.Steps)*stepTime // 10 ms are all there is
	large.Processor, large.Memory = time.Hour, -1<<40                          // and here there was no memory from the start
	for want, l := range map[string]limits{
		"of the processor's time, with 0 chunk operations": late,
		"MiB of memory taken":                              large,
	} {
		l.Grace = 10 * time.Millisecond
		var over atomic.Bool
		err := run(&session{file: "x.star", limits: l, parent: &parent{}}, nil, func(*starlark.Thread) error {
			for !over.Load() {
				continue
			}
			return nil
		})
		over.Store(true)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), errLeft.Error()) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestRunawaySources(t *testing.T) {
	for name, src := range map[string]string{
		"long":      strings.Repeat("#\n", MaxSource),
		"nested":    "x = " + strings.Repeat("(", MaxSource-100),
		"negated":   "x = " + strings.Repeat("not ", MaxSource/4-10) + "1",
		"top loop":  "family(name = \"x\", collectives = [\"allgather\"])\nfor i in range(1 << 22):\n    for j in range(1 << 22):\n        pass\n",
		"self load": `load("loop.star", "x")`,
	} {
		if _, err := Load("x.star", []byte(src), Options{Library: map[string]string{"loop.star": `load("loop.star", "x")`}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestManyChunks: a program that moves many chunks in few messages is not taken for an
// endless loop.
func TestManyChunks(t *testing.T) {
	_, err := loadAndRun("x.star", `
family(name = "x", collectives = ["allgather"])
def chunks(topo, p):
    return 1 << 19
def program(topo, p):
    for r in range(topo.ranks):
        c = chunk(r, "in", 0, 1 << 19).copy(r, "out", r << 19)
        for step in range(1, topo.ranks):
            c = c.copy((r + step) % topo.ranks, "out", r << 19)
`, Even(2, 4))
	if err != nil {
		t.Error(err)
	}
}
