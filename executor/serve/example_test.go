package serve_test

import (
	"context"
	"fmt"

	"github.com/colltune/colltune/executor"
	"github.com/colltune/colltune/executor/serve"
)

// constant is an executor that measures nothing.
type constant struct{}

func (constant) Describe(context.Context) (executor.Description, error) {
	return executor.Description{Name: "constant", Version: "1", Protocols: []string{"Simple"}, DTypes: []string{"f32"}, Fingerprint: map[string]string{"version": "1"}}, nil
}

func (constant) Run(_ context.Context, t executor.Trial) (executor.Measurement, error) {
	return executor.Measurement{TimesUS: []float64{float64(t.Bytes)}}, nil
}

// A binary with an executor of its own: in a process started as that executor, Dispatch
// serves it and does not return.
func ExampleDispatch() {
	executor.RegisterBuiltin("constant", func() executor.Executor { return constant{} })
	serve.Dispatch([]string{"colltune", "search"})
	fmt.Println("no executor: go on with main")
	// Output: no executor: go on with main
}
