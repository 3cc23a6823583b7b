package templates

import "github.com/colltune/colltune/compiler/script"

// Parse reads a family from a template's text, which may load the embedded library and
// nothing else. Errors are at the text's lines and call it name.
func Parse(name string, text []byte) (*Family, error) {
	t, err := script.LoadApart(name, text, script.Options{Library: library()})
	if err != nil {
		return nil, err
	}
	return &Family{Template: t, Source: name}, nil
}
