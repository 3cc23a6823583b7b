package importer

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits on the XML that is read.
const (
	maxElements = 100_000
	maxDepth    = 64
)

// element is an XML element with its attributes. NCCL's files carry no text
// between tags.
type element struct {
	name     string
	line     int
	attrs    map[string]string
	children []*element
}

func (e *element) get(name string) string { return e.attrs[name] }

// fail makes an error that names the element and its line.
func (e *element) fail(format string, args ...any) error {
	return fmt.Errorf("line %d: <%s>: %s", e.line, e.name, fmt.Sprintf(format, args...))
}

// whole returns the integer value of an attribute. ok is false if the attribute is
// absent; a value that is no integer from lo to hi is an error.
func (e *element) whole(name string, lo, hi int) (n int, ok bool, err error) {
	s, ok := e.attrs[name]
	if !ok || strings.TrimSpace(s) == "" {
		return 0, false, nil
	}
	v, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
	if err != nil || v < int64(lo) || v > int64(hi) {
		return 0, false, e.fail("%s=%q: want a whole number from %d to %d", name, cut(s), lo, hi)
	}
	return int(v), true, nil
}

func cut(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}

// parseXML reads a document. It refuses entities and directives: NCCL's files have
// none, and they are how XML makes a reader use unbounded memory.
func parseXML(text []byte) (*element, error) {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Entity = map[string]string{}
	var root *element
	var open []*element
	count := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		line, _ := d.InputPos()
		if err != nil {
			return nil, fmt.Errorf("line %d: not XML: %w", line, err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			count++
			switch {
			case count > maxElements:
				return nil, fmt.Errorf("line %d: more than %d elements", line, maxElements)
			case len(open) >= maxDepth:
				return nil, fmt.Errorf("line %d: elements nested more than %d deep", line, maxDepth)
			case len(open) == 0 && root != nil:
				return nil, fmt.Errorf("line %d: <%s> after the end of <%s>", line, cut(x.Name.Local), cut(root.name))
			}
			e := &element{name: x.Name.Local, line: line, attrs: make(map[string]string, len(x.Attr))}
			for _, a := range x.Attr {
				if _, twice := e.attrs[a.Name.Local]; !twice {
					e.attrs[a.Name.Local] = a.Value
				}
			}
			if len(open) == 0 {
				root = e
			} else {
				parent := open[len(open)-1]
				parent.children = append(parent.children, e)
			}
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
	if root == nil {
		return nil, fmt.Errorf("no element in it")
	}
	return root, nil
}

func (e *element) child(name string) *element {
	for _, c := range e.children {
		if c.name == name {
			return c
		}
	}
	return nil
}
