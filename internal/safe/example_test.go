package safe_test

import (
	"fmt"

	"github.com/colltune/colltune/internal/safe"
)

// Text of others cannot clear a screen, begin a formula or end a word of a shell.
func Example() {
	fmt.Println(safe.Line("ring\x1b[2J\n2"))
	fmt.Println(safe.CSV("=1+1"))
	fmt.Println(safe.Shell("it's"))
	// Output:
	// ring\u001b[2J 2
	// '=1+1
	// 'it'\''s'
}
