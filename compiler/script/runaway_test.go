package script

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// bombs are expressions that would never end or take all memory, in one step or in many.
// They use bombFunctions.
var bombs = []struct{ name, expr string }{
	{"comprehension", `[i for i in range(1 << 22) for j in range(1 << 22)]`},
	{"doubled string", `doubled("x")`},
	{"doubled list", `doubled([0])`},
	{"doubled tuple", `doubled((0, 1))`},
	{"largest list", `[0] * ((1 << 30) - 1)`},
	{"largest string", `[("x" * ((1 << 30) - 1)) for i in range(9)]`},
	{"extended list", `extended([0])`},
	{"number squared", `squared(3)`},
	{"number's text", `[str(1 << 511) * (1 << 22) for i in range(1 << 10)]`},
	{"text's number", `int("9" * (1 << 22))`},
	{"text of shared lists", `str(shared(40))`},
	{"text of shared dictionaries", `"%r" % {"a": shared(40)}`},
	{"text of a deep list", `repr(deep())`},
	{"shared lists printed", `print(shared(40), shared(40))`},
	{"long text printed", `[print("x" * (1 << 16)) for i in range(1 << 22)]`},
	{"key of shared tuples", `{tuples(60): 1}`},
	{"set of shared tuples", `set([tuples(60), tuples(61)])`},
	{"wide lists compared", `wide() == wide()`},
	{"wide lists sorted", `sorted([wide(), wide()])`},
	{"largest of wide lists", `max(wide(), wide())`},
	{"wide list looked for", `wide() in [wide()]`},
	{"dictionary that grows", `[grown({}, i) for i in range(1 << 22)]`},
	{"dictionaries united", `united({i: i for i in range(1 << 10)})`},
	{"sets united", `[set(range(1 << 12)).union(range(1 << 12, 1 << 13)) for i in range(1 << 22)]`},
	{"words joined", `",".join(["x" * (1 << 20)] * (1 << 20))`},
	{"words split", `[("a," * (1 << 16)).split(",") for i in range(1 << 22)]`},
	{"text replaced", `("x" * (1 << 20)).replace("x", "y" * (1 << 12))`},
	{"text formatted", `("{0}" * (1 << 16)).format("x" * (1 << 16))`},
	{"ranges enumerated", `[list(enumerate(range(1 << 22))) for i in range(1 << 22)]`},
	{"ranges zipped", `[zip(range(1 << 20), range(1 << 20)) for i in range(1 << 22)]`},
	{"sums of a range", `[max(range(1 << 22)) for i in range(1 << 22)]`},
	{"functions that call functions", `calls(60)`},
	{"sorted by a slow key", `sorted(range(1 << 10), key = lambda v: max(range(1 << 22)))`},
	{"text looked into", `[("x" * (1 << 20)).find("y") for i in range(1 << 22)]`},
}

const bombFunctions = `
def doubled(a):
    for i in range(60):
        a = a + a
    return a

def extended(a):
    for i in range(60):
        a.extend(a)
    return a

def squared(a):
    for i in range(60):
        a *= a
    return a

def shared(depth):
    a = []
    for i in range(depth):
        a = [a, a]
    return a

def deep():
    a = []
    for i in range(100000):
        a = [a]
    return [a] * 100000

def tuples(depth):
    a = (1, 2)
    for i in range(depth):
        a = (a, a)
    return a

def wide():
    a = [0] * 1000
    for i in range(5):
        a = [a] * 1000
    return a

def grown(d, i):
    for j in range(1 << 10):
        d[(i, j)] = [i] * 100
    return [d] * 1000

def united(a):
    b = []
    for i in range(1 << 22):
        b.append(a | {i: i})
    return b

def calls(n):
    f = lambda: max(range(1 << 20))
    for i in range(n):
        f = twice(f)
    return f()

def twice(f):
    return lambda: [f(), f()]
`

// fuses are programs with a place, BOMB, for such an expression.
var fuses = []struct{ name, text string }{
	{"program", "def program(topo, p):\n    a = BOMB\n"},
	{"loop", "def program(topo, p):\n    for i in range(10):\n        for j in range(i, 10):\n            a = BOMB\n"},
	{"lambda", "def program(topo, p):\n    f = lambda x: BOMB\n    a = [f(i) for i in range(10)]\n"},
	{"default", "def program(topo, p):\n    def f(a = BOMB):\n        return a\n    return f()\n"},
	{"key", "def program(topo, p):\n    a = sorted([3, 1, 2], key = lambda v: v if BOMB else -v)\n"},
	{"scope", "def program(topo, p):\n    parallelize(2, lambda: BOMB)\n"},
	{"after operations", "def program(topo, p):\n    for i in range(2000):\n        chunk(0, \"in\", 0).copy(1, \"sc\", i)\n    a = BOMB\n"},
	{"argument", "def program(topo, p):\n    chunk(0, \"in\", 0, count = BOMB)\n"},
	{"dictionary", "def program(topo, p):\n    a = {i: (i, [BOMB]) for i in range(100)}\n"},
	{"applies", "def applies(topo, p):\n    return True if BOMB else False\ndef program(topo, p):\n    pass\n"},
	{"chunks", "def chunks(topo, p):\n    return len(BOMB)\ndef program(topo, p):\n    pass\n"},
	{"operations", "def operations(topo, p):\n    return len(BOMB)\ndef program(topo, p):\n    pass\n"},
	{"cost", "def cost(topo, p):\n    return 1, BOMB\ndef program(topo, p):\n    pass\n"},
	{"top level", "a = BOMB\ndef program(topo, p):\n    pass\n"},
	{"message", "def program(topo, p):\n    fail(BOMB)\n"},
}

// TestRunawayTemplatesNested evaluates bombs in each place where a template's code is
// run.
func TestRunawayTemplatesNested(t *testing.T) {
	every := 34 // each place once; make test-long: every seventh of all
	if os.Getenv("COLLTUNE_LONG") != "" {
		every = 7
	}
	for i, b := range bombs {
		for j, f := range fuses {
			if (i+j)%every != 0 {
				continue
			}
			t.Run(b.name+"/"+f.name, func(t *testing.T) {
				src := "family(name = \"x\", collectives = [\"allgather\"])\n" + bombFunctions + strings.ReplaceAll(f.text, "BOMB", b.expr)
				refused(t, src, tooMuch+"|excessive repeat|recursively")
			})
		}
	}
}

// TestRunawayCollective: a collective that a template defines is evaluated under limits,
// too.
func TestRunawayCollective(t *testing.T) {
	patient := little
	patient.Grace = 10 * time.Second // what stops late says no place
	for _, c := range []string{
		`input = 1, output = 1, want = lambda topo, rank, i: (len(str(shared(40))), 0)`,
		`input = 1, output = lambda topo, rank: len(doubled([0])), want = lambda topo, rank, i: None`,
		`input = lambda topo, rank: len({tuples(60): 1}), output = 1, want = lambda topo, rank, i: None`,
		`input = 1, output = 1 << 20, want = lambda topo, rank, i: [(r, 0) for r in range(1 << 22)]`,
	} {
		src := fmt.Sprintf("%s\ncollective(name = \"allgather-x\", %s)\nfamily(name = \"x\", collectives = [\"allgather-x\"])\ndef program(topo, p):\n    pass\n", bombFunctions, c)
		l := patient
		if strings.Contains(c, "tuples") {
			l = little // nothing stops a hash but the end of its process
		}
		tpl, err := loadApart("x.star", []byte(src), Options{}, l)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tpl.Collective(Even(2, 4), Request{Collective: "allgather-x"}, 1)
		wantRefused(t, err, src, tooMuch)
	}
}
