package templates

import "github.com/colltune/colltune/compiler/script"

// Parse reads a family from a template's text; name is what errors call the
// file. It can load the embedded library and nothing else.
func Parse(name string, text []byte) (*Family, error) {
	t, err := script.Load(name, text, script.Options{Library: library()})
	if err != nil {
		return nil, err
	}
	return &Family{Template: t, Source: name}, nil
}
