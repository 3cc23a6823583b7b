package nccl_test

import (
	"fmt"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/nccl"
)

// With the setting tests the executor runs on this machine and starts nccl-tests through
// the launcher; without it, the executor itself is launched.
func ExampleRegister() {
	nccl.Register()
	fmt.Println(executor.SettingsOf(nccl.Name).Launches)
	for _, tests := range []string{"", "/opt/nccl-tests/build"} {
		cluster := executor.Configured{Kind: nccl.Name, Launcher: []string{"env"}, Settings: map[string]string{"tests": tests}}
		if err := executor.Configure("cluster", cluster); err != nil {
			fmt.Println(err)
			return
		}
		found, err := executor.Lookup("cluster")
		fmt.Printf("tests=%q remote=%v %v\n", tests, found.Remote, err)
	}
	// Output:
	// tests
	// tests="" remote=true <nil>
	// tests="/opt/nccl-tests/build" remote=false <nil>
}
