package mscclpp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/colltune/colltune/compiler/collective"
)

// Limits on the plans that Read accepts.
const (
	maxBytes    = 1 << 28
	maxWord     = 1000    // bytes of a name
	maxElements = 1 << 22 // operations, places, channels and so on, together
	maxDepth    = 64
	maxNotes    = 20
)

// IsPlan reports whether a JSON text is an execution plan rather than IR: in a
// plan, the collective is a string.
func IsPlan(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil || key == "schema" {
			return false
		}
		v, err := dec.Token()
		if key == "collective" {
			_, plan := v.(string)
			return plan
		}
		for depth := nesting(v); err == nil && depth > 0; {
			v, err = dec.Token()
			depth += nesting(v)
		}
		if err != nil {
			return false
		}
	}
	return false
}

// nesting returns the change of depth at a token.
func nesting(t json.Token) int {
	switch t {
	case json.Delim('{'), json.Delim('['):
		return 1
	case json.Delim('}'), json.Delim(']'):
		return -1
	}
	return 0
}

// Read reads an execution plan. Keys that the runtime ignores are recorded in
// Plan.Notes. A key of the wrong type, given twice or out of range is an error
// with its line. The plan is not verified.
func Read(from io.Reader) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("a plan of more than %d bytes", maxBytes)
	}
	r := &reader{dec: json.NewDecoder(bytes.NewReader(text)), text: text}
	r.dec.UseNumber()
	p := &Plan{Threads: 1024, Alignment: 16, MaxBytes: math.MaxUint64}
	if err := r.plan(p); err != nil {
		return nil, err
	}
	if _, err := r.dec.Token(); err != io.EOF {
		return nil, r.errorf("more after the plan")
	}
	p.Missing, p.Notes = r.missing, r.notes
	return p, nil
}

// reader reads a plan token by token.
type reader struct {
	dec      *json.Decoder
	text     []byte
	elements int
	notes    []Note
	missing  []string        // keys that are asked for and absent
	strange  map[string]bool // keys noted so far
	older    bool            // the older name of a switch channel's buffer has been noted too
}

func (r *reader) line() int {
	return 1 + bytes.Count(r.text[:min(r.dec.InputOffset(), int64(len(r.text)))], []byte{'\n'})
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", r.line(), fmt.Sprintf(format, args...))
}

// unread notes a key that the runtime ignores, once.
func (r *reader) unread(what, key string) {
	if len(r.strange) == maxNotes || r.strange[key] {
		return
	}
	if r.strange == nil {
		r.strange = map[string]bool{}
	}
	r.strange[key] = true
	r.notes = append(r.notes, Note{Line: r.line(), Message: fmt.Sprintf("%s: key %q, which the runtime does not read", what, key)})
}

func (r *reader) token() (json.Token, error) {
	t, err := r.dec.Token()
	switch {
	case err == io.EOF:
		return nil, r.errorf("ends in the middle")
	case err != nil:
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return nil, r.errorf("%s", strings.TrimPrefix(err.Error(), "invalid character "))
		}
		return nil, r.errorf("%v", err)
	}
	return t, nil
}

// fields lists the keys of an object, and how to read each.
type fields []field

type field struct {
	key  string
	need need
	read func(what string) error
}

// need is what it means that a key is absent.
type need uint8

const (
	maybe need = iota
	must       // an error
	asked      // recorded in reader.missing: the runtime requires it
)

func (r *reader) object(what string, known fields) error {
	if err := r.open(what, '{', "an object"); err != nil {
		return err
	}
	var seen uint64
	var strange []string
	for r.dec.More() {
		t, err := r.token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		i := slices.IndexFunc(known, func(f field) bool { return f.key == key })
		switch {
		case i < 0 && slices.Contains(strange, key), i >= 0 && seen&(1<<i) != 0:
			return r.errorf("%s: key %q twice", what, key)
		case i < 0:
			if len(strange) < maxNotes {
				strange = append(strange, key)
			}
			r.unread(what, key)
			err = r.skip()
		default:
			seen |= 1 << i
			err = known[i].read(what + "." + key)
		}
		if err != nil {
			return err
		}
	}
	if _, err := r.token(); err != nil {
		return err
	}
	for i, f := range known {
		switch {
		case seen&(1<<i) != 0:
		case f.need == must:
			return r.errorf("%s: no key %q", what, f.key)
		case f.need == asked:
			r.missing = append(r.missing, f.key)
		}
	}
	return nil
}

// listOf reads an array, each element by read.
func listOf[T any](r *reader, into *[]T, read func(what string, v *T) error) func(string) error {
	return func(what string) error {
		if err := r.open(what, '[', "an array"); err != nil {
			return err
		}
		for i := 0; r.dec.More(); i++ {
			if r.elements++; r.elements > maxElements {
				return r.errorf("%s: the plan has more than %d elements", what, maxElements)
			}
			var v T
			if err := read(what+"["+strconv.Itoa(i)+"]", &v); err != nil {
				return err
			}
			*into = append(*into, v)
		}
		_, err := r.token()
		return err
	}
}

func (r *reader) open(what string, d json.Delim, want string) error {
	t, err := r.token()
	if err == nil && t != d {
		err = r.errorf("%s: %v where %s is wanted", what, t, want)
	}
	return err
}

// skip reads past a value.
func (r *reader) skip() error {
	for depth := 0; ; {
		t, err := r.token()
		if err != nil {
			return err
		}
		if depth += nesting(t); depth > maxDepth {
			return r.errorf("nested more than %d deep", maxDepth)
		}
		if depth == 0 {
			return nil
		}
	}
}

// scalar reads a value other than an object or an array.
func scalar[T any](r *reader, what, want string, into *T) error {
	t, err := r.token()
	if err != nil {
		return err
	}
	v, ok := t.(T)
	if !ok {
		return r.errorf("%s: %v where %s is wanted", what, t, want)
	}
	*into = v
	return nil
}

func (r *reader) word(into *string) func(string) error {
	return func(what string) error {
		err := scalar(r, what, "a string", into)
		if err == nil && len(*into) > maxWord {
			err = r.errorf("%s has %d bytes: want at most %d", what, len(*into), maxWord)
		}
		return err
	}
}

func (r *reader) flag(into *bool) func(string) error {
	return func(what string) error { return scalar(r, what, "true or false", into) }
}

func (r *reader) number(into *int, least, most int) func(string) error {
	return func(what string) error {
		var n json.Number
		if err := scalar(r, what, "a number", &n); err != nil {
			return err
		}
		v, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil || v < int64(least) || v > int64(most) {
			return r.errorf("%s: %s: want a whole number from %d to %d", what, n, least, most)
		}
		*into = int(v)
		return nil
	}
}

func (r *reader) size(into *uint64) func(string) error {
	return func(what string) error {
		var n json.Number
		if err := scalar(r, what, "a number", &n); err != nil {
			return err
		}
		v, err := strconv.ParseUint(n.String(), 10, 64)
		if err != nil {
			return r.errorf("%s: %s: want a number of bytes", what, n)
		}
		*into = v
		return nil
	}
}

func (r *reader) numbers(into *[]int) func(string) error {
	return listOf(r, into, func(what string, n *int) error { return r.number(n, 0, maxNumber)(what) })
}

// named reads the name of a thing, which is its place among names.
func named[T ~uint8](r *reader, into *T, thing string, names []string, want string) func(string) error {
	return func(what string) error {
		var name string
		if err := scalar(r, what, "a string", &name); err != nil {
			return err
		}
		i := slices.Index(names, name)
		if i < 0 {
			return r.errorf("%s: unknown %s %q: want %s", what, thing, name, want)
		}
		*into = T(i)
		return nil
	}
}

func (r *reader) buffer(into *collective.Buffer) func(string) error {
	return named(r, into, "buffer", letters[:], "i, o or s")
}

func (r *reader) channelType(into *ChannelType) func(string) error {
	return named(r, into, "channel type", channelTypes[:], strings.Join(channelTypes[:], ", "))
}
