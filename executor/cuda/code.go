package cuda

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda/driver"
	"github.com/colltune/colltune/executor/cuda/nvrtc"
	"github.com/colltune/colltune/executor/data"
)

// source is the kernels' source for NVRTC: the files of which clang built the embedded
// PTX.
//
//go:embed kernel/*.cu kernel/*.h kernel/device/*.h
var source embed.FS

// code is the kernels' code for devices: the embedded PTX, or NVRTC's output.
type code struct {
	compiler *nvrtc.Library // nil: the driver compiles the embedded PTX
	sm       int            // the first device's, for the fingerprint
	built    map[build][]byte
}

// build identifies an element type's kernels for an architecture.
type build struct {
	dtype data.DType
	sm    int
}

// String returns the code's entry in the fingerprint, so that times of two builds are never
// mixed.
func (c *code) String() string {
	if c.compiler == nil {
		return "PTX " + embeddedHash()
	}
	return fmt.Sprintf("NVRTC %s sm_%d %s", c.compiler.Version, c.sm, sourceHash())
}

// of returns the code of an element type for a device. The error is NVRTC's.
func (c *code) of(d data.DType, v *driver.Device) ([]byte, error) {
	if c.compiler == nil {
		return ptxOf(d)
	}
	key := build{d, 10*v.Major + v.Minor}
	if b := c.built[key]; b != nil {
		return b, nil
	}
	if !c.compiler.Compiles(key.sm) {
		return nil, fmt.Errorf("%s, NVRTC %s, does not compile for sm_%d: it has %v", c.compiler.Name, c.compiler.Version, key.sm, c.compiler.Architectures)
	}
	b, err := c.compiler.Compile(kernelSource(), "--std=c++17", fmt.Sprintf("--gpu-architecture=sm_%d", key.sm), "-DELEMENT="+elementStruct(d))
	if err != nil {
		return nil, fmt.Errorf("kernels of %s: %w", d, err)
	}
	if c.built == nil {
		c.built = map[build][]byte{}
	}
	c.built[key] = b
	return b, nil
}

// kernelSource returns the source under the names that its own includes use.
func kernelSource() nvrtc.Source {
	s := nvrtc.Source{Name: "kernels.cu", Headers: map[string]string{}}
	eachSource(func(name string, text []byte) {
		if name == s.Name {
			s.Text = string(text)
		} else {
			s.Headers[name] = string(text)
		}
	})
	// NVRTC looks for a header by the name in the include, and not in the including
	// header's folder.
	s.Headers["compiler.h"] = s.Headers["device/compiler.h"]
	return s
}

// eachSource calls visit for the files in order, by their names in the folder kernel.
func eachSource(visit func(name string, text []byte)) {
	for _, folder := range []string{"kernel", "kernel/device"} {
		entries, err := source.ReadDir(folder)
		if err != nil {
			panic(err) // can't fail: it is embedded
		}
		for _, e := range entries {
			if file := path.Join(folder, e.Name()); !e.IsDir() {
				text, err := source.ReadFile(file)
				if err != nil {
					panic(err)
				}
				visit(strings.TrimPrefix(file, "kernel/"), text)
			}
		}
	}
}

func sourceHash() string {
	h := sha256.New()
	eachSource(func(name string, text []byte) { fmt.Fprintf(h, "%s %d\n%s", name, len(text), text) })
	return hex.EncodeToString(h.Sum(nil))[:12]
}

func embeddedHash() string {
	h := sha256.New()
	for i := range collective.DTypes() {
		if text, err := ptxOf(data.DType(i)); err == nil {
			h.Write(text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// compile selects the compiler, and loads the kernels of one type on the first device as a
// test.
//
// The driver compiles PTX for its own device, so NVRTC offers nothing that the driver does
// not; either may turn out faster on a given device. But if the driver has no compiler, one
// that is too old, or one that it may not use, NVRTC takes its place.
func (g *gpus) compile(who compiledBy) error {
	first := g.all[0]
	if who != byNVRTC {
		err := first.load(data.F32, &g.code)
		if err == nil || who == byDriver || !driver.CannotCompile(err) {
			return named(first, err)
		}
		if e := g.compileHere(); e != nil {
			err = fmt.Errorf("%w\nand NVRTC can't take the driver's place: %w", err, e)
			if errors.Is(e, nvrtc.ErrMissing) {
				err = executor.Unavailable(err)
			}
			return named(first, err)
		}
		return nil
	}
	if err := g.compileHere(); err != nil {
		if errors.Is(err, nvrtc.ErrMissing) {
			err = executor.Unavailable(err)
		}
		return fmt.Errorf("compiler is %s for executor cuda: %w", byNVRTC, err)
	}
	return nil
}

// compileHere switches to NVRTC.
func (g *gpus) compileHere() error {
	l, err := nvrtc.Open()
	if err != nil {
		return err
	}
	first := g.all[0]
	g.code = code{compiler: l, sm: 10*first.device.Major + first.device.Minor}
	return named(first, first.load(data.F32, &g.code))
}

func named(g *gpu, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("device %d, %s: %w", g.device.Index, g.device.Name, err)
}

// load loads the kernels of a type on a device, unless they are loaded.
func (g *gpu) load(d data.DType, c *code) error {
	if g.modules[d] != nil {
		return nil
	}
	text, err := c.of(d, &g.device)
	if err != nil {
		return err
	}
	k := &kernels{}
	if k.module, err = g.c.Load(text); err != nil {
		return err
	}
	for i, name := range kernelNames {
		if k.by[i], err = k.module.Function(name); err != nil {
			return errors.Join(err, k.module.Unload())
		}
	}
	g.modules[d] = k
	return nil
}
