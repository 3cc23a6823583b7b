package executor

import (
	"maps"
	"slices"
	"sync"
)

// Finding is something that a back end looked for on this machine.
type Finding struct {
	What   string `json:"what"` // "libnccl", "NVIDIA driver", …
	Found  bool   `json:"found"`
	Detail string `json:"detail"` // where, which version; or what was looked for, and what it would take
}

var examinations = struct {
	sync.Mutex
	by map[string]func() []Finding
}{by: map[string]func() []Finding{}}

// RegisterDoctor gives a built-in executor's own answer to what it would need:
// look runs in the host's process, starts nothing that can crash it, and is
// quick. Call it beside RegisterBuiltin.
func RegisterDoctor(name string, look func() []Finding) {
	examinations.Lock()
	defer examinations.Unlock()
	examinations.by[name] = look
}

// Examine asks every executor that has an answer what it would need; by name.
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
