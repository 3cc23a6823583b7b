package conform_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/colltune/colltune/executor/conform"
	"github.com/colltune/colltune/executor/host"
	_ "github.com/colltune/colltune/executor/sim" // registers itself
)

// The simulator is asked what it must refuse. The program's main has called RegisterBuiltin
// and Dispatch.
func ExampleRun() {
	d, checks, err := conform.Run(context.Background(), "sim", host.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Name)
	for _, c := range checks {
		if strings.HasPrefix(c.Name, "refuses a document") {
			fmt.Println(c.OK, c.Name)
		}
	}
	// Output:
	// sim
	// true refuses a document cut short
	// true refuses a document too long
}
