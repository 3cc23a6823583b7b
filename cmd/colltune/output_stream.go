package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/colltune/colltune/internal/safe"
)

// stderrWriter is standard error. What is printed through it cannot move the
// cursor; only the progress bar writes to the terminal itself.
type stderrWriter struct {
	*safe.Writer
	terminal io.Writer
}

func newStderr(w io.Writer) *stderrWriter { return &stderrWriter{safe.NewWriter(w), w} }

// stickyWriter is standard output. It keeps the error of the first write that
// failed, since cobra ignores errors from printing help.
type stickyWriter struct {
	to  io.Writer
	err error
}

func (o *stickyWriter) Write(b []byte) (int, error) {
	n, err := o.to.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// maxWord is the number of bytes printed of a word in an error. Paths are long, but
// the "word" that a broken file has in place of a number may be the rest of the file.
const maxWord = 1000

// sanitize makes an error's text fit for a terminal: it escapes control characters,
// and cuts words that are longer than maxWord.
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
