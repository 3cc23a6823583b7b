package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/colltune/colltune/compiler/collective"
)

var allDTypes = []DType{I8, U8, I32, U32, I64, U64, F16, F32, F64, BF16}
var allOps = []Op{Sum, Prod, Min, Max, Avg}

func TestNamesAreTheCollectives(t *testing.T) {
	var names []string
	for _, d := range allDTypes {
		names = append(names, d.String())
		back, err := ParseDType(d.String())
		if err != nil || back != d {
			t.Errorf("%s read as %v, %v", d, back, err)
		}
		if n, err := collective.ElemBytes(d.String()); err != nil || int(n) != d.Bytes() {
			t.Errorf("%s has %d bytes, want %d", d, d.Bytes(), n)
		}
	}
	if !slices.Equal(names, collective.DTypes()) {
		t.Errorf("types %v, want %v", names, collective.DTypes())
	}
	for _, o := range allOps {
		if back, err := ParseOp(o.String()); err != nil || back != o {
			t.Errorf("%s read as %v, %v", o, back, err)
		}
	}
	for _, bad := range []string{"f31", "SUM", "premulsum"} {
		if _, err := ParseDType(bad); err == nil {
			t.Errorf("dtype %s was taken", bad)
		}
		if _, err := ParseOp(bad); err == nil {
			t.Errorf("operation %s was taken", bad)
		}
	}
}

// TestHalves holds both 16-bit floats to their definition: every pattern's
// value, and for values between two patterns the nearer, or the even one.
func TestHalves(t *testing.T) {
	for _, f := range []struct {
		name                string
		exponent, fraction  int
		from                func(uint16) float32
		to                  func(float32) uint16
		infinity, firstNear uint16
	}{
		{"f16", 5, 10, FromF16, ToF16, 0x7c00, 1},
		{"bf16", 8, 7, FromBF16, ToBF16, 0x7f80, 1},
	} {
		value := func(b uint16) float64 {
			e := int(b>>f.fraction) & (1<<f.exponent - 1)
			m := float64(b & (1<<f.fraction - 1))
			bias := 1<<(f.exponent-1) - 1
			if e == 0 {
				return math.Ldexp(m, 1-bias-f.fraction)
			}
			return math.Ldexp(m+float64(int(1)<<f.fraction), e-bias-f.fraction)
		}
		for b := uint16(0); b < f.infinity; b++ {
			x := f.from(b)
			if float64(x) != value(b) {
				t.Fatalf("%s %#x is %v, want %v", f.name, b, x, value(b))
			}
			if f.to(x) != b || f.to(-x) != b|0x8000 || f.from(b|0x8000) != -x {
				t.Fatalf("%s %#x = %v comes back as %#x", f.name, b, x, f.to(x))
			}
			next := value(b + 1) // the infinity counts as the next power of two
			middle := float32((value(b) + next) / 2)
			even := b + b&1
			for _, near := range []struct {
				x    float32
				want uint16
			}{{middle, even}, {math.Nextafter32(middle, 0), b}, {math.Nextafter32(middle, float32(math.Inf(1))), b + 1}} {
				if f.name == "bf16" && b == 0 && near.x == 0 {
					continue // half of the smallest is the smallest f32's neighbour
				}
				if got := f.to(near.x); got != near.want {
					t.Fatalf("%s of %v, near %v, is %#x, want %#x", f.name, near.x, middle, got, near.want)
				}
			}
		}
		inf := float32(math.Inf(1))
		if f.to(inf) != f.infinity || f.from(f.infinity) != inf || f.to(-inf) != f.infinity|0x8000 {
			t.Errorf("%s: infinity is %#x", f.name, f.to(inf))
		}
		nan := float32(math.NaN())
		if x := f.from(f.to(nan)); x == x {
			t.Errorf("%s: not-a-number became %v", f.name, x)
		}
	}
}

// TestValues pins the generator: these figures are what another implementation
// must give. They were worked out from the package's text by a few lines of
// Python.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		seed    uint64
		rank    uint32
		element uint64
		want    uint64
	}{
		{0, 0, 0, 0x0},
		{1, 0, 0, 0x952f14f1e8ddc491},
		{1, 1, 0, 0xdb9c8c0e98909a89},
		{1, 0, 1, 0xc0e16b163a85a4dc},
		{7, 3, 12345, 0x34124f49346e21ec},
		{18446744073709551615, 1000, 8589934592, 0x3c92b10429d5cbcd},
	} {
		if got := Hash(c.seed, c.rank, c.element); got != c.want {
			t.Errorf("hash(%d, %d, %d) = %#x, want %#x", c.seed, c.rank, c.element, got, c.want)
		}
	}
	for _, c := range []struct {
		dtype, op                  string
		terms, seed, rank, element int64
		want                       uint64
	}{
		{"u8", "sum", 0, 1, 0, 0, 0x91},
		{"f64", "sum", 0, 1, 2, 3, 0x2054cd8bb02c1773},
		{"i8", "sum", 8, 1, 2, 3, 0x73},
		{"i32", "prod", 8, 1, 2, 3, 0xb02c1773},
		{"u64", "avg", 8, 1, 2, 3, 0x2054cd8bb02c1773},
		{"f32", "sum", 8, 1, 2, 3, 0xc93f5670},
		{"f16", "sum", 8, 1, 2, 3, 0xda00},
		{"bf16", "avg", 8, 1, 2, 3, 0xc1c0},
		{"f64", "sum", 8, 1, 2, 3, 0xc127eace00000000},
		{"bf16", "sum", 1000, 1, 2, 3, 0x0},
		{"bf16", "sum", 1000, 1, 3, 3, 0x0},
		{"bf16", "sum", 1000, 1, 4, 3, 0x0},
		{"bf16", "sum", 1000, 1, 5, 3, 0x3f80},
		{"f32", "min", 8, 1, 2, 3, 0xc93f5670},
		{"bf16", "max", 8, 1, 2, 3, 0xc33f},
		{"f16", "prod", 8, 1, 2, 3, 0xb800},
		{"f16", "prod", 40, 1, 2, 3, 0xbc00},
		{"f16", "prod", 40, 1, 3, 3, 0x3c00},
		{"f16", "prod", 40, 1, 4, 3, 0xbc00},
		{"f64", "prod", 8, 5, 6, 7, 0xc000000000000000},
	} {
		d, _ := ParseDType(c.dtype)
		op, _ := ParseOp(c.op)
		p := NewParams(d, op, int(c.terms), c.seed)
		if got := p.Value(int(c.rank), c.element); got != c.want {
			t.Errorf("%+v: %#x", c, got)
		}
	}
	for _, d := range allDTypes {
		for _, op := range allOps {
			p := NewParams(d, op, 8, 7)
			whole := make([]byte, 1000*d.Bytes())
			p.Fill(whole, 3, 0)
			part := make([]byte, 10*d.Bytes())
			p.Fill(part, 3, 500)
			if !bytes.Equal(part, whole[500*d.Bytes():510*d.Bytes()]) {
				t.Errorf("%s %s: elements 500 to 509 depend on where a fill begins", d, op)
			}
			if bits := p.Value(3, 501); get(part[d.Bytes():], d.Bytes()) != bits {
				t.Errorf("%s %s: element 501 is %#x, filled in as %#x", d, op, bits, part[d.Bytes():2*d.Bytes()])
			}
		}
	}
}

// TestAnyOrderIsExact reduces the inputs of all ranks in random trees, in the
// element type at every step, and wants the reference's bits each time: that is
// why nothing needs a tolerance.
func TestAnyOrderIsExact(t *testing.T) {
	for _, ranks := range []int{2, 3, 8, 13, 127, 128, 129, 256, 257, 1000, 2049, 5000} {
		for _, d := range allDTypes {
			for _, op := range allOps {
				const n = 16
				col, err := collective.New(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: 1})
				if err != nil {
					t.Fatal(err)
				}
				r, err := NewReference(col, int64(n*d.Bytes()), d, op, int64(ranks))
				if err != nil {
					t.Fatal(err)
				}
				order := rand.New(rand.NewPCG(1, uint64(ranks)))
				var terms [][]byte
				for rank := range ranks {
					b := make([]byte, n*d.Bytes())
					r.Input(b, rank, 0)
					terms = append(terms, b)
				}
				reduce := Reduction(d, op)
				for len(terms) > 1 {
					i, j := order.IntN(len(terms)), order.IntN(len(terms)-1)
					if j >= i {
						j++
					}
					reduce(terms[i], terms[i], terms[j])
					terms[j] = terms[len(terms)-1]
					terms = terms[:len(terms)-1]
				}
				b := Buffers{In: make([]byte, n*d.Bytes()), Out: terms[0]}
				if op == Avg {
					r.Average(0, &b)
				}
				if wrong := r.Wrong(0, &b); wrong != 0 {
					t.Errorf("%d ranks %s %s: %d of %d elements differ", ranks, d, op, wrong, n)
				}
			}
		}
	}
}

// TestMissingTermsAreSeen: a reduction that lacks a rank, or has one twice, is
// another value somewhere. (A minimum that has one twice is the same.)
func TestMissingTermsAreSeen(t *testing.T) {
	const n = 3000
	for _, ranks := range []int{2, 8, 300} {
		col, err := collective.New(collective.Spec{Name: "allreduce", Ranks: ranks, Chunks: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range allDTypes {
			for _, op := range allOps {
				r, err := NewReference(col, int64(n*d.Bytes()), d, op, 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, twice := range []bool{false, true} {
					if twice && (op == Min || op == Max) {
						continue
					}
					sum := make([]byte, n*d.Bytes())
					term := make([]byte, n*d.Bytes())
					r.Input(sum, 1, 0)
					for rank := range ranks {
						times := 1
						switch {
						case rank == 1:
							times = 0
						case rank == 0 && twice:
							times = 2
						case rank == 0:
							times = 0
						}
						r.Input(term, rank, 0)
						for range times {
							Reduction(d, op)(sum, sum, term)
						}
					}
					b := Buffers{Out: sum, In: term}
					if op == Avg {
						r.Average(0, &b)
					}
					// An average of bytes over more ranks than a byte counts is 0.
					if r.Wrong(0, &b) == 0 && !(op == Avg && d.Bytes() == 1 && ranks > 255) {
						t.Errorf("%d ranks %s %s, rank 0 twice: %v, was not seen", ranks, d, op, twice)
					}
				}
			}
		}
	}
}

func TestLayout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := collective.Spec{
			Name:   rapid.SampledFrom(collective.Names()).Draw(t, "name"),
			Ranks:  rapid.IntRange(2, 9).Draw(t, "ranks"),
			Chunks: rapid.IntRange(1, 40).Draw(t, "chunks"),
		}
		if n := collective.CountsOf(s.Name, s.Ranks); n > 0 {
			s.Counts = rapid.SliceOfN(rapid.IntRange(0, 4), n, n).Draw(t, "counts")
			s.Counts[0] = 1
		}
		c, err := collective.New(s)
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.SampledFrom(allDTypes).Draw(t, "dtype")
		size := rapid.Int64Range(0, 5000).Draw(t, "bytes")
		l, err := NewLayout(c, size, d)
		if err != nil {
			t.Fatal(err)
		}
		all := (size + int64(d.Bytes()) - 1) / int64(d.Bytes())
		// The chunk is what the simulator's arithmetic makes of it, too.
		if loop := int64(c.LoopChunks()); l.ChunkElements != (all+loop-1)/loop {
			t.Errorf("chunks of %d elements, want %d over %d rounded up", l.ChunkElements, all, loop)
		}
		total := int64(0)
		for i := range c.LoopChunks() {
			if l.Start(i) != total {
				t.Fatalf("chunk %d begins at %d, want %d", i, l.Start(i), total)
			}
			n := l.Elements(i)
			if n != l.ChunkElements && n != l.ChunkElements-1 || l.Even() && n != l.ChunkElements {
				t.Errorf("chunk %d has %d of %d elements", i, n, l.ChunkElements)
			}
			if n != l.Elements(i%s.Chunks) {
				t.Errorf("chunk %d has %d elements, its like in the first unit %d", i, n, l.Elements(i%s.Chunks))
			}
			total += n
		}
		if total < all || total != l.Start(c.LoopChunks()) {
			t.Errorf("all chunks have %d elements, the call %d", total, all)
		}
		for rank := range s.Ranks {
			for i := range c.OutChunks(rank) {
				if w := c.Want(rank, i); w.Kind == collective.WantInput && l.Elements(w.Index) != l.Elements(i) {
					t.Errorf("chunk %d of rank %d has %d elements, what it must be %d", i, rank, l.Elements(i), l.Elements(w.Index))
				}
			}
		}
	})
}

// TestReference does every collective by hand, in place and out of place: what
// the definition says gives no wrong element, and each byte changed one.
func TestReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := collective.Spec{
			Name:    rapid.SampledFrom(collective.Names()).Draw(t, "name"),
			Ranks:   rapid.IntRange(2, 5).Draw(t, "ranks"),
			Chunks:  rapid.IntRange(1, 5).Draw(t, "chunks"),
			InPlace: rapid.Bool().Draw(t, "in place"),
		}
		if n := collective.CountsOf(s.Name, s.Ranks); n > 0 {
			s.Counts = rapid.SliceOfN(rapid.IntRange(0, 2), n, n).Draw(t, "counts")
			s.Counts[n-1] = 1
		}
		c, err := collective.New(s)
		if err != nil {
			s.InPlace = false
			if c, err = collective.New(s); err != nil {
				t.Fatal(err)
			}
		}
		if c.Rooted() {
			s.Root = rapid.IntRange(0, s.Ranks-1).Draw(t, "root")
			if c, err = collective.New(s); err != nil {
				t.Fatal(err)
			}
		}
		d, op := rapid.SampledFrom(allDTypes).Draw(t, "dtype"), rapid.SampledFrom(allOps).Draw(t, "op")
		size := rapid.Int64Range(1, 3000).Draw(t, "bytes")
		r, err := NewReference(c, size, d, op, rapid.Int64().Draw(t, "seed"))
		if err != nil {
			t.Fatal(err)
		}
		buffers, inputs := make([]Buffers, s.Ranks), make([][]byte, s.Ranks)
		for rank := range buffers {
			b := &buffers[rank]
			in, out, sc := r.Sizes(rank, 2)
			b.In, b.Out, b.Scratch = make([]byte, in), make([]byte, out), make([]byte, sc)
			r.Init(rank, b)
			inputs[rank] = bytes.Clone(r.view(rank, collective.In, b))
			right := bytes.Clone(inputs[rank])
			if len(right) > 0 {
				r.Input(right, rank, 0)
			}
			if !bytes.Equal(right, inputs[rank]) {
				t.Fatalf("rank %d: the input was not filled in", rank)
			}
			// Untouched, what is not input in its place is wrong.
			wants := int64(0)
			for i := range c.OutChunks(rank) {
				terms := r.Terms(rank, i)
				ob, oi := c.Place(rank, collective.Out, i)
				ib, ii := c.Place(rank, collective.In, i)
				own := len(terms) == 1 && terms[0].Rank == rank
				if own {
					ib, ii = c.Place(rank, collective.In, terms[0].Index)
				}
				inPlace := len(terms) > 0 && ib == ob && ii == oi && c.InChunks(rank) > 0
				if len(terms) > 0 && !(inPlace && own) && !s.InPlace {
					wants += r.Layout.Elements(i)
				}
			}
			if wrong := r.Wrong(rank, b); !s.InPlace && wrong != wants {
				t.Errorf("%d elements of rank %d are wrong at the start, want %d", wrong, rank, wants)
			}
		}
		chunk := func(b []byte, i int) []byte {
			return b[r.Layout.Start(i)*int64(d.Bytes()) : r.Layout.Start(i+1)*int64(d.Bytes())]
		}
		for rank := range buffers {
			b := &buffers[rank]
			out := r.view(rank, collective.Out, b)
			for i := range c.OutChunks(rank) {
				terms := r.Terms(rank, i)
				if len(terms) == 0 {
					continue
				}
				to := chunk(out, i)
				copy(to, chunk(inputs[terms[0].Rank], terms[0].Index))
				for _, term := range terms[1:] {
					Reduction(d, op)(to, to, chunk(inputs[term.Rank], term.Index))
				}
			}
			if op == Avg {
				r.Average(rank, b)
			}
			if wrong := r.Wrong(rank, b); wrong != 0 {
				t.Errorf("%+v %s %s: %d elements of rank %d are wrong", s, d, op, wrong, rank)
			}
			if len(out) == 0 {
				continue
			}
			at := rapid.IntRange(0, len(out)-1).Draw(t, "flipped")
			element := int64(at / d.Bytes())
			out[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			want := int64(0)
			for i := range c.OutChunks(rank) {
				if r.Layout.Start(i) <= element && element < r.Layout.Start(i+1) && len(r.Terms(rank, i)) > 0 {
					want = 1
				}
			}
			if wrong := r.Wrong(rank, b); wrong != want {
				t.Errorf("one flipped bit makes %d wrong elements, want %d", wrong, want)
			}
		}
	})
}

func TestPoisonSpoils(t *testing.T) {
	for _, d := range allDTypes {
		for _, op := range allOps {
			p := NewParams(d, op, 8, 1)
			b := make([]byte, d.Bytes())
			for e := range int64(200) {
				put(b, d.Bytes(), p.Value(0, e))
				right := bytes.Clone(b)
				bad := make([]byte, d.Bytes())
				put(bad, d.Bytes(), Poison(d, op, true))
				Reduction(d, op)(b, b, bad)
				if bytes.Equal(b, right) && !bytes.Equal(bad, right) {
					t.Errorf("%s %s: poison leaves %x as it is", d, op, right)
				}
			}
		}
	}
}

func TestGuards(t *testing.T) {
	g := NewGuarded(1001)
	if len(g.Bytes()) != 1001 || cap(g.Bytes()) != 1001 || g.Damaged() != 0 {
		t.Fatalf("%d bytes, %d damaged", len(g.Bytes()), g.Damaged())
	}
	for i := range g.Bytes() {
		g.Bytes()[i] = 0xff
	}
	if g.Damaged() != 0 {
		t.Error("writing the buffer damages its guards")
	}
	g.all[GuardBytes-1]++
	g.all[len(g.all)-1]++
	if g.Damaged() != 2 {
		t.Errorf("%d damaged, want 2", g.Damaged())
	}
}

func TestCustomSumsBeyondATypeAreRefused(t *testing.T) {
	want := collective.Want{Kind: collective.WantSum}
	for range 300 {
		want.Of = append(want.Of, collective.Place{})
	}
	c, err := collective.New(collective.Spec{Name: "mine", Ranks: 2, Chunks: 1, Custom: &collective.Table{
		In: []int{1, 1}, Out: []int{1, 0}, Want: [][]collective.Want{{want}, {}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewReference(c, 64, BF16, Sum, 1); err == nil {
		t.Error("a sum of 300 terms was taken for exact in bf16")
	}
	if _, err := NewReference(c, 64, F32, Sum, 1); err != nil {
		t.Error(err)
	}
}

// BenchmarkReduce is of inputs as trials have them, or of any bits.
func BenchmarkReduce(b *testing.B) {
	for _, d := range []DType{I8, I32, F16, BF16, F32, F64} {
		for _, terms := range []int{8, 0} {
			for _, op := range []Op{Sum, Max} {
				b.Run(fmt.Sprintf("%s/%s/terms=%d", d, op, terms), func(b *testing.B) {
					x, y, z := make([]byte, 64<<10), make([]byte, 64<<10), make([]byte, 64<<10)
					p := NewParams(d, op, terms, 1)
					p.Fill(x, 1, 0)
					p.Fill(y, 2, 0)
					b.SetBytes(int64(len(x)))
					for b.Loop() {
						Reduction(d, op)(z, x, y)
					}
				})
			}
		}
	}
}

func BenchmarkFill(b *testing.B) {
	for _, terms := range []int{0, 8} {
		b.Run(fmt.Sprintf("terms=%d", terms), func(b *testing.B) {
			p := NewParams(F32, Sum, terms, 1)
			x := make([]byte, 64<<10)
			b.SetBytes(int64(len(x)))
			for b.Loop() {
				p.Fill(x, 1, 0)
			}
		})
	}
}

// get reads an element of n bytes, as put writes it.
func get(b []byte, n int) uint64 {
	switch n {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.LittleEndian.Uint16(b))
	case 4:
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return binary.LittleEndian.Uint64(b)
}
