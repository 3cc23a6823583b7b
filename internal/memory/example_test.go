package memory_test

import (
	"fmt"

	"github.com/colltune/colltune/internal/memory"
)

// A command over its limit, here 1 byte, is told so once. exit would end a process that
// does not stop in time.
func ExampleGuard() {
	told := make(chan *memory.Exceeded, 1)
	exit := func(*memory.Exceeded) {}
	stop := memory.Guard(1, func(e *memory.Exceeded) { told <- e }, exit)
	defer stop()
	e := <-told
	fmt.Println(e.Used > e.Limit, e.Limit)
	// Output: true 1
}
