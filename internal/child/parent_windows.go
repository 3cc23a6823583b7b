package child

import "os"

// EndWithParent ends this process once its parent has ended. Before that, on a goroutine
// of its own, it calls cleanup; parentEnded returns true.
func EndWithParent(cleanup func(parentEnded func() bool)) {
	go func() {
		awaitEnd(os.Getppid())
		cleanup(func() bool { return true })
		os.Exit(1)
	}()
}

func endWithParent() { EndWithParent(func(func() bool) {}) }
