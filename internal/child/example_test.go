package child

import (
	"context"
	"fmt"
)

// A child answers frames. main, or here TestMain, calls Dispatch first, and an init
// function has registered the work:
//
//	Register("test-echo", func(c *Conn) error { … })
func ExampleStart() {
	p, err := Start(Options{Name: "test-echo"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Kill()
	if err := p.Send([]byte("any frame")); err != nil {
		fmt.Println(err)
		return
	}
	answer, err := p.Receive(context.Background(), 1<<10)
	fmt.Println(string(answer), err)
	// Output: any frame <nil>
}
