package lang

import (
	"strings"
	"testing"

	"github.com/colltune/colltune/compiler/collective"
)

func begin(t *testing.T, s collective.Spec) *Trace {
	t.Helper()
	c, err := collective.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return NewTrace("test", c)
}

func must[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestSplitAndGroup(t *testing.T) {
	tr := begin(t, collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 12})
	ref, refs := must[*Ref](t), must[[]*Ref](t)
	for _, c := range []struct {
		index, count, stride, n int
		want                    string
	}{
		{0, 6, 1, 3, "rank 0 in[0:2] rank 0 in[2:4] rank 0 in[4:6]"},
		{1, 4, 3, 2, "rank 0 in[1:7:3] rank 0 in[7:13:3]"},
		{0, 2, 5, 2, "rank 0 in[0] rank 0 in[5]"},
		{3, 4, 1, 1, "rank 0 in[3:7]"},
	} {
		whole := ref(tr.Chunk(0, collective.In, c.index, c.count, c.stride))
		var got []string
		var back *Ref
		for _, p := range refs(whole.Split(c.n)) {
			got = append(got, p.Describe())
			if back == nil {
				back = p
			} else if c.n == 2 {
				back = ref(p.Group(back)) // whichever comes first
			} else {
				back = ref(back.Group(p))
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("split of %s in %d: %s, want %s", whole.Describe(), c.n, s, c.want)
		}
		if back.Span() != whole.Span() {
			t.Errorf("%s put together again is %s", whole.Describe(), back.Describe())
		}
	}
	whole := ref(tr.Chunk(0, collective.In, 0, 6, 1))
	_, err := whole.Split(4)
	wantErr(t, err, "split of rank 0 in[0:6] in 4: its 6 chunks do not divide")
	_, err = whole.Split(0)
	wantErr(t, err, "in 0")
	far := ref(tr.Chunk(0, collective.In, 8, 2, 1))
	_, err = whole.Group(far)
	wantErr(t, err, "group of rank 0 in[0:6] with rank 0 in[8:10]: want chunks of one buffer that follow one another")
	_, err = whole.Group(whole)
	wantErr(t, err, "group of")
	_, err = whole.Group(ref(tr.Chunk(1, collective.In, 6, 1, 1)))
	wantErr(t, err, "group of")

	// Parts of what has been overwritten are stale.
	sc := ref(whole.Copy(1, collective.Scratch, 0, -1))
	parts := refs(sc.Split(2))
	ref(far.Copy(1, collective.Scratch, 4, -1))
	_, err = sc.Split(2)
	wantErr(t, err, "stale reference: rank 1 sc[4]")
	_, err = parts[0].Group(parts[1])
	wantErr(t, err, "stale reference: rank 1 sc[4]")
}

// TestNamedScratch sends one chunk round through buffers of several names, and
// looks at where they lie in the end.
func TestNamedScratch(t *testing.T) {
	tr := begin(t, collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1})
	ref, named := must[*Ref](t), must[collective.Buffer](t)
	b, a := named(tr.Named("b")), named(tr.Named("a"))
	if again := named(tr.Named("b")); again != b || tr.BufferName(a) != "a" || tr.BufferName(collective.Out) != "out" {
		t.Fatalf("b is %d and %d; %d is called %s", b, again, a, tr.BufferName(a))
	}
	_, err := tr.Chunk(0, a, 0, 1, 1)
	wantErr(t, err, "nothing has been written to rank 0 a[0]")
	c := ref(tr.Chunk(0, collective.In, 0, 1, 1))
	c = ref(c.Copy(0, b, 2, -1)) // b has 3 chunks at rank 0
	if c.Describe() != "rank 0 b[2]" {
		t.Errorf("it is told as %s", c.Describe())
	}
	c = ref(c.Copy(0, a, 0, -1))
	c = ref(c.Copy(0, collective.Scratch, 1, -1))
	c = ref(c.Copy(1, a, 1, -1)) // rank 1 has no b
	ref(c.Copy(1, collective.Out, 0, -1))
	ref(ref(tr.Chunk(1, collective.In, 0, 1, 1)).Copy(0, collective.Out, 0, -1))
	p, err := tr.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if p.Scratch[0] != 2+3+1 || p.Scratch[1] != 2 {
		t.Errorf("scratch of %v chunks", p.Scratch)
	}
	want := []string{"rank 0 sc[4]", "rank 0 sc[5]", "rank 0 sc[1]", "rank 1 sc[1]", "rank 1 out[0]"}
	for i, w := range want {
		if got := p.Ops[i].Dst.String(); got != w {
			t.Errorf("operation %d writes %s, want %s", i, got, w)
		}
	}

	full := begin(t, collective.Spec{Name: "sendrecv", Ranks: 2, Chunks: 1})
	for i := range MaxNamed {
		named(full.Named(strings.Repeat("x", i+1)))
	}
	_, err = full.Named("y")
	wantErr(t, err, "at most 64")
	_, err = full.Chunk(0, collective.Scratch+MaxNamed+1, 0, 1, 1)
	wantErr(t, err, "one that Named gave")
}

// TestOverlapOfNames: equal places of different buffers are different places.
func TestOverlapOfNames(t *testing.T) {
	tr := begin(t, collective.Spec{Name: "sendrecv", Ranks: 1, Chunks: 4})
	ref := must[*Ref](t)
	x, _ := tr.Named("x")
	c := ref(ref(tr.Chunk(0, collective.In, 0, 4, 1)).Copy(0, collective.Scratch, 0, -1))
	c = ref(c.Copy(0, x, 1, -1))
	_, err := c.Copy(0, x, 2, -1)
	wantErr(t, err, "copy of rank 0 x[1:5] to rank 0 x[2:6]: source and destination overlap")
}
