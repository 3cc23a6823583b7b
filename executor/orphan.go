package executor

import (
	"os"
	"path/filepath"
	"sync/atomic"

	plugin "github.com/hashicorp/go-plugin"
)

// How an executor's process makes sure that it doesn't outlive its host. What the
// host does about it is in process.go.

// dying is set once this process is ending what it has started, before it ends
// itself.
var dying atomic.Bool

// removeSockets removes the folder of this executor's socket, which a killed host
// could not.
func removeSockets() {
	if dir := os.Getenv(plugin.EnvUnixSocketDir); dir != "" {
		_ = removeSocketsIn(filepath.Dir(dir))
	}
}
