package executor

import (
	"maps"
	"slices"
	"sync"
)

// Finding is a library, device or program that an executor looked for on this machine.
type Finding struct {
	What   string `json:"what"` // "libnccl", "NVIDIA driver", …
	Found  bool   `json:"found"`
	Detail string `json:"detail"` // where it is and its version; or where it was looked for, and how to get it
}

var examinations = struct {
	sync.Mutex
	by map[string]func() []Finding
}{by: map[string]func() []Finding{}}

// RegisterDoctor registers how a built-in executor finds out whether it could run here.
// look runs in the host's process, so it must be quick and call nothing that could crash.
// Call it beside RegisterBuiltin.
func RegisterDoctor(name string, look func() []Finding) {
	examinations.Lock()
	defer examinations.Unlock()
	examinations.by[name] = look
}

// Examine returns the findings of all registered executors, by name.
func Examine() map[string][]Finding {
	examinations.Lock()
	by := maps.Clone(examinations.by)
	examinations.Unlock()
	all := map[string][]Finding{}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		all[name] = by[name]()
	}
	return all
}
