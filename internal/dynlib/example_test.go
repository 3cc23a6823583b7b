package dynlib_test

import (
	"errors"
	"fmt"

	"github.com/colltune/colltune/internal/dynlib"
)

// A missing library is an ordinary error, which names what was tried.
func ExampleOpen() {
	_, err := dynlib.Open("libnone.so.4", "libnone.so")
	var missing *dynlib.NotFoundError
	fmt.Println(errors.Is(err, dynlib.ErrNotFound), errors.As(err, &missing))
	fmt.Println(missing.Tried)
	// Output:
	// true true
	// [libnone.so.4 libnone.so]
}
