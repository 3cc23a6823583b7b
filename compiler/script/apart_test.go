package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/colltune/colltune/compiler/lang"
	"github.com/colltune/colltune/internal/child"
)

// same loads a text in this process and in a child, calls all functions of both
// templates, and fails the test if results or errors differ.
func same(t *testing.T, src string, m Machine, q Request, given map[string]any) {
	t.Helper()
	var printed [2][]string
	var results [2][]any
	for i, load := range []func(string, []byte, Options) (*Template, error){Load, LoadApart} {
		tpl, err := load("x.star", []byte(src), Options{Library: testLibrary, Print: func(s string) { printed[i] = append(printed[i], s) }})
		put := func(all ...any) { results[i] = append(results[i], all...) }
		put(described(err))
		if err != nil {
			continue
		}
		put(tpl.Name, tpl.Doc, tpl.Where, tpl.Collectives, tpl.Parameters, tpl.defined)
		if q.Collective == "" {
			q.Collective = tpl.Collectives[0]
		}
		yes, why, err := tpl.Admits(m, q, given)
		put(yes, why, described(err))
		n, ok, err := tpl.Operations(m, q, given)
		put(n, ok, described(err))
		cost, ok, err := tpl.Cost(m, q, given)
		put(cost, ok, described(err))
		c, err := tpl.Collective(m, q, 2)
		put(c.Spec, described(err))
		p, err := tpl.Trace(m, q, given)
		put(described(err))
		if err == nil {
			put(p.Name, p.Collective.Spec, p.Ops, p.Scopes, p.Scratch, p.Pos(&p.Ops[len(p.Ops)-1]))
		}
	}
	if !reflect.DeepEqual(results[0], results[1]) || !slices.Equal(printed[0], printed[1][:min(len(printed[0]), len(printed[1]))]) {
		t.Errorf("here %v\n%v\nin a child %v\n%v\n%s", results[0], printed[0], results[1], printed[1], src)
	}
}

// described returns all fields of an error as text.
func described(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if e := (*Error)(nil); errors.As(err, &e) && !strings.Contains(e.Msg, "no link") { // which is found where the trace is replayed
		text += fmt.Sprint(e.Pos)
	}
	if e := (*lang.Error)(nil); errors.As(err, &e) {
		text += fmt.Sprintf("%+v", *e)
	}
	return text
}

func TestApartAsHere(t *testing.T) {
	const begin = "print(\"loaded\")\nfamily(name = \"x\", collectives = [\"allgather\"])\n"
	sparse := Machine{Nodes: 3, GPUsPerNode: []int{2, 1, 3}, Linked: func(a, b int) bool { return b != (a+2)%6 }}
	for _, src := range []string{
		figure3, figure8, paramsText,
		"family(name = ,\n", "x = y + zz\n", "family(name = \"x\", collectives = [\"none\"])\n", "load(\"lib.star\", \"send\")\n", "", "print(1)\nfail(\"why\")\n",
		begin + "def program(topo, p):\n    print(topo.ranks)\n    for r in range(topo.ranks):\n        print(r)\n        for q in range(topo.ranks):\n            chunk(r, \"in\", 0).copy(q, \"out\", r, ch = q % 3)\n",
		begin + "def program(topo, p):\n    print([[topo.linked(a, b) for a in range(topo.ranks)] for b in range(topo.ranks)], topo.unlinked())\n    pass\n",
		begin + "def chunks(topo, p):\n    return 2\ndef program(topo, p):\n    c = chunk(0, \"in\", 0, 2).copy(1, \"mine\", 3)\n    c.copy(0, \"theirs\", 0)\n    chunk(0, \"in\", 0).copy(1, \"mine\", 4)\n    c.copy(2, \"out\", 0)\n",
		begin + "def f(r):\n    chunk(r, \"in\", 0).copy(r + 1, \"out\", r)\ndef program(topo, p):\n    for r in range(topo.ranks):\n        f(r)\n",
		begin + "def applies(topo, p):\n    return \"no\" if topo.ranks > 4 else 7\ndef cost(topo, p):\n    return 3, (topo.ranks, 4)\ndef operations(topo, p):\n    return 1 << 40\ndef program(topo, p):\n    pass\n",
		begin + "def cost(topo, p):\n    return 3\ndef chunks(topo, p):\n    return 0\ndef operations(topo, p):\n    return 12\ndef program(topo, p):\n    pass\n",
		`
collective(name = "shift", input = 2, output = lambda topo, rank: 2, want = lambda topo, rank, i: [((rank + 1) % topo.ranks, i), (rank, i)] if i else None)
family(name = "x", collectives = ["shift"])
def program(topo, p):
    for r in range(topo.ranks):
        c = chunk(r, "in", 1).copy(r, "out", 1)
        c.reduce(chunk((r + 1) % topo.ranks, "in", 1))
`,
		"collective(name = \"bad\", input = 1, output = lambda topo, rank: -1, want = lambda topo, rank, i: None)\nfamily(name = \"x\", collectives = [\"bad\"])\ndef program(topo, p):\n    pass\n",
	} {
		for _, m := range []Machine{Even(2, 2), Even(2, 3), sparse} {
			same(t, src, m, Request{}, nil)
		}
	}
	same(t, paramsText, Even(2, 2), Request{}, map[string]any{"no": 1})
	same(t, figure3, Even(2, 3), Request{Collective: "allreduce", MaxOps: 7}, nil)
	same(t, figure3, Machine{Nodes: 2}, Request{Collective: "allreduce"}, nil)
}

// TestLinksAreAskedForOnce: a child keeps the links of a machine, and asks only once.
func TestLinksAreAskedForOnce(t *testing.T) {
	asked := map[[2]int]int{}
	m := NewMachine([]int{60, 70}, func(a, b int) bool { asked[[2]int{a, b}]++; return a != 100 || b != 101 })
	tpl, err := LoadApart("x.star", []byte("family(name = \"x\", collectives = [\"allgather\"])\ndef applies(topo, p):\n    topo.linked(3, 4)\n    return str(topo.unlinked())\ndef program(topo, p):\n    pass\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, why, err := tpl.Applies(m, "allgather", 0); err != nil || why != "(100, 101)" {
			t.Fatal(why, err)
		}
	}
	for pair, n := range asked {
		if n > 1 {
			t.Errorf("the link %v was asked for %d times", pair, n)
		}
	}
	other := NewMachine([]int{60, 70}, func(a, b int) bool { return a != 7 || b != 9 })
	if _, why, err := tpl.Applies(other, "allgather", 0); err != nil || why != "(7, 9)" {
		t.Error("of another machine:", why, err)
	}
}

const stuckAtTwo = `
family(name = "x", collectives = ["allgather"], parameters = {"n": choice(1, 2, 3)})
print("loaded")
def program(topo, p):
    a = []
    for i in range(40 if p.n == 2 else 2):
        a = [a, a]
    print("before")
    b = len("%s" %
            a) # here
    print("after")
    for r in range(topo.ranks):
        for q in range(topo.ranks):
            chunk(r, "in", 0).copy(q, "out", r)
`

// TestLostChild: a child that dies is replaced, and the error names the template's line.
func TestLostChild(t *testing.T) {
	var printed []string
	tpl, err := loadApart("x.star", []byte(stuckAtTwo), Options{Print: func(s string) { printed = append(printed, s) }}, little)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{1: "loaded before after", 2: "loaded before", 3: "loaded before after"} {
		printed = printed[:1]
		_, err := tpl.Trace(Even(1, 3), Request{Collective: "allgather"}, map[string]any{"n": n})
		if n != 2 && err != nil || n == 2 && (err == nil || !strings.HasPrefix(err.Error(), "x.star:10:13: family x: ")) {
			t.Errorf("n=%d: %v", n, err)
		}
		if got := strings.Join(printed, " "); got != want {
			t.Errorf("n=%d: printed %s, want %s", n, got, want)
		}
	}
}

// TestMemoryOfAStep: memory that one step takes is refused by the kernel, or noticed soon.
func TestMemoryOfAStep(t *testing.T) {
	src := "family(name = \"x\", collectives = [\"allgather\"])\ndef program(topo, p):\n    a = 1\n    b = [0] * ((1 << 30) - 1)\n"
	tpl, err := loadApart("x.star", []byte(src), Options{}, little)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tpl.Trace(Even(1, 3), Request{Collective: "allgather"}, nil)
	if want := "x.star:4:19: family x: more than 32 MiB of memory taken"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// children lists the processes that evaluate templates for a process.
func children(t *testing.T, of int) (pids []int) {
	t.Helper()
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	if lists == nil {
		t.Skip("the system does not list a process's children")
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			command, _ := os.ReadFile("/proc/" + field + "/cmdline")
			if pid, err := strconv.Atoi(field); err == nil && strings.Contains(string(command), "\x00"+workerName+"\x00") {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// TestChildrenEnd: few children are kept, and none when they are idle.
func TestChildrenEnd(t *testing.T) {
	for i := range maxRunning + 3 {
		src := fmt.Sprintf("%s# %d\n", stuckAtTwo, i)
		tpl, err := loadApart("x.star", []byte(src), Options{}, little)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			if _, err := tpl.Trace(Even(1, 3), Request{Collective: "allgather"}, map[string]any{"n": 2}); err == nil {
				t.Error("no error")
			}
		}
	}
	if n := len(children(t, os.Getpid())); n > maxRunning {
		t.Errorf("%d children", n)
	}
	for end := time.Now().Add(idleTime + 20*time.Second); len(children(t, os.Getpid())) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("children are left: %v", children(t, os.Getpid()))
		}
	}
}

// asParent makes the test binary a process that runs a template without end, for
// TestChildDiesWithParent to kill.
const asParent = "COLLTUNE_TEST_PARENT"

func runWithoutEnd() {
	l := little
	l.Processor, l.Memory = time.Hour, 1<<30
	src := "family(name = \"x\", collectives = [\"allgather\"])\n" + bombFunctions + "def program(topo, p):\n    print(\"before\")\n    a = {tuples(60): 1}\n"
	tpl, err := loadApart("x.star", []byte(src), Options{Print: func(s string) { fmt.Println(s) }}, l)
	if err == nil {
		_, err = tpl.Trace(Even(1, 3), Request{Collective: "allgather"}, nil)
	}
	fmt.Println(err)
	os.Exit(1)
}

// TestChildDiesWithParent kills a process while its child is in a step without end.
func TestChildDiesWithParent(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asParent+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	said := make([]byte, 100)
	for n := 0; !strings.Contains(string(said[:n]), "before"); {
		more, err := out.Read(said[n:])
		if n += more; err != nil {
			t.Fatalf("%s, %v", said[:n], err)
		}
	}
	pids := children(t, cmd.Process.Pid)
	if len(pids) != 1 {
		t.Fatalf("children %v", pids)
	}
	_ = cmd.Process.Kill()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pids[0]))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the child is still there")
		}
	}
}

// liar is a child whose answers come from its environment. The parent must check each.
func liar(c *child.Conn) error {
	var frames []string
	if err := json.Unmarshal([]byte(os.Getenv("COLLTUNE_TEST_LIES")), &frames); err != nil {
		return err
	}
	for {
		text, err := c.Receive()
		if err != nil {
			return err
		}
		said := []string{`a{"declared": {"Name": "x", "Collectives": ["allgather"]}}`}
		if !strings.Contains(string(text), `"function":"load"`) {
			said = frames
		} else if strings.HasPrefix(frames[0], "load") {
			said = []string{frames[0][len("load"):]}
		}
		for _, s := range said {
			if err := c.Send([]byte(s)); err != nil {
				return err
			}
		}
	}
}

func init() { child.Register("liar", liar) }

func TestLies(t *testing.T) {
	const begun = `b{"chunks": 1}`
	for _, lies := range [][]string{
		{"load"}, {"loadx"}, {"loada"}, {"loada{}"}, {`loada{"declared": {}}`}, {`loada{"declared": {"Name": "X", "Collectives": ["allgather"]}}`},
		{`loada{"declared": {"Name": "x", "Collectives": ["none"]}}`}, {`loada{"declared": {"Name": "x", "Collectives": ["allgather"], "Defined": [{"Name": "allgather"}]}}`},
		{`loada{"declared": {"Name": "x", "Collectives": ["allgather"], "Parameters": [{"Name": "Q"}]}}`},
		{`loada{"declared": {"Name": "x", "Collectives": ["allgather"], "Parameters": [{"Name": "q", "values": [[]]}]}}`},
		{`loada{"declared": {"Name": "x", "Collectives": ["allgather"], "Parameters": [{"Name": "q", "values": [1, 2], "default": 3}]}}`},
		{`loada{"declared": {"Name": "x", "Collectives": ["allgather"], "Parameters": [{"Name": "q", "min": 1, "max": 99999, "default": 3}]}}`},
		{""}, {"z"}, {"a"}, {"a{}"}, {"a[]"}, {"o"}, {"b"}, {"b{}"}, {`b{"chunks": -1}`}, {`b{"chunks": 1, "table": {"in": []}}`}, {begun, begun},
		{begun, "o"}, {begun, "o\x00\x00\x00\x01\x01\x01"}, {begun, "o\xff\xff\xff\xff\xff\xff\xff"}, {begun, "a{}"}, {"l"}, {"l\x00\x00\x7f"}, {"l\x00\xff\x7f\x01"}, {"@"}, {"p" + strings.Repeat("x", maxPrint+9)},
	} {
		text, err := json.Marshal(lies)
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("COLLTUNE_TEST_LIES", string(text))
		w := newWorker("liar", &ask{Function: "load", File: "x.star", Limits: little})
		d, _, err := w.load()
		if err == nil {
			tpl := newTemplate("x.star", d, nil, w)
			_, err = tpl.Trace(Machine{Nodes: 1, GPUsPerNode: []int{2}, Linked: func(int, int) bool { return true }}, Request{Collective: "allgather"}, nil)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "x.star: ") || len(err.Error()) > 1000 {
			t.Errorf("%.100q: %v", lies, err)
		}
		w.stop()
	}
}
