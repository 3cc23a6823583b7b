package nccl

import (
	"fmt"
	"slices"
	"strings"
)

// Registered is how the library knows a call's buffers: not at all, by ncclCommRegister, or as
// windows on symmetric memory. Each state is as a release asks for it: from 2.29 on, a window is
// an all-gather's receive buffer, a reduce-scatter's send buffer, both of an all-reduce.
type Registered int

// The states, by how much is asked of who calls.
const (
	None Registered = iota
	User
	Window
)

var registered = [...]string{None: "none", User: "user", Window: "window"}

// States lists the states, the least registered first.
func States() []Registered { return []Registered{None, User, Window} }

func (r Registered) String() string { return registered[r] }

// ParseRegistered is the inverse of String. The error lists the states.
func ParseRegistered(name string) (Registered, error) {
	i := slices.Index(registered[:], name)
	if i < 0 {
		return None, fmt.Errorf("registered %q: want one of %s", name, strings.Join(registered[:], ", "))
	}
	return Registered(i), nil
}
