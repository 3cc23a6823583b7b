package executor

import "sync"

var followers = struct {
	sync.Mutex
	by map[string]func() error
}{by: map[string]func() error{}}

// RegisterFollower says what the other processes of a built-in executor do when it
// is launched as several, as mpirun does. Rank 0 serves the host; each of the
// others calls follow, and ends when it returns. An executor without a follower
// can only be launched as a single process. Call it beside RegisterBuiltin.
func RegisterFollower(name string, follow func() error) {
	followers.Lock()
	defer followers.Unlock()
	followers.by[name] = follow
}

func follower(name string) func() error {
	followers.Lock()
	defer followers.Unlock()
	return followers.by[name]
}
