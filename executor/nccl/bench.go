package nccl

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"slices"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor/data"
)

// bench is the library with its communicators, in a process whose environment selects what
// it uses.
type bench struct {
	library *library
	devices devices
	comms   []uintptr
	streams []uintptr
	begin   []uintptr // events
	end     []uintptr
}

// openBench opens n devices with a communicator over them.
func openBench(path string, n int) (*bench, error) {
	l, err := openLibrary(path)
	if err != nil {
		return nil, err
	}
	d, err := openDevices(l.kind)
	if err != nil {
		return nil, err
	}
	there, err := d.count()
	if err != nil {
		return nil, err
	}
	if there < n {
		return nil, unsupported("%d ranks: this host has %d GPUs, and the library gives each rank one", n, there)
	}
	b := &bench{library: l, devices: d}
	for rank := range n {
		if err := d.use(rank); err != nil {
			return nil, err
		}
		stream, err := d.newStream()
		if err != nil {
			return nil, err
		}
		b.streams = append(b.streams, stream)
		for _, events := range []*[]uintptr{&b.begin, &b.end} {
			e, err := d.newEvent()
			if err != nil {
				return nil, err
			}
			*events = append(*events, e)
		}
	}
	b.comms, err = l.communicators(n)
	return b, err
}

func openDevices(kind string) (devices, error) {
	if kind == "rccl" {
		return openHIP()
	}
	return openCUDA()
}

// request is a trial, as it is sent to the process that runs it.
type request struct {
	Library    string          `json:"library"`
	Collective collective.Spec `json:"collective"`
	Bytes      int64           `json:"bytes"`
	DType      string          `json:"dtype"`
	Op         string          `json:"op"`
	Iters      int             `json:"iters"`
	Warmup     int             `json:"warmup"`
	Seed       int64           `json:"seed"`
}

// answer is the result of a request.
type answer struct {
	TimesUS     []float64 `json:"times_us,omitempty"`
	Wrong       int64     `json:"wrong"`
	Checked     bool      `json:"checked"`
	Note        string    `json:"note,omitempty"`
	Error       string    `json:"error,omitempty"`
	Unsupported bool      `json:"unsupported,omitempty"`
}

// memory is a rank's buffers: on the host, and on its device.
type memory struct {
	host data.Buffers
	at   map[collective.Buffer]uintptr
}

// reference returns the expected result of a request's trial.
func (r *request) reference() (*data.Reference, error) {
	c, err := collective.New(r.Collective)
	if err != nil {
		return nil, err
	}
	d, err := data.ParseDType(r.DType)
	if err != nil {
		return nil, err
	}
	op, err := data.ParseOp(r.Op)
	if err != nil {
		return nil, err
	}
	return data.NewReference(c, r.Bytes, d, op, r.Seed)
}

// run measures one trial. It warms up, times iterations by events around each, and
// runs once more on fresh inputs to check the result.
func (b *bench) run(r request) (answer, error) {
	reference, err := r.reference()
	if err != nil {
		return answer{}, err
	}
	c := reference.Collective
	ranks := make([]memory, c.Ranks)
	defer b.release(ranks)
	for rank := range ranks {
		if err := b.allocate(reference, rank, &ranks[rank]); err != nil {
			return answer{}, fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	if err := b.fill(reference, ranks); err != nil {
		return answer{}, err
	}
	calls := make([][]call, c.Ranks)
	for rank := range calls {
		calls[rank] = callsOf(c, reference.Layout, rank)
	}
	var a answer
	for i := range r.Warmup + max(r.Iters, 1) {
		us, err := b.iterate(reference, calls, ranks)
		if err != nil {
			return answer{}, err
		}
		if i >= r.Warmup {
			a.TimesUS = append(a.TimesUS, us)
		}
	}
	if err := b.fill(reference, ranks); err != nil {
		return answer{}, err
	}
	if _, err := b.iterate(reference, calls, ranks); err != nil {
		return answer{}, err
	}
	if reference.Op == data.Avg && reference.DType.Float() && bits.OnesCount(uint(c.Ranks)) > 1 {
		a.Note = "not checked: the library multiplies by 1/ranks where the reference divides"
		return a, nil
	}
	a.Checked = true
	for rank := range ranks {
		wrong, err := b.wrong(reference, rank, &ranks[rank])
		if err != nil {
			return answer{}, err
		}
		a.Wrong += wrong
	}
	return a, nil
}

func (b *bench) allocate(r *data.Reference, rank int, m *memory) error {
	in, out, _ := r.Sizes(rank, 0)
	m.host = data.Buffers{In: make([]byte, in), Out: make([]byte, out)}
	m.at = map[collective.Buffer]uintptr{}
	if err := b.devices.use(rank); err != nil {
		return err
	}
	for buffer, size := range map[collective.Buffer]int64{collective.In: in, collective.Out: out} {
		if size == 0 {
			continue
		}
		address, err := b.devices.alloc(size)
		if err != nil {
			return fmt.Errorf("%d bytes of device memory: %w", size, err)
		}
		m.at[buffer] = address
	}
	return nil
}

func (b *bench) release(ranks []memory) {
	for rank := range ranks {
		if b.devices.use(rank) != nil {
			continue
		}
		for _, address := range ranks[rank].at {
			b.devices.free(address)
		}
	}
}

// fill writes every rank's input, and poison everywhere else.
func (b *bench) fill(r *data.Reference, ranks []memory) error {
	for rank := range ranks {
		m := &ranks[rank]
		r.Init(rank, &m.host)
		if err := b.devices.use(rank); err != nil {
			return err
		}
		for buffer, host := range map[collective.Buffer][]byte{collective.In: m.host.In, collective.Out: m.host.Out} {
			if err := b.devices.toDevice(m.at[buffer], host); err != nil {
				return err
			}
		}
	}
	return nil
}

// wrong counts the wrong elements of a rank's result.
func (b *bench) wrong(r *data.Reference, rank int, m *memory) (int64, error) {
	if err := b.devices.use(rank); err != nil {
		return 0, err
	}
	for buffer, host := range map[collective.Buffer][]byte{collective.In: m.host.In, collective.Out: m.host.Out} {
		if err := b.devices.fromDevice(host, m.at[buffer]); err != nil {
			return 0, err
		}
	}
	return r.Wrong(rank, &m.host), nil
}

// iterate makes the call once on all ranks and waits for its end. It returns the longest
// time of a rank in microseconds, between events on its stream.
func (b *bench) iterate(r *data.Reference, calls [][]call, ranks []memory) (float64, error) {
	if err := b.mark(b.begin); err != nil {
		return 0, err
	}
	if err := b.library.call("ncclGroupStart"); err != nil {
		return 0, err
	}
	for rank := range calls {
		if err := b.devices.use(rank); err != nil {
			return 0, err
		}
		for _, c := range calls[rank] {
			if err := b.enqueue(r, rank, c, &ranks[rank]); err != nil {
				return 0, err
			}
		}
	}
	if err := b.library.call("ncclGroupEnd"); err != nil {
		return 0, err
	}
	if err := b.mark(b.end); err != nil {
		return 0, err
	}
	if err := b.await(); err != nil {
		return 0, err
	}
	longest := 0.0
	for rank := range calls {
		if err := b.devices.use(rank); err != nil {
			return 0, err
		}
		us, err := b.devices.elapsed(b.begin[rank], b.end[rank])
		if err != nil {
			return 0, err
		}
		longest = max(longest, us)
	}
	return longest, nil
}

// mark records an event on every rank's stream.
func (b *bench) mark(events []uintptr) error {
	for rank, e := range events {
		if err := errors.Join(b.devices.use(rank), b.devices.record(e, b.streams[rank])); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) enqueue(r *data.Reference, rank int, c call, m *memory) error {
	from, to := m.at[c.from.buffer]+uintptr(c.from.offset), m.at[c.to.buffer]+uintptr(c.to.offset)
	count, dtype, op := uintptr(c.count), uintptr(slices.Index(collective.DTypes(), r.DType.String())), libraryOps[r.Op]
	comm, stream, peer := b.comms[rank], b.streams[rank], uintptr(c.peer)
	switch c.function {
	case "ncclAllReduce", "ncclReduceScatter":
		return b.library.call(c.function, from, to, count, dtype, op, comm, stream)
	case "ncclReduce":
		return b.library.call(c.function, from, to, count, dtype, op, peer, comm, stream)
	case "ncclAllGather":
		return b.library.call(c.function, from, to, count, dtype, comm, stream)
	case "ncclBroadcast":
		return b.library.call(c.function, from, to, count, dtype, peer, comm, stream)
	case "ncclSend":
		return b.library.call(c.function, from, count, dtype, peer, comm, stream)
	}
	return b.library.call(c.function, to, count, dtype, peer, comm, stream)
}

// await waits for all streams, and polls the communicators for errors: a broken one may
// leave its stream busy for ever.
func (b *bench) await() error {
	for rank, stream := range b.streams {
		if err := b.devices.use(rank); err != nil {
			return err
		}
		for {
			done, err := b.devices.idle(stream)
			if err != nil {
				return err
			}
			if done {
				break
			}
			if err := b.library.asyncError(b.comms[rank]); err != nil {
				return err
			}
			runtime.Gosched()
		}
		if err := b.library.asyncError(b.comms[rank]); err != nil {
			return err
		}
	}
	return nil
}
