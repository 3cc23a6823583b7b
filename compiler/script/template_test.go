package script

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/lang"
)

// figure3 is GC3's Figure 3 with section 5.1's parallelize, which is a loop here:
// Starlark has no with.
const figure3 = `
family(name = "figure-3", collectives = ["allreduce"])

def chunks(topo, p):
    return topo.ranks

def allreduce(topo, p):
    HierarchicalAllReduce(topo.nodes, topo.gpus)

# N: number of nodes
# G: number of GPUs per node
# N*G: number of chunks
def HierarchicalAllReduce(N, G):
    # intra-node ReduceScatter
    for n in range(N):
        local_ranks = [i+n*G for i in range(G)]
        for _ in parallelize(N):
            ReduceScatter(local_ranks, 0, N)

    # inter-node ReduceScatter + AllGather
    for g in range(G):
        cross_ranks = [i*G+g for i in range(N)]
        ReduceScatter(cross_ranks, g*N, 1)
        AllGather(cross_ranks, g*N, 1)

    # intra-node AllGather
    for n in range(N):
        local_ranks = [i+n*G for i in range(G)]
        AllGather(local_ranks, 0, N)

# ranks = list of ranks involved
# offset = offset into the input buffer
# count = num. of chunks sent at each step
def ReduceScatter(ranks, offset, count):
    R = len(ranks)
    for r in range(0, R):
        index = offset + r * count
        c = chunk(ranks[(r+1)%R], 'in', index, count)
        for step in range(1, R):
            next = ranks[(step+r+1)%R]
            c = chunk(next, 'in', index, count).reduce(c)

def AllGather(ranks, offset, count):
    R = len(ranks)
    for r in range(0, R):
        index = offset + r * count
        c = chunk(ranks[r], 'in', index, count)
        for step in range(1, R):
            next = ranks[(step+r)%R]
            c = c.copy(next, 'in', index, count)
`

// figure8 is GC3's Figure 8, the coalesced send where it is meant.
const figure8 = `
family(name = "figure-8", collectives = ["alltoall"])

def program(topo, p):
    alltoall(topo.nodes, topo.gpus)

def alltoall(N, G):
    for n in range(N):
        for g in range(G):
            for m in range(N):
                for i in range(G):
                    c = chunk((m,i), 'in', (n,g))
                    if n == m:
                        c.copy((n,g), 'out', (m,i))
                    else:
                        c.copy((m,g), 'sc', (n,i))
                # Coalesced IB send
                if n != m:
                    c = chunk((m,g), 'sc', n*G, sz=G)
                    c.copy((n,g), 'out', m*G)
`

func TestFigure3AsPrinted(t *testing.T) {
	p, err := loadAndRun("figure3.star", figure3, Even(2, 3))
	if err != nil {
		t.Fatal(err)
	}
	// Within the nodes 2 × 3 × 2 steps each way, between them 3 × 2 × 1.
	if len(p.Ops) != 12+6+6+12 || len(p.Scopes) != 3 || p.Scopes[1].Factor != 2 {
		t.Errorf("%d operations in scopes %v", len(p.Ops), p.Scopes)
	}
	first := lang.Op{
		Kind: lang.Reduce, Src: lang.Span{Rank: 1, Count: 2, Stride: 1}, Dst: lang.Span{Rank: 2, Count: 2, Stride: 1},
		Channel: -1, Scope: 1,
	}
	at := lang.Pos{File: "figure3.star", Line: 41, Col: 55}
	want := &lang.Program{}
	want.Add(first, at)
	if p.Pos(&p.Ops[0]) != at || p.Ops[0] != want.Ops[0] {
		t.Errorf("first operation at %v: %+v\nwant at %v: %+v", p.Pos(&p.Ops[0]), p.Ops[0], at, want.Ops[0])
	}
}

func TestFigure8AsMeant(t *testing.T) {
	const N, G = 3, 2
	p, err := loadAndRun("figure8.star", figure8, Even(N, G))
	if err != nil {
		t.Fatal(err)
	}
	coalesced := 0
	for _, op := range p.Ops {
		if op.Src.Count == G {
			coalesced++
		}
	}
	if coalesced != N*(N-1)*G {
		t.Errorf("%d sends of %d chunks, want %d", coalesced, G, N*(N-1)*G)
	}
}

// TestIndexPairsStepOverWholeChunks runs the direct alltoall, written with
// pairs only, with 1 and with 3 chunks for each pair of ranks.
func TestIndexPairsStepOverWholeChunks(t *testing.T) {
	for _, n := range []int{1, 3} {
		src := fmt.Sprintf(`
family(name = "x", collectives = ["alltoall"])
def chunks(topo, p):
    return %d
def program(topo, p):
    gpus = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)]
    for a in gpus:
        for b in gpus:
            chunk(a, "input", b).copy(b, "output", a)
`, n)
		p, err := loadAndRun("x.star", src, Machine{Nodes: 3, GPUsPerNode: []int{2, 1, 3}})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Ops) != 36 || int(p.Ops[35].Src.Count) != n {
			t.Errorf("%d chunks: %d operations, the last of %d chunks", n, len(p.Ops), p.Ops[35].Src.Count)
		}
	}
}

func TestParallelizeForms(t *testing.T) {
	src := `
family(name = "x", collectives = ["sendrecv"])
def program(topo, p):
    def body():
        chunk(0, "in", 0).copy(1, "out", 0)
        return 7
    if parallelize(2, body) != 7:
        fail("the body's result is lost")
    for n in parallelize(3):
        chunk(1, "in", 0).copy(0, "out", 0)
        break
    for _ in parallelize(1):
        chunk(1, "in", 0).copy(0, "out", 0)
`
	p, err := loadAndRun("x.star", src, Even(1, 2))
	if err != nil {
		t.Fatal(err)
	}
	var factors []int
	for _, op := range p.Ops {
		factors = append(factors, p.Scopes[op.Scope].Factor)
	}
	if !reflect.DeepEqual(factors, []int{2, 3, 1}) {
		t.Errorf("factors %v", factors)
	}
}

func TestReferencesShowTheirPlace(t *testing.T) {
	src := `
family(name = "x", collectives = ["allgather"])
def chunks(topo, p):
    return 4
def program(topo, p):
    c = chunk((0, 1), "in", 0, 2, stride = 2)
    got = (c.rank, c.buffer, c.index, c.count, c.stride, str(c), type(c), dir(c))
    fail("%s" % (got,))
`
	_, err := loadAndRun("x.star", src, Even(1, 2))
	want := `(1, "in", 0, 2, 2, "rank 1 in[0:4:2]", "chunk", ["buffer", "copy", "copy_along", "count", "group", "index", "rank", "reduce", "reduce_along", "split", "stride"])`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// On machines with any links topo.unlinked() is the first pair for which
// topo.linked(a, b) is false, or None.
func TestUnlinked(t *testing.T) {
	src := `
family(name = "x", collectives = ["broadcast"])
def applies(topo, p):
    apart = [(a, b) for a in range(topo.ranks) for b in range(topo.ranks) if not topo.linked(a, b)]
    return topo.unlinked() == (apart[0] if apart else None)
def program(topo, p):
    pass
`
	tpl, err := Load("x.star", []byte(src), Options{})
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		m := Machine{Nodes: 2, GPUsPerNode: []int{rapid.IntRange(1, 3).Draw(t, "gpus"), 2}}
		if rapid.Bool().Draw(t, "links") {
			n := m.Ranks()
			links := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) bool { return rapid.IntRange(0, 9).Draw(t, "link") > 0 }), n*n, n*n).Draw(t, "links")
			m.Linked = func(a, b int) bool { return links[a*n+b] }
		}
		if ok, why, err := tpl.Applies(m, "broadcast", 0); err != nil || !ok {
			t.Errorf("%v %q %v", ok, why, err)
		}
	})
}

func TestApplies(t *testing.T) {
	src := `
family(name = "x", collectives = ["broadcast", "allgather"], parameters = {"n": choice(1, 2)})
def applies(topo, p):
    if topo.nodes == 2:
        return False
    if topo.nodes == 3:
        return "three nodes: %s, n=%d, root=%d, in place %s" % (topo.collective, p.n, topo.root, topo.in_place)
    if topo.nodes == 4:
        return None
    return topo.gpus == None and topo.linked(0, (0, 1)) and not topo.linked((0, 1), 0) and topo.unlinked() == (1, 0) and topo.node(0) == [0, 1]
def program(topo, p):
    pass
`
	tpl, err := Load("x.star", []byte(src), Options{})
	if err != nil {
		t.Fatal(err)
	}
	oneWay := Machine{Nodes: 1, GPUsPerNode: []int{2}, Linked: func(a, b int) bool { return a < b }}
	for _, c := range []struct {
		m    Machine
		coll string
		root int
		yes  bool
		why  string
		err  string
	}{
		{m: oneWay, coll: "broadcast", why: "it does not apply here"},
		{m: Machine{Nodes: 5, GPUsPerNode: []int{2, 1, 1, 1, 1}, Linked: oneWay.Linked}, coll: "broadcast", yes: true},
		{m: Even(2, 1), coll: "broadcast", why: "it does not apply here"},
		{m: Even(3, 1), coll: "broadcast", root: 2, why: "three nodes: broadcast, n=1, root=2, in place True"},
		{m: Even(3, 1), coll: "allgather", why: "three nodes: allgather, n=1, root=0, in place False"},
		{m: Even(3, 1), coll: "alltoall", why: "alltoall is not among its collectives (broadcast, allgather)"},
		{m: Even(4, 1), coll: "broadcast", err: "x.star:3:1: applies returned None: want True, or a string that says why not"},
		{m: Even(3, 1), coll: "broadcast", root: 3, err: "root 3 is out of range: there are 3 ranks"},
		{m: Machine{Nodes: 2, GPUsPerNode: []int{1}}, coll: "broadcast", err: "machine of 2 nodes with GPU counts for 1: want one count a node"},
		{m: Even(2, 0), coll: "broadcast", err: "node 0 has 0 GPUs: want at least 1"},
	} {
		yes, why, err := tpl.Applies(c.m, c.coll, c.root)
		if yes != c.yes || why != c.why || fmt.Sprint(err) != fmt.Sprint(errorText(c.err)) {
			t.Errorf("%+v: %v, %q, %v", c, yes, why, err)
		}
	}
}

// errorText returns nil, or something that prints as the text.
func errorText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func TestMissingDeclarations(t *testing.T) {
	for src, want := range map[string]string{
		"x = 1\n": "x.star: family(…) is missing: a template declares its name, collectives and parameters",
		"family(name = \"x\", collectives = [\"allgather\"])\n": "x.star: allgather is declared, but there is neither def program(topo, p) nor def allgather(topo, p)",
	} {
		if _, err := Load("x.star", []byte(src), Options{}); err == nil || err.Error() != want {
			t.Errorf("error\n\t%v\nwant\n\t%s", err, want)
		}
	}
}

func TestPrintGoesWhereItIsTold(t *testing.T) {
	var said []string
	tpl, err := Load("x.star", []byte(`
family(name = "x", collectives = ["allgather"])
print("loading")
def program(topo, p):
    print("running", topo.ranks)
    chunk(0, "in", 0).copy(0, "out", 0)
`), Options{Print: func(s string) { said = append(said, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Trace(Even(1, 1), Request{Collective: "allgather"}, nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(said, []string{"loading", "running 1"}) {
		t.Errorf("said %q", said)
	}
}

// TestModulesAreLoadedOnce: a module that both the template and another module load is
// run once.
func TestModulesAreLoadedOnce(t *testing.T) {
	var said []string
	_, err := Load("x.star", []byte(`
load("a.star", "a")
load("b.star", "b")
family(name = "x", collectives = ["allgather"])
def program(topo, p):
    pass
`), Options{
		Print: func(s string) { said = append(said, s) },
		Library: map[string]string{
			"a.star": "print(\"a\")\na = 1\n",
			"b.star": "load(\"a.star\", \"a\")\nprint(\"b\")\nb = a\n",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(said, []string{"a", "b"}) {
		t.Errorf("said %q, want each module once", said)
	}
}

func TestOneTemplateInManyGoroutines(t *testing.T) {
	tpl, err := Load("figure3.star", []byte(figure3), Options{})
	if err != nil {
		t.Fatal(err)
	}
	programs := make([]*lang.Program, 8)
	var wg sync.WaitGroup
	for i := range programs {
		wg.Go(func() {
			p, err := tpl.Trace(Even(2, 3), Request{Collective: "allreduce", InPlace: true}, nil)
			if err != nil {
				t.Error(err)
			}
			programs[i] = p
		})
	}
	wg.Wait()
	for _, p := range programs[1:] {
		if !reflect.DeepEqual(p.Ops, programs[0].Ops) {
			t.Error("two runs gave two programs")
		}
	}
}

// FuzzLoad loads and runs any text: it is a template or an error, never a panic.
func FuzzLoad(f *testing.F) {
	f.Add(figure3)
	f.Add(figure8)
	f.Add(paramsText)
	f.Add("family(name = \"x\", collectives = [\"allreduce\"])\ndef program(topo, p):\n    a = [1] * 3\n    a += a\n    print(\",\".join([\"%d\" % x for x in a]))\n")
	f.Add("load(\"lib.star\", \"send\")\nx = {1: [send]}\nx[1] += (2,)\n")
	f.Add("def all(*args):\n    args += (1,)\n    return args\na, (b, c) = 1, (2, (3, 4))\nd = {(b, c): 1}\nfor d[a] in [b << a, c == (3, 4), b in [a, b], [5, 6].index(6), [1].pop(0)]:\n    pass\ne = \"x\"\ne += sorted([\"b\", \"a\"])[0]\nf = all(*zip([a], [c]))\n")
	f.Fuzz(func(t *testing.T, src string) {
		tpl, err := LoadApart("fuzz.star", []byte(src), Options{Library: testLibrary})
		if err != nil {
			if strings.Contains(err.Error(), "internal error") {
				t.Fatal(err)
			}
			return
		}
		for _, c := range tpl.Collectives {
			q := Request{Collective: c}
			for _, call := range []func() error{
				func() error { _, _, err := tpl.Admits(Even(2, 2), q, nil); return err },
				func() error { _, err := tpl.Trace(Even(2, 2), q, nil); return err },
			} {
				if err := call(); err != nil && strings.Contains(err.Error(), "internal error") {
					t.Fatal(err)
				}
			}
		}
	})
}
