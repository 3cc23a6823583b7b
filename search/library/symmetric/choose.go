package symmetric

// System is a communicator, as the choice sees it: GPUs that are joined by NVLink alone where they share memory.
type System struct {
	Capability int // the lowest compute capability, times ten
	Ranks      int
	Team       int     // ranks that load and store each other's memory (NVIDIA: LSA)
	Multicast  bool    // the switches between them copy to all, and reduce
	NetGBps    float64 // of the narrowest NIC that is a rank's own
	ARM        bool    // the processors, whose memory is coherent with the GPUs'
}

// blackwell is its first compute capability.
const blackwell = 100

// Call is a collective as NCCL is called.
type Call struct {
	Collective string
	// Count is a number of elements: all of an all-reduce, one rank's part of an all-gather or
	// reduce-scatter.
	Count      int64
	ElemBytes  int64
	DType, Op  string // as package collective names them; Op is of reductions alone
	Send, Recv bool   // the buffer is in a window
	InPlace    bool
	Captured   bool // in a CUDA graph; searches ask of calls that are not
	Misaligned bool // send and receive buffers differ by no multiple of 16 bytes from their windows' starts
}

func (c *Call) bytes() int64 { return c.Count * c.ElemBytes }

// rounded is the number of bytes that kernels are compared at.
func (c *Call) rounded(r *Release) float64 {
	if r.cells {
		return float64((c.bytes() + cell - 1) / cell * cell)
	}
	return float64(c.bytes())
}

// Choice is what the library runs.
type Choice struct {
	Kernel string // NCCL's own name; "" of copy engines
	CTAs   int    // threadblocks; 0 of copy engines
	// US is what the library's model takes it to last, in microseconds: NVIDIA's numbers. 0: its score is no time.
	US float64
	// Longer is how many times as long it takes as with the threadblocks that the library gives the kernel; 0: once.
	Longer float64
	// Fitted says that US is of a model that NVIDIA fitted to measured times.
	Fitted bool
	// IfLL says that it runs only if the library would choose LL otherwise (a call of which one buffer is in a window).
	IfLL bool
}

// Choose returns what a release runs for a call; ok is false where it is none of what is here, and the
// library goes on to its rings, trees and NVLS.
func (r *Release) Choose(s System, c Call) (best Choice, ok bool) {
	if r.copies > 0 && r.byCopies(&s, &c) {
		return Choice{US: r.copiesUS(&s, &c)}, true
	}
	var least float32
	for i := range kernels {
		k := &kernels[i]
		if !r.mayServe(k, &s, &c) || !r.registered(k, &c) {
			continue
		}
		x, serves := r.time(k, &s, &c)
		if !serves {
			continue
		}
		score := scored(x.us, x.ctas)
		if ok && (score > least || score == least && !r.last) {
			continue
		}
		least, ok = score, true
		best = Choice{Kernel: k.Name, CTAs: x.ctas, US: float64(x.us), Fitted: x.fitted, IfLL: k.is(ll) && !(c.Send && c.Recv)}
		if k == railRing {
			best.US = 0
		}
	}
	return best, ok
}

// timed is a kernel at a number of threadblocks. The library keeps times in single precision.
type timed struct {
	ctas   int
	us     float32
	fitted bool
}

// penalty is what a threadblock costs, as a part of the time.
const penalty float32 = .025

// scored is what kernels are compared by, in single precision as the library has it.
func scored(us float32, ctas int) float32 {
	return us * float32(1+float32(penalty*float32(ctas)))
}

// enough is what a time with fewer threadblocks may be of that with most.
const enough = 1.025

// time is a kernel's time at the number of threadblocks that the library would give it. serves is
// false where it would not run.
func (r *Release) time(k *Kernel, s *System, c *Call) (_ timed, serves bool) {
	least, most := 1, k.mostCTAs(s)
	if k.is(network) {
		return r.overNetwork(k, s, c.rounded(r), most), true
	}
	if r.even && most > 1 {
		most -= most % 2
	}
	if k.is(tma) {
		if c.bytes() < k.deepBytes(s.Ranks, least) {
			return timed{}, false
		}
		for most > least && c.bytes() < k.deepBytes(s.Ranks, most) {
			most -= max(min(most-1, 2), 1)
		}
	}
	at, isFitted := r.model(k, s, c)
	last := timed{most, float32(at(most)), isFitted}
	for n := least; n < most; n++ {
		if r.even && n > 1 && n%2 == 1 {
			continue
		}
		if us := at(n); us <= enough*float64(last.us) {
			return timed{n, float32(us), isFitted}, true
		}
	}
	return last, true
}

// Time is what the model takes a kernel to last with a number of threadblocks, in microseconds, whether or not the release
// would choose it; ok is false of kernels over nodes, and of those that it does not have.
func (r *Release) Time(kernel string, s System, c Call, ctas int) (us float64, ok bool) {
	for i := range kernels {
		if k := &kernels[i]; k.Name == kernel && k.since <= r.number && !k.is(network) {
			at, _ := r.model(k, &s, &c)
			return at(ctas), true
		}
	}
	return 0, false
}

// model returns a kernel's time by its number of threadblocks, and whether that was fitted to measured times.
func (r *Release) model(k *Kernel, s *System, c *Call) (_ func(ctas int) float64, isFitted bool) {
	if f := lookup(models().fitted, r, s, k.Name); f != nil {
		return func(ctas int) float64 { return f.time(k, s.Ranks, float64(c.bytes()), c.InPlace, ctas) }, true
	}
	b := lookup(models().base, r, s, k.Name)
	bus := busBytes(k, s.Ranks, int64(c.rounded(r)))
	return func(ctas int) float64 { return b.time(bus, s.Ranks, ctas) }, false
}
