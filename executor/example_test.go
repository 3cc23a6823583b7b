package executor_test

import (
	"fmt"

	"github.com/colltune/colltune/executor"
)

// An executor that the user's settings name: the simulator, at the other end of a launcher.
func ExampleConfigure() {
	executor.RegisterBuiltin("simulator", func() executor.Executor { return nil })
	far := executor.Configured{Kind: "simulator", Launcher: []string{"env", "-i"}}
	if err := executor.Configure("far", far); err != nil {
		fmt.Println(err)
		return
	}
	found, err := executor.Lookup("far")
	fmt.Println(found.Name, "is", found.Of, "behind", found.Launcher, err)
	// Output: far is simulator behind env -i <nil>
}
