package safe

import (
	"html"
	"strconv"
	"strings"

	"github.com/colltune/colltune/internal/lists"
)

// CSV is s as the contents of a cell, before the quotes of CSV. Hidden characters,
// newlines included, are escapes. A spreadsheet runs a cell that begins with =, +,
// - or @; such a cell gets a ' in front, as one types it there, unless it is a
// number or that character alone.
func CSV(s string) string {
	s = escaped(s, func(rune) bool { return false })
	runs := []rune(strings.TrimSpace(s))
	if len(runs) > 1 && strings.ContainsRune("=+-@＝＋－＠", runs[0]) && !isNumber(s) {
		return "'" + s
	}
	return s
}

// isNumber reports whether s is a decimal number as programs write it.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.Trim(s, "0123456789.eE+-") == ""
}

// CSVRow is a row with every cell as CSV makes it.
func CSVRow(cells []string) []string {
	return lists.Map(cells, CSV)
}

// markup are the characters that Markdown takes for markup within a line.
var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", `*`, `\*`, `[`, `\[`, `]`, `\]`, `|`, `\|`, `~`, `\~`, `$`, `\$`,
	`<`, `&lt;`, `>`, `&gt;`, `&`, `&amp;`)

// Markdown is s as a part of a line or of a table's cell, shown as Line has it.
func Markdown(s string) string { return markup.Replace(Line(s)) }

// HTML is s as text or an attribute of HTML and XML, shown as Terminal has it.
func HTML(s string) string { return html.EscapeString(Terminal(s)) }
