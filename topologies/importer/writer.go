package importer

import (
	"fmt"
	"strings"

	"github.com/colltune/colltune/internal/units"
)

// writer collects the lines of a TOML file.
type writer struct {
	strings.Builder
	m *machine
}

func (w *writer) linef(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// table writes a table with its keys aligned, and its source subtable if it has one. Both
// alternate names and values.
func (w *writer) table(header string, own, sources []string) {
	if header != "" {
		w.linef("\n%s", header)
	}
	w.aligned(own)
	if len(sources) > 0 {
		w.linef("\n[%s.source]", strings.Trim(header, "[]"))
		w.aligned(sources)
	}
}

func (w *writer) aligned(pairs []string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, len(pairs[i]))
	}
	for i := 0; i < len(pairs); i += 2 {
		w.linef("%-*s = %s", width, pairs[i], pairs[i+1])
	}
}

// sources turns alternating keys and texts into names and values for table.
func sources(pairs ...string) []string {
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = quote(pairs[i])
	}
	return pairs
}

// quote returns a TOML string; characters that one can't hold are dropped.
func quote(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '"' || r == '\\' || r == 0xfffd {
			return -1
		}
		return r
	}, s)
	if len(clean) > 300 {
		clean = strings.ToValidUTF8(clean[:300], "")
	}
	return `"` + clean + `"`
}

// rate returns a bandwidth as a TOML value: in GB/s if a few digits give it
// exactly, else in bytes a second.
func rate(w units.Bandwidth) string {
	if s := w.String(); len(s) <= 14 && !strings.Contains(s, "e") {
		return quote(s)
	}
	return quote(fmt.Sprintf("%d B/s", int64(w)))
}

// lined returns a TOML list, over several lines if it would be long.
func lined(all []string) string {
	const most = 6
	if len(all) <= most {
		return "[" + strings.Join(all, ", ") + "]"
	}
	var b strings.Builder
	b.WriteString("[\n")
	for len(all) > 0 {
		n := min(most, len(all))
		fmt.Fprintf(&b, "  %s,\n", strings.Join(all[:n], ", "))
		all = all[n:]
	}
	b.WriteString("]")
	return b.String()
}

func numbers(all []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(all), "[]"), " ", ", ")
}
