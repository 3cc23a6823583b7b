package script

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.starlark.net/starlark"
)

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
        a.append(chunk([0] * 10000, "in", 0))`, "elements in all"},
		{"references to a range", `
    chunk(0, "in", range(1 << 22))`, "a list of indices of 4194304: want at most 262144"},
		{"many chunks, many times", `
    c = chunk(0, "in", 0)
    for i in range(18):
        c.copy(0, "sc", i)
    for i in range(1 << 22):
        chunk([0] * 1000, "sc", 0, 18)`, "elements in all"},
		{"endless append", `
    a = []
    for i in range(1 << 22):
        a.append([0] * 1000)`, "elements in all"},
		{"endless copies", `
    a = []
    for i in range(1 << 22):
        a.append(list(range(1 << 10)))`, "elements in all"},
		{"endless slices", `
    a = [0] * 1000
    b = []
    for i in range(1 << 22):
        b.append(a[1:])`, "elements in all"},
		{"endless items", `
    a = {i: i for i in range(1000)}
    b = []
    for i in range(1 << 22):
        b.append(a.items())`, "elements in all"},
		{"endless words", `
    a = "a," * 1000
    b = []
    for i in range(1 << 22):
        b.append(a.split(","))`, "elements in all"},
		{"endless unions", `
    a = {i: i for i in range(1000)}
    b = []
    for i in range(1 << 22):
        b.append(a | {i: i})`, "elements in all"},
		{"endless literals", `
    a = []
    for i in range(1 << 22):
        a.append([i, i, i, i, i, i, i, i])`, "too many steps"},
		{"doubled list", `
    a = [0]
    for i in range(60):
        a = a + a`, "a list of 524288: want at most 262144"},
		{"doubled string", `
    a = "x"
    for i in range(60):
        a = a + a`, "a string of 2097152: want at most 1048576"},
		{"repeated string", `
    a = "x"
    a *= 1 << 30`, "a string of 1, 1073741824 times: want at most 1048576 in all"},
		{"repeated tuple", `
    a = (1 << 40) * (1, 2)`, "a tuple of 2, 1099511627776 times"},
		{"squared number", `
    a = 3
    for i in range(60):
        a *= a`, "a number of"},
		{"shared list printed", `
    a = []
    for i in range(40):
        a = [a, a]
    print(a)`, "too large or too deep to be written out"},
		{"shared list formatted", `
    a = {}
    for i in range(40):
        a = {"x": a, "y": a}
    a = "%s" % a`, "too large or too deep to be written out"},
		{"joined strings", `
    a = ",".join(["x" * (1 << 19)] * (1 << 17))`, "too large or too deep to be written out"},
		{"long joint", `
    a = ("x" * (1 << 19)).join(["y"] * 10)`, "10 joints of 524288 bytes"},
		{"long format", `
    a = ("%s" * 10000) % (1, 2)`, "a format string of 20000"},
		{"scratch without end", `
    for i in range(1 << 22):
        chunk(0, "in", 0).copy(i % topo.ranks, "sc", (1 << 23) + i)`, "scratch chunk 8388608: want one below 66560, for 8 ranks and 8 chunks"},
		{"named scratch without end", `
    for i in range(1 << 22):
        chunk(0, "in", 0).copy(i % topo.ranks, "b%d" % i, 66559)`, "at most 64 by names of their own"},
		{"long text looked into", `
    a = "x" * (1 << 20)
    for i in range(1 << 22):
        a.find("y")`, "too many steps"},
		{"text grown by letters", `
    a = ""
    for i in range(1 << 22):
        a += "x"`, "elements in all"},
		{"text grown in a dictionary", `
    a = {"x": ""}
    for i in range(1 << 22):
        a["x"] += "x"`, "elements in all"},
		{"texts formatted", `
    a = [i for i in range(1000)]
    for i in range(1 << 22):
        b = "%s" % a`, "too many steps"},
		{"words joined", `
    a = ["word"] * 1000
    for i in range(1 << 22):
        b = ",".join(a)`, "too many steps"},
		{"flood of print", `
    for i in range(1 << 22):
        print(i)`, "too many steps"},
		{"long list sorted", `
    a = [-i for i in range(100000)]
    for i in range(1 << 22):
        sorted(a, key = lambda x: x % 7)`, "too many steps"},
		{"sorted by shared lists", `
    a = [0] * 1000
    for i in range(5):
        a = [a] * 1000
    sorted([a, a])`, "too large or too deep to be compared"},
		{"shared lists compared", `
    a, b = [], []
    for i in range(40):
        a, b = [a, a], [b, b]
    c = a == b`, "too large or too deep to be compared"},
		{"cyclic lists compared", `
    a, b = [], []
    for i in range(400):
        a.append(a)
        b.append(b)
    c = a < b`, "too large or too deep to be compared"},
		{"cyclic list printed", `
    a = []
    a.append(a)
    print(a)`, ""},
		{"cyclic dictionary formatted", `
    a = {}
    for i in range(1000):
        a[i] = a
    b = "%r" % a`, "too large or too deep to be written out"},
		{"long lists compared", `
    a = list(range(100000))
    b = list(range(100000))
    for i in range(1 << 22):
        c = a == b`, "too many steps"},
		{"long list searched", `
    a = list(range(100000))
    for i in range(1 << 22):
        c = -1 in a`, "too many steps"},
		{"long list's index", `
    a = list(range(100000))
    for i in range(1 << 22):
        c = a.index(99999)`, "too many steps"},
		{"long list's end before its beginning", `
    a = []
    for i in range(1 << 22):
        a.insert(0, i)`, "too many steps"},
		{"long list emptied from its beginning", `
    a = list(range(200000))
    for i in range(200000):
        a.pop(0)`, "too many steps"},
		{"most of a range", `
    for i in range(1 << 22):
        max(range(1 << 16))`, "too many steps"},
		{"all of a range", `
    for i in range(1 << 22):
        all(range(1, 1 << 22))`, "too many steps"},
		{"dictionary without end", `
    a = {}
    for i in range(1 << 22):
        a[i] = i`, "too many steps"},
		{"set without end", `
    a = set()
    for i in range(1 << 22):
        a.add(i)`, "too many steps"},
		{"long dictionary put into another", `
    a = {i: i for i in range(100000)}
    b = {}
    for i in range(1 << 22):
        b.update(a)`, "too many steps"},
		{"long set taken from another", `
    a = set(range(100000))
    b = set([1])
    for i in range(1 << 22):
        b.difference(a)`, "too many steps"},
		{"long set compared with itself", `
    a = set(range(100000))
    for i in range(1 << 22):
        a.issubset(a)`, "too many steps"},
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
    b = {a: 1}`, "a tuple too large or too deep"},
		{"shared tuples of arguments", `
    def both(*args):
        return args
    a = (1, 2)
    for i in range(60):
        a = both(a, a)
    b = {a: 1}`, "a tuple too large or too deep"},
		{"shared tuples zipped", `
    a = (1, 2)
    for i in range(60):
        a = zip([a], [a])[0]
    b = {a: 1}`, "a tuple too large or too deep"},
		{"shared tuples of lists", `
    a = (1, 2)
    for i in range(60):
        a = tuple([a, a])`, "a tuple too large or too deep"},
		{"shared tuples of a slice", `
    a = tuple([(i, i) for i in range(4000)])
    b = ([a] * 100)[1:]`, "and 1048576 in those of a list"},
		{"long tuple looked for", `
    a = tuple(range(10000))
    b = [a] * 1000
    for i in range(200):
        1 in b
        a not in b`, "too many steps"},
		{"large keys of a set", `
    a = tuple([(i, i) for i in range(4000)])
    b = set([a] * 100000)`, "too large or too deep to be compared"},
		{"number shifted on", `
    a = 1
    for i in range(60):
        a = a << 500`, "a number of 4501 bits: want at most 4096"},
		{"number shifted in place", `
    a = 1
    for i in range(60):
        a <<= 500`, "a number of 4501 bits: want at most 4096"},
		{"number doubled", `
    a = 1
    for i in range(1 << 22):
        a = a + a`, "a number of 4097 bits: want at most 4096"},
		{"number of a long text", `
    a = int("9" * (1 << 20))`, "a number's text of 1048576: want at most 4096"},
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
			src := "family(name = \"x\", collectives = [\"allgather\"])\ndef program(topo, p):" + c.body + "\n"
			tpl, err := LoadApart("x.star", []byte(src), Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = tpl.Trace(Even(2, 4), Request{Collective: "allgather"}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 1<<13 {
				t.Errorf("error %.1000v, want one with %q", err, c.want)
			}
		})
	}
}

// TestStepWithoutEnd runs what no count sees: a step that goes on for as long as
// the test does. It is left behind, whichever of time and memory has run out.
func TestStepWithoutEnd(t *testing.T) {
	late, large := usual, usual
	late.processor = 10*time.Millisecond - idleSteps*stepTime // 10 ms are all there is
	large.processor, large.heapGrowth = time.Hour, -1<<40     // and here there was no memory from the start
	for want, l := range map[string]limits{
		"of the processor's time, with 0 chunk operations": late,
		"MiB of memory taken":                              large,
	} {
		l.grace = 10 * time.Millisecond
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

// TestManyChunks traces a program that moves a great many chunks in few messages,
// which are no endless loop.
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

// TestGuardsKeepMeaning runs what the guarded operators must leave as it is.
func TestGuardsKeepMeaning(t *testing.T) {
	src := `
family(name = "x", collectives = ["allgather"], parameters = {"n": choice(3)})

def equal(got, want):
    if got != want:
        fail("%r, want %r" % (got, want))

def default(a = 2 * 3, b = [1] + [2]):
    return a, b

def order(log, x):
    log.append(x)
    return x

def program(topo, p):
    equal(p.n + 4, 7)
    equal(p.n * p.n % 5, 4)
    equal("a" + "b", "ab")
    equal("%d and %s" % (p.n, [1, "x"]), "3 and [1, \"x\"]")
    equal("ab" * p.n, "ababab")
    equal(p.n * [0], [0, 0, 0])
    equal((1,) + (2,), (1, 2))
    equal(-p.n * 2, -6)
    equal(7 % -p.n, -2)
    equal(1.5 * p.n, 4.5)
    equal(default(), (6, [1, 2]))
    equal([x * y for x in range(1, 3) for y in range(1, 3) if (x + y) % 2], [2, 2])
    equal({k + "!": k * 2 for k in ["a"]}, {"a!": "aa"})
    equal((lambda x, y = 1 + 1: x * y)(4), 8)
    equal("-".join(["a", "b"]), "a-b")
    equal("-".join(elements = ["a"]) if False else "a", "a")
    log = []
    equal(order(log, 1) + order(log, 2) * order(log, 3), 7)
    equal(log, [1, 2, 3])
    alias = log
    alias += [4]
    equal(log, [1, 2, 3, 4])
    d = {"k": [1]}
    d["k"] += [2]
    equal(d, {"k": [1, 2]})
    n = 5
    n *= 3
    n %= 4
    n += 1
    equal(n, 4)
    equal(str([1, "a"]), "[1, \"a\"]")
    equal([p.n == 3, p.n != 3, p.n < 4, p.n > 4, p.n <= 3, p.n >= 4], [True, False, True, False, True, False])
    equal([[1, [2]] == [1, [2]], (1, "b") < (1, "c"), "a" >= "b", {1: [2]} != {1: [2]}, None == p.n], [True, True, False, False, False])
    equal([p.n in [1, p.n], p.n in (p.n,), p.n in {p.n: 1}, p.n in range(p.n), "b" in "abc", [1] in [[1]], p.n not in [1, 2]], [True, True, True, False, True, True, True])
    equal([p.n << 2, 1 << p.n, p.n << p.n << 1], [12, 8, 48])
    n = p.n
    n <<= 2
    equal(n, 12)
    a, (b, c), [d, e] = n, (1, n + 1), [n, (n, n)]
    equal((a, b, c, d, e), (12, 1, 13, 12, (12, 12)))
    equal({(a, (b, c)): "x"}[(12, (1, 13))], "x")
    def rest(first, *args, **named):
        args += (named["last"],)
        return first, args
    equal(rest(1, 2, 3, last = 4), (1, (2, 3, 4)))
    equal(rest(last = 4, *[1, 2]), (1, (2, 4)))
    x = [5, 6, 7]
    equal([x.index(7), x.pop(0), x.pop(), x], [2, 5, 7, [6]])
    x.insert(0, 9)
    x.remove(6)
    for x[0] in range(p.n):
        pass
    equal(x, [2])
    equal([y[0] for y in [[0]] for y[0] in [p.n * 2]], [6])
    equal(["abcb".count("b"), "abcb".find("c"), "abcb".rfind("b"), " a ".strip(), "a-b".partition("-"), "ab".isalpha()], [2, 2, 3, "a", ("a", "-", "b"), True])
    equal([sorted([3, 1, 2], key = lambda v: -v), min(3, p.n - 1), max([1, p.n]), min([(1, 2), (1, 1)]), any([0, p.n]), all([])], [[3, 2, 1], 2, 3, (1, 1), True, True])
    equal([int("12"), int("ff", 16), int(2.5), int(True)], [12, 255, 2, 1])
    d = {"k": "a"}
    d["k"] += "b"
    text = "x"
    text += d["k"]
    equal(text, "xab")
    equal(list(zip([1, 2], ["a", "b"])) + list(enumerate(["c"])) + {1: (2, 3)}.items(), [(1, "a"), (2, "b"), (0, "c"), (1, (2, 3))])
    equal(set([1, 2]).union([p.n]), set([1, 2, 3]))
    d.update({"l": 1}, m = 2)
    d.update([("n", 3)], **{"o": 4})
    equal(d, {"k": "ab", "l": 1, "m": 2, "n": 3, "o": 4})
    equal(set([1, 2]).issubset(*[[1, 2, 3]]), True)
    equal(repr("a"), "\"a\"")
    for r in range(topo.ranks):
        for q in range(topo.ranks):
            chunk(r, "in", 0).copy(q, "out", r)
`
	if _, err := loadAndRun("x.star", src, Even(1, 2)); err != nil {
		t.Error(err)
	}
}
