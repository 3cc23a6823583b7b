package ptxtest

import (
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/colltune/colltune/internal/dynlib"
)

// Library is the emulated library's name, for driver.Provide.
const Library = "libcuda.emulated"

// now is the driver behind the functions of the library: there is one at a time,
// as on a host.
var now struct {
	sync.Mutex
	d *driver
}

// driver is the state of the library, by handles.
type driver struct {
	m        *Machine
	handles  uintptr
	contexts map[uintptr]int // how often they were retained
	current  uintptr
	modules  map[uintptr]*Module
	kernels  map[uintptr]loaded
	streams  map[uintptr]*stream
	events   map[uintptr]*event
	graphs   map[uintptr][]work
	host     map[uintptr]*region // by the host's address
}

type loaded struct {
	module *Module
	f      *function
}

// Use makes the machine the one behind the library.
func (m *Machine) Use() {
	now.Lock()
	defer now.Unlock()
	m.Devices = orElse(m.Devices, 1)
	m.SMs = orElse(m.SMs, 4)
	m.Memory = orElse(m.Memory, 1<<30)
	m.Tick = orElse(m.Tick, 1000)
	m.Most = orElse(m.Most, 1<<40)
	m.random = rand.New(rand.NewPCG(m.Seed, 0x9e3779b97f4a7c15))
	m.reaches = map[[2]int]bool{}
	m.frames = map[*function][]frame{}
	now.d = &driver{
		m: m, contexts: map[uintptr]int{}, modules: map[uintptr]*Module{}, kernels: map[uintptr]loaded{}, streams: map[uintptr]*stream{},
		events: map[uintptr]*event{}, graphs: map[uintptr][]work{}, host: map[uintptr]*region{},
	}
}

func orElse[T comparable](v, other T) T {
	var zero T
	if v == zero {
		return other
	}
	return v
}

// Held returns the number of the driver's objects and allocations that were not released.
func (m *Machine) Held() int {
	now.Lock()
	defer now.Unlock()
	d := now.d
	n := len(d.modules) + len(d.streams) + len(d.events) + len(d.graphs) + len(m.memory.regions)
	for _, c := range d.contexts {
		n += c
	}
	return n
}

var errNoFunction = errors.New("the emulated library has no such function")

var (
	symbols   sync.Once
	addresses map[string]dynlib.Symbol
)

// Symbol returns the address of a function of the emulated library, for driver.Provide.
// The error is errNoFunction if the library has no function of that name.
func Symbol(name string) (dynlib.Symbol, error) {
	symbols.Do(func() {
		addresses = map[string]dynlib.Symbol{}
		for name, f := range calls {
			addresses[name] = dynlib.Callback(func(a, b, c, d, e, f2, g, h, i, j, k uintptr) uintptr {
				now.Lock()
				defer now.Unlock()
				return uintptr(f(now.d, arguments{a, b, c, d, e, f2, g, h, i, j, k}))
			})
		}
	})
	s, ok := addresses[name]
	if !ok {
		return 0, errNoFunction
	}
	return s, nil
}
