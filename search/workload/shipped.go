package workload

import (
	"embed"
	"strings"
)

//go:embed steps/*.toml
var shipped embed.FS

// Shipped lists the names of the steps that come with colltune.
func Shipped() (names []string) {
	files, _ := shipped.ReadDir("steps")
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return names
}

// ShippedStep returns the text of a step by name, and whether there is one.
func ShippedStep(name string) (text []byte, ok bool) {
	text, err := shipped.ReadFile("steps/" + name + ".toml")
	return text, err == nil
}
