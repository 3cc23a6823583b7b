package cuda_test

import (
	"fmt"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/cuda"
)

// What users may set in [executor.cuda]. The GPUs are opened by the first Describe.
func ExampleRegister() {
	cuda.Register()
	found, err := executor.Lookup(cuda.Name)
	fmt.Println(found.Name, found.Kind, err)
	fmt.Println(executor.SettingsOf(cuda.Name).Names)
	// Output:
	// cuda built-in <nil>
	// [devices watchdog graph threadblocks compiler]
}
