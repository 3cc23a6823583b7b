package templates

import (
	"fmt"
	"os"
	"path"
)

// Text is the family's program as its author wrote it.
func (f *Family) Text() (string, error) {
	read := os.ReadFile
	name := f.Source
	if f.Source == builtinSource {
		read, name = files.ReadFile, path.Join("families", f.File)
	}
	text, err := read(name)
	if err != nil {
		return "", fmt.Errorf("template %s: %w", f.Source, cause(err))
	}
	return string(text), nil
}
