package msccl

import (
	"bytes"
	"fmt"
	"slices"
)

// scanner reads the elements of an algorithm file. It accepts the XML that
// occurs in such files, and notes text that the runtimes' own reader would not
// accept.
type scanner struct {
	text  []byte
	at    int
	line  int // of at
	notes []Note
	attrs []attr // of the element read last
}

type attr struct {
	name, value []byte
}

// element is the kind of a tag.
type element uint8

const (
	open   element = iota // <name …>
	single                // <name …/>
	closed                // </name>
	end                   // of the file
)

func (x *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", x.line, fmt.Sprintf(format, args...))
}

// maxNotes limits the recorded notes.
const maxNotes = 20

func (x *scanner) note(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if len(x.notes) < maxNotes && !slices.ContainsFunc(x.notes, func(n Note) bool { return n.Message == message }) {
		x.notes = append(x.notes, Note{x.line, message})
	}
}

// peek returns the next byte, or 0 at the end.
func (x *scanner) peek() byte {
	if x.at < len(x.text) {
		return x.text[x.at]
	}
	return 0
}

func (x *scanner) skip() {
	if x.text[x.at] == '\n' {
		x.line++
	}
	x.at++
}

// space skips white space, and returns its length.
func (x *scanner) space() (n int) {
	for ; x.at < len(x.text); n++ {
		switch x.text[x.at] {
		case ' ', '\n', '\r', '\t':
			x.skip()
		default:
			return n
		}
	}
	return n
}

// skipTo skips everything up to and including the next mark.
func (x *scanner) skipTo(mark, what string) error {
	n := bytes.Index(x.text[x.at:], []byte(mark))
	if n < 0 {
		return x.errorf("unterminated %s", what)
	}
	x.line += bytes.Count(x.text[x.at:x.at+n], []byte("\n"))
	x.at += n + len(mark)
	return nil
}

// next reads an element's tag, skipping comments and declarations.
func (x *scanner) next() (kind element, name []byte, err error) {
	for {
		from := x.at
		x.space()
		if bytes.IndexByte(x.text[from:x.at], '\t') >= 0 {
			x.note("tab between elements")
		}
		rest := x.text[x.at:]
		switch {
		case len(rest) == 0:
			return end, nil, nil
		case rest[0] != '<':
			return end, nil, x.errorf("found %q: want an element", rest[0])
		case bytes.HasPrefix(rest, []byte("<!--")):
			err = x.skipTo("-->", "comment")
		case bytes.HasPrefix(rest, []byte("<?")):
			x.note("prolog <?…?>")
			err = x.skipTo("?>", "prolog")
		case bytes.HasPrefix(rest, []byte("<!")):
			return end, nil, x.errorf("declaration <!…>: want elements and comments only")
		default:
			return x.tag()
		}
		if err != nil {
			return end, nil, err
		}
	}
}

// found describes the next token, for errors.
func (x *scanner) found() string {
	if x.at >= len(x.text) {
		return "file ends"
	}
	return fmt.Sprintf("found %q", x.text[x.at])
}

func (x *scanner) tag() (kind element, name []byte, err error) {
	x.at++
	if x.peek() == '/' {
		x.at++
		kind = closed
	}
	if name = x.name(); len(name) == 0 {
		return end, nil, x.errorf("%s: want an element's name", x.found())
	}
	x.attrs = x.attrs[:0]
	for {
		from := x.at
		gap := x.space()
		switch c := x.peek(); {
		case c == '>':
			if gap > 0 {
				x.note("white space before >")
			}
			x.at++
			return kind, name, nil
		case c == '/' && kind == open:
			x.at++
			if x.peek() != '>' {
				return end, nil, x.errorf("%s after /: want >", x.found())
			}
			x.at++
			return single, name, nil
		case kind == closed:
			return end, nil, x.errorf("closing tag of %s: want >", name)
		case gap == 0:
			return end, nil, x.errorf("%s in element %s: want a space, / or >", x.found(), name)
		case gap > 1 || x.text[from] != ' ':
			x.note("attributes of %s not separated by one space on one line", name)
		}
		if err := x.attribute(name); err != nil {
			return end, nil, err
		}
	}
}

func (x *scanner) name() []byte {
	from := x.at
	for x.at < len(x.text) {
		c := x.text[x.at]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.' || c == ':' {
			x.at++
			continue
		}
		break
	}
	return x.text[from:x.at]
}

func (x *scanner) attribute(element []byte) error {
	name := x.name()
	if len(name) == 0 || x.peek() != '=' {
		return x.errorf("%s in element %s: want an attribute as name=\"value\"", x.found(), element)
	}
	x.at++
	quote := x.peek()
	if quote != '"' && quote != '\'' {
		return x.errorf("attribute %s of %s: want a value in double quotes", name, element)
	}
	if quote == '\'' {
		x.note("value in single quotes")
	}
	x.at++
	from := x.at
	n := bytes.IndexByte(x.text[from:], quote)
	if n < 0 {
		return x.errorf("attribute %s of %s: unterminated value", name, element)
	}
	value := x.text[from : from+n]
	x.line += bytes.Count(value, []byte("\n"))
	x.at = from + n + 1
	if len(name) > maxText || len(value) > maxText {
		x.note("name or value of more than %d characters", maxText)
	}
	for i := range x.attrs {
		if string(x.attrs[i].name) == string(name) {
			return x.errorf("attribute %s of %s given twice", name, element)
		}
	}
	if len(x.attrs) == maxAttributes {
		x.note("element of more than %d attributes", maxAttributes)
	}
	if len(x.attrs) == 64 {
		return x.errorf("element %s of more than 64 attributes", element)
	}
	x.attrs = append(x.attrs, attr{name: name, value: value})
	return nil
}

// value returns an attribute of the current element, or nil.
func (x *scanner) value(name string) []byte {
	for i := range x.attrs {
		if string(x.attrs[i].name) == name {
			return x.attrs[i].value
		}
	}
	return nil
}

// skipElement skips to the end of an unknown element.
func (x *scanner) skipElement(name []byte) error {
	names := [][]byte{name}
	for len(names) > 0 {
		kind, name, err := x.next()
		switch {
		case err != nil:
			return err
		case kind == end:
			return x.errorf("unterminated %s", names[len(names)-1])
		case kind == open:
			if names = append(names, name); len(names) > 100 {
				return x.errorf("elements nested more than 100 deep")
			}
		case kind == closed:
			if string(names[len(names)-1]) != string(name) {
				return x.errorf("closing tag of %s: want that of %s", name, names[len(names)-1])
			}
			names = names[:len(names)-1]
		}
	}
	return nil
}
