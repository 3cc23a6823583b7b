package ending

import (
	"time"

	"github.com/colltune/colltune/internal/child"
)

var (
	// Terminate is how long a process may take that was asked to end (SIGTERM).
	Terminate = time.Second
	// Shutdown is how long an executor may take that was told to end. One at a
	// launcher's far end has longer, because it has another to tell. Both have at
	// least twice as long as their start took.
	Shutdown, RemoteShutdown = 2 * time.Second, 5 * time.Second
	// Silence is how long a far end goes on without hearing from its host, which
	// answers pings whatever else it does. If an ssh connection is cut, neither end
	// may be told.
	Silence = time.Minute
	// Adopt makes a host the parent of what its executors leave behind.
	Adopt = child.AdoptOrphans
)
