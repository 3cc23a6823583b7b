package safe

import (
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Writer writes text to another writer as Terminal returns it. It may be used from
// several goroutines.
type Writer struct {
	mu     sync.Mutex
	to     io.Writer
	rest   []byte // an unfinished character, or a \r that may end a line
	colour bool   // to is a terminal that shows grey
}

// NewWriter returns a Writer to another writer. Close writes an unfinished last
// character.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Colour says that what is written goes to a terminal that shows grey, and returns the Writer.
func (w *Writer) Colour(is bool) *Writer {
	w.colour = is
	return w
}

// Write writes text as Terminal returns it, and keeps back an incomplete last
// character. The error is that of the writer below.
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

// Close writes what Write kept back, and returns the error of that. It leaves the
// writer below open.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	rest := w.rest
	w.rest = nil
	return w.pass(rest)
}

// Grey writes text as Write does, in grey, if the writer is one of Colour; else as it is.
func (w *Writer) Grey(text string) error {
	if !w.colour {
		_, err := w.Write([]byte(text))
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	text = Terminal(text)
	line, end := strings.TrimSuffix(text, "\n"), ""
	if line != text {
		end = "\n"
	}
	_, err := io.WriteString(w.to, "\x1b[90m"+line+"\x1b[0m"+end)
	return err
}

func (w *Writer) pass(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if !printable(text) {
		text = []byte(Terminal(string(text)))
	}
	_, err := w.to.Write(text)
	return err
}

// printable reports whether a text is printable ASCII, and line ends and tabs.
func printable(text []byte) bool {
	return !slices.ContainsFunc(text, func(b byte) bool { return b > '~' || b < ' ' && b != '\n' && b != '\t' })
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
