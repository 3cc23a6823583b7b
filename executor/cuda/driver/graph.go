package driver

import (
	"errors"
	"fmt"
	"unsafe"
)

// ErrNoGraphs says that the driver is too old for graphs.
var ErrNoGraphs = errors.New("no CUDA graphs")

// leastForGraphs is the first version of CUDA with all the functions used.
const leastForGraphs = 11040

// Graph is launches recorded from a stream, ready to be launched as one.
type Graph struct {
	c      *Context
	handle uintptr
}

// Graphs is ErrNoGraphs if the driver is too old for them.
func (d *Driver) Graphs() error {
	version, err := d.Version()
	if err != nil {
		return err
	}
	for e := cuStreamBeginCapture; int(e) < len(symbols); e++ {
		if version < leastForGraphs || d.entries[e] == 0 {
			return fmt.Errorf("%w: the driver has CUDA %d.%d, want %d.%d or later", ErrNoGraphs, version/1000, version%1000/10, leastForGraphs/1000, leastForGraphs%1000/10)
		}
	}
	return nil
}

// BeginCapture makes a stream record what is launched into it, from any thread,
// until EndCapture. Nothing runs meanwhile, and nothing but launches may be asked
// of the stream.
func (c *Context) BeginCapture(s Stream) error {
	const relaxed = 2 // any thread may end it
	return c.call(cuStreamBeginCapture, uintptr(s), relaxed)
}

// EndCapture ends the recording and makes a graph of it. Call it even if a launch
// has failed: the stream can't be used before.
func (c *Context) EndCapture(s Stream) (*Graph, error) {
	var recorded uintptr
	if err := c.call(cuStreamEndCapture, uintptr(s), uintptr(unsafe.Pointer(&recorded))); err != nil {
		return nil, err
	}
	g := &Graph{c: c}
	err := c.call(cuGraphInstantiateWithFlags, uintptr(unsafe.Pointer(&g.handle)), recorded, 0)
	if e := c.call(cuGraphDestroy, recorded); err == nil && e != nil {
		err = errors.Join(e, g.Free())
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Upload copies a graph to the device, so that its first launch takes no longer than later
// ones.
func (g *Graph) Upload(s Stream) error { return g.c.call(cuGraphUpload, g.handle, uintptr(s)) }

// Launch starts the recorded work, in stream order.
func (g *Graph) Launch(s Stream) error { return g.c.call(cuGraphLaunch, g.handle, uintptr(s)) }

// Free frees the graph.
func (g *Graph) Free() error { return g.c.call(cuGraphExecDestroy, g.handle) }
