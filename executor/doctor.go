package executor

// Finding is a library, device or program that an executor looked for on this machine.
type Finding struct {
	What   string `json:"what"` // "libnccl", "NVIDIA driver", …
	Found  bool   `json:"found"`
	Detail string `json:"detail"` // where it is and its version; or where it was looked for, and how to get it
}

var examinations registry[func() []Finding]

// RegisterDoctor registers how a built-in executor finds out whether it could run here.
// look runs in the host's process, so it must be quick and call nothing that could crash.
// Call it beside RegisterBuiltin.
func RegisterDoctor(name string, look func() []Finding) { examinations.set(name, look) }

// Examine returns the findings of all registered executors, by name.
func Examine() map[string][]Finding {
	all := map[string][]Finding{}
	for _, name := range examinations.names() {
		look, _ := examinations.get(name)
		all[name] = look()
	}
	return all
}
