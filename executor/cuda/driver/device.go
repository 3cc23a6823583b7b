package driver

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/colltune/colltune/internal/dynlib"
)

// Device is a GPU. A method's error is an *Error.
type Device struct {
	Index  int
	Name   string
	Major  int // compute capability
	Minor  int
	SMs    int
	Memory int64 // bytes
	Cache  int   // of the L2 cache, in bytes

	Cooperative bool // can keep all blocks of a grid resident
	HostMemory  bool // kernels can access memory of the host

	d      *Driver
	handle int32
}

// Attribute is a CUdevice_attribute.
type Attribute int32

// The attributes used, by CUDA's numbers.
const (
	MultiprocessorCount    Attribute = 16
	CanMapHostMemory       Attribute = 19
	L2CacheSize            Attribute = 38
	ComputeCapabilityMajor Attribute = 75
	ComputeCapabilityMinor Attribute = 76
	CooperativeLaunch      Attribute = 95
)

// Devices lists the devices that are visible to the process. An error wraps an *Error.
func (d *Driver) Devices() ([]Device, error) {
	var n int32
	if err := d.check(cuDeviceGetCount, dynlib.Call(d.entries[cuDeviceGetCount], uintptr(unsafe.Pointer(&n)))); err != nil {
		return nil, err
	}
	all := make([]Device, n)
	for i := range all {
		all[i].d, all[i].Index = d, i
		if err := all[i].describe(); err != nil {
			return nil, fmt.Errorf("device %d: %w", i, err)
		}
	}
	return all, nil
}

func (v *Device) describe() error {
	if err := v.d.check(cuDeviceGet, dynlib.Call(v.d.entries[cuDeviceGet], uintptr(unsafe.Pointer(&v.handle)), uintptr(v.Index))); err != nil {
		return err
	}
	name := make([]byte, 256)
	if err := v.d.check(cuDeviceGetName, dynlib.Call(v.d.entries[cuDeviceGetName], uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(v.handle))); err != nil {
		return err
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	v.Name = string(name)
	var memory uint64
	if err := v.d.check(cuDeviceTotalMem, dynlib.Call(v.d.entries[cuDeviceTotalMem], uintptr(unsafe.Pointer(&memory)), uintptr(v.handle))); err != nil {
		return err
	}
	v.Memory = int64(memory)
	for _, a := range []struct {
		attribute Attribute
		number    *int
		flag      *bool
	}{
		{ComputeCapabilityMajor, &v.Major, nil},
		{ComputeCapabilityMinor, &v.Minor, nil},
		{MultiprocessorCount, &v.SMs, nil},
		{L2CacheSize, &v.Cache, nil},
		{CooperativeLaunch, nil, &v.Cooperative},
		{CanMapHostMemory, nil, &v.HostMemory},
	} {
		n, err := v.Attribute(a.attribute)
		if err != nil {
			return err
		}
		if a.number != nil {
			*a.number = n
		} else {
			*a.flag = n != 0
		}
	}
	return nil
}

// Attribute returns the value of a device's attribute.
func (v *Device) Attribute(a Attribute) (int, error) {
	var n int32
	err := v.d.check(cuDeviceGetAttribute, dynlib.Call(v.d.entries[cuDeviceGetAttribute], uintptr(unsafe.Pointer(&n)), uintptr(a), uintptr(v.handle)))
	return int(n), err
}

// Reaches reports whether a device's kernels can access another's memory, and whether with
// native atomic operations, as over NVLink.
func (v *Device) Reaches(other *Device) (memory, atomics bool, err error) {
	var can, native int32
	if err := v.d.check(cuDeviceCanAccessPeer, dynlib.Call(v.d.entries[cuDeviceCanAccessPeer], uintptr(unsafe.Pointer(&can)), uintptr(v.handle), uintptr(other.handle))); err != nil {
		return false, false, err
	}
	if can == 0 {
		return false, false, nil
	}
	const nativeAtomics = 3
	err = v.d.check(cuDeviceGetP2PAttribute, dynlib.Call(v.d.entries[cuDeviceGetP2PAttribute], uintptr(unsafe.Pointer(&native)), nativeAtomics, uintptr(v.handle), uintptr(other.handle)))
	return true, native != 0, err
}
