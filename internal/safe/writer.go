package safe

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// Writer passes on what Terminal makes of what is written to it. It may be used from
// several goroutines.
type Writer struct {
	mu   sync.Mutex
	to   io.Writer
	rest []byte // an unfinished character, or a \r that may end a line
}

// NewWriter makes a Writer. Close it to have an unfinished character written, too.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write passes text on. It keeps back a last character that is not complete.
func (w *Writer) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := text
	if len(w.rest) > 0 {
		all = append(w.rest, text...)
	}
	whole := len(all) - unfinished(all)
	w.rest = append([]byte(nil), all[whole:]...)
	if err := w.pass(all[:whole]); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Close passes on what was kept back. It leaves the writer below open.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.rest
	w.rest = nil
	return w.pass(rest)
}

func (w *Writer) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if bytes.IndexFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' && r != '\t' }) >= 0 {
		text = []byte(Terminal(string(text)))
	}
	_, err := w.to.Write(text)
	return err
}

// unfinished counts the bytes at the end of a text that the next ones may complete.
func unfinished(text []byte) int {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		return 1
	}
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n:]; utf8.RuneStart(b[0]) {
			if utf8.FullRune(b) {
				return 0
			}
			return n
		}
	}
	return 0
}
