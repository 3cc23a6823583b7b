package script

import (
	"runtime"
	"strings"
	"testing"
	"time"
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
        chunk(0, "in", 0).copy(1, "sc", i % 2)`, "more than 266240 chunk operations, for 8 ranks and 8 chunks"},
		{"endless append", `
    a = []
    for i in range(1 << 22):
        a.append([0] * 1000)`, "more than 65536 elements in all"},
		{"endless copies", `
    a = []
    for i in range(1 << 22):
        a.append(list(range(1 << 10)))`, "more than 65536 elements in all"},
		{"endless slices", `
    a = [0] * 1000
    b = []
    for i in range(1 << 22):
        b.append(a[1:])`, "more than 65536 elements in all"},
		{"endless items", `
    a = {i: i for i in range(1000)}
    b = []
    for i in range(1 << 22):
        b.append(a.items())`, "more than 65536 elements in all"},
		{"endless words", `
    a = "a," * 1000
    b = []
    for i in range(1 << 22):
        b.append(a.split(","))`, "more than 65536 elements in all"},
		{"endless unions", `
    a = {i: i for i in range(1000)}
    b = []
    for i in range(1 << 22):
        b.append(a | {i: i})`, "more than 65536 elements in all"},
		{"endless literals", `
    a = []
    for i in range(1 << 22):
        a.append([i, i, i, i, i, i, i, i])`, "more than 4 MiB of memory taken"},
		{"doubled list", `
    a = [0]
    for i in range(60):
        a = a + a`, "a list of 8388608: want at most 4194304"},
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
    a = ",".join(["x" * (1 << 19)] * (1 << 19))`, "too large or too deep to be written out"},
		{"long joint", `
    a = ("x" * (1 << 19)).join(["y"] * 10)`, "10 joints of 524288 bytes"},
		{"long format", `
    a = ("%s" * 10000) % (1, 2)`, "a format string of 20000"},
		{"scratch without end", `
    for i in range(1 << 22):
        chunk(0, "in", 0).copy(i % topo.ranks, "sc", (1 << 23) + i)`, "hold more than 67108864 chunks"},
		{"a step without end", `
    a = ((1,) * 400,) * 400
    b = ((1,) * 400,) * 400
    c = (a,) * 400 == (b,) * 400`, "of the processor's time, with 0 chunk operations"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := usual
			l.processor, l.grace = time.Hour, time.Hour // what is counted must do without the clock
			switch {
			case strings.Contains(c.want, "elements"):
				l.made = 1 << 16
			case strings.Contains(c.want, "memory"):
				runtime.GC()
				l.heapGrowth = 4 << 20
			case strings.Contains(c.want, "processor"):
				l.processor, l.grace = 0, 50*time.Millisecond
			}
			src := "family(name = \"x\", collectives = [\"allgather\"])\ndef program(topo, p):" + c.body + "\n"
			tpl, err := load("x.star", []byte(src), Options{}, l)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tpl.Trace(Even(2, 4), Request{Collective: "allgather"}, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestRunawaySources(t *testing.T) {
	for name, src := range map[string]string{
		"long":      strings.Repeat("#\n", maxSource),
		"nested":    "x = " + strings.Repeat("(", maxSource-100),
		"negated":   "x = " + strings.Repeat("not ", maxSource/4-10) + "1",
		"top loop":  "family(name = \"x\", collectives = [\"allgather\"])\nfor i in range(1 << 22):\n    for j in range(1 << 22):\n        pass\n",
		"self load": `load("loop.star", "x")`,
	} {
		if _, err := Load("x.star", []byte(src), Options{Library: map[string]string{"loop.star": `load("loop.star", "x")`}}); err == nil {
			t.Errorf("%s: no error", name)
		}
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
    equal(repr("a"), "\"a\"")
    for r in range(topo.ranks):
        for q in range(topo.ranks):
            chunk(r, "in", 0).copy(q, "out", r)
`
	if _, err := loadAndRun("x.star", src, Even(1, 2)); err != nil {
		t.Error(err)
	}
}
