package suggest_test

import (
	"fmt"

	"github.com/colltune/colltune/internal/suggest"
)

func ExampleDidYouMean() {
	known := []string{"ring", "all-pairs", "two-step"}
	fmt.Printf("unknown family rnig%s\n", suggest.DidYouMean("rnig", known))
	fmt.Printf("unknown family tree%s\n", suggest.DidYouMean("tree", known))
	// Output:
	// unknown family rnig (did you mean ring?)
	// unknown family tree
}
