package results

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/colltune/colltune/compiler/script"
)

// unknownKey says where a campaign.toml has a key that does not exist, and which
// keys do.
func unknownKey(text string, key toml.Key) error {
	table, name := key[:len(key)-1], key[len(key)-1]
	known := keysOf(reflect.TypeFor[planDocument](), table)
	if len(known) == 0 { // the table around it is unknown itself
		return fmt.Errorf("line %d: unknown table %.80q", lineOfKey(text, table, ""), table.String())
	}
	return fmt.Errorf("line %d: unknown key %.80q%s: want one of %s",
		lineOfKey(text, table, name), key.String(), script.DidYouMean(name, known), strings.Join(known, ", "))
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

// lineOfKey is the line on which a key of a table is set, or on which the table
// begins if name is empty; 1 if neither is found. Lines within strings of several
// lines are skipped: they hold the text of whole files.
func lineOfKey(text string, table []string, name string) int {
	within, quote := "", ""
	for i, line := range strings.Split(text, "\n") {
		if quote != "" {
			if strings.Contains(line, quote) {
				quote = ""
			}
			continue
		}
		line = strings.TrimSpace(line)
		before, value, assigned := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			heading, _, _ := strings.Cut(strings.TrimLeft(line, "["), "]")
			within = bareKey(heading)
			if path := strings.Join(append(append([]string{}, table...), name), "."); within == strings.Trim(path, ".") {
				return i + 1
			}
		case assigned:
			if path := strings.Trim(within+"."+bareKey(before), "."); name != "" && path == strings.Join(append(append([]string{}, table...), name), ".") {
				return i + 1
			}
			for _, q := range []string{"'''", `"""`} {
				if strings.Count(value, q) == 1 {
					quote = q
				}
			}
		}
	}
	return 1
}

// bareKey strips a key of quotes and blanks.
func bareKey(key string) string {
	parts := strings.Split(key, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}
