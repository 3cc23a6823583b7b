package results

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/colltune/colltune/internal/suggest"
	"github.com/colltune/colltune/internal/tomlfile"
)

// unknownKey says where a campaign.toml has a key that does not exist, and which
// keys do.
func unknownKey(lines tomlfile.Lines, key toml.Key) error {
	table, name := key[:len(key)-1], key[len(key)-1]
	known := keysOf(reflect.TypeFor[planDocument](), table)
	if len(known) == 0 { // the table around it is unknown itself
		return fmt.Errorf("line %d: unknown table %.80q", lines.Of(pathOf(table)), table.String())
	}
	return fmt.Errorf("line %d: unknown key %.80q%s: want one of %s",
		lines.Of(pathOf(key)), key.String(), suggest.DidYouMean(name, known), strings.Join(known, ", "))
}

// keysOf lists the keys of a table of the document; none if it has no such table.
func keysOf(document reflect.Type, table []string) []string {
	if document.Kind() == reflect.Slice {
		document = document.Elem()
	}
	if document.Kind() != reflect.Struct {
		return nil
	}
	var known []string
	for i := range document.NumField() {
		f := document.Field(i)
		switch name := f.Tag.Get("toml"); {
		case len(table) == 0:
			known = append(known, name)
		case table[0] == name:
			return keysOf(f.Type, table[1:])
		}
	}
	return known
}

// pathOf is a key as tomlfile names it; of an array of tables, its first.
func pathOf(key toml.Key) string {
	path := ""
	for i, part := range key {
		if i > 0 {
			path += "."
		}
		path += tomlfile.Key(part)
	}
	return path
}
