package lazyregexp_test

import (
	"fmt"

	"github.com/colltune/colltune/internal/lazyregexp"
)

var size = lazyregexp.New(`^[0-9]+$`)

func ExampleNew() {
	fmt.Println(size().MatchString("512"), size().MatchString("5 MB"))
	// Output: true false
}
