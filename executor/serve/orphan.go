package serve

import (
	"os"
	"sync/atomic"

	plugin "github.com/hashicorp/go-plugin"

	"github.com/colltune/colltune/executor/host"
	"github.com/colltune/colltune/executor/internal/ending"
	"github.com/colltune/colltune/internal/child"
)

// How an executor's process makes sure that it doesn't outlive its host. What the host
// does about it is in package host, process.go.

// dying is set once this process is ending what it has started, before it ends
// itself.
var dying atomic.Bool

// An executor that is built with this package ends its whole group when its host dies,
// provided that it is told by a signal it can catch.
func init() {
	if startedByHost() {
		child.AdoptOrphans()
		child.TermWithParent()
	}
}

// cleanUp ends what this process started in other groups, before its own group, and
// removes the sockets of a host that is gone.
func cleanUp(hostEnded func() bool) {
	dying.Store(true)
	if hostEnded() {
		host.RemoveSockets()
	}
	child.EndMarked(plugin.EnvUnixSocketDir+"="+os.Getenv(plugin.EnvUnixSocketDir), ending.Terminate)
}
