package filelock_test

import (
	"errors"
	"fmt"
	"os"

	"github.com/colltune/colltune/internal/filelock"
)

// A lock belongs to an open file: opening the file again does not share it, and closing
// the file releases it.
func ExampleTry() {
	one, err := os.CreateTemp("", "lock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(one.Name())
	two, err := os.Open(one.Name())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer two.Close()
	fmt.Println(filelock.Try(one))
	fmt.Println(errors.Is(filelock.Try(two), filelock.ErrHeld))
	one.Close()
	fmt.Println(filelock.Try(two))
	// Output:
	// <nil>
	// true
	// <nil>
}
