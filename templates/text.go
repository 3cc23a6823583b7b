package templates

import (
	"fmt"
	"path"

	"github.com/colltune/colltune/compiler/script"
	"github.com/colltune/colltune/internal/files"
)

// Text returns the family's source text: the embedded one, or the file's present content.
// The error is that of reading the file.
func (f *Family) Text() (string, error) {
	if f.Source == builtinSource {
		text, err := sources.ReadFile(path.Join("families", f.File))
		return string(text), err
	}
	text, err := files.Read(f.Source, script.MaxSource)
	if err != nil {
		return "", fmt.Errorf("template %s: %w", f.Source, err)
	}
	return string(text), nil
}
