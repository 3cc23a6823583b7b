package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/safe"
)

// stderrWriter is standard error, where nothing that is printed can move the cursor. Only
// the progress bar writes to the terminal itself.
type stderrWriter struct {
	*safe.Writer
	terminal io.Writer
}

func newStderr(w io.Writer) *stderrWriter { return &stderrWriter{safe.NewWriter(w), w} }

// maxWord is how many bytes of an error's word are printed. A path may have many;
// what a broken file has in place of a number may be the rest of the file.
const maxWord = 1000

// sanitize is an error's text as a terminal may be given it: what was quoted from a
// file stays short, and does not move the cursor.
func sanitize(text string) string {
	text = safe.Terminal(text)
	var b strings.Builder
	word := 0
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if word += n; unicode.IsSpace(r) {
			word = 0
		}
		if word <= maxWord {
			b.WriteString(text[i : i+n])
		} else {
			if n = strings.IndexFunc(text[i:], unicode.IsSpace); n < 0 {
				n = len(text) - i
			}
			fmt.Fprintf(&b, "… (%d bytes more)", n)
		}
		i += n
	}
	return b.String()
}

// stickyWriter is standard output. It remembers why a write failed.
type stickyWriter struct {
	to     io.Writer
	failed error
}

func (o *stickyWriter) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if o.failed == nil {
		o.failed = err
	}
	return n, err
}
