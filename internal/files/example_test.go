package files_test

import (
	"fmt"

	"github.com/colltune/colltune/internal/files"
)

// Errors leave out the path, which callers put before them.
func ExampleRead() {
	_, err := files.Read(".", 256<<10)
	fmt.Println("template .:", err)
	// Output: template .: is a folder: want a file
}
