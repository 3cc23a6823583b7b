package atomicfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/colltune/colltune/internal/atomicfile"
)

// Readers of the path see the old text until Commit, then the new one.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "atomicfile")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "plan.toml")
	show := func() {
		text, err := os.ReadFile(path)
		fmt.Println(string(text), err)
	}
	fmt.Println(atomicfile.Write(path, []byte("old"), 0o644))
	f, err := atomicfile.New(path, 0o644)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Discard()
	if _, err := f.WriteString("new"); err != nil {
		fmt.Println(err)
		return
	}
	show()
	fmt.Println(f.Commit())
	show()
	// Output:
	// <nil>
	// old <nil>
	// <nil>
	// new <nil>
}
