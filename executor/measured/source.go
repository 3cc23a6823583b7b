package measured

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Source is a file of measurements, and what its user states about all of them.
type Source struct {
	Library string // empty: each row names its own
	Path    string
	stated  []statement
}

type statement struct {
	column *column
	value  string
}

// ParseSource reads NAME=FILE, or FILE alone where the rows name their libraries, with
// conditions stated behind it: mpi=osu.txt,ranks=16,nodes=2.
func ParseSource(text string) (Source, error) {
	parts := strings.Split(text, ",")
	var s Source
	if name, path, named := strings.Cut(parts[0], "="); named {
		s.Library, s.Path = name, path
		if v, err := plain(name); err != nil || v != name || name == "" {
			return s, fmt.Errorf("%.60q: want NAME=FILE with a library's name", text)
		}
	} else {
		s.Path = parts[0]
	}
	if s.Path == "" {
		return s, fmt.Errorf("%.60q: want NAME=FILE", text)
	}
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		if !ok || value == "" {
			return s, fmt.Errorf("%.60q: want CONDITION=VALUE behind the file, such as ranks=16", part)
		}
		c, err := columnOf(key)
		switch {
		case err != nil:
			return s, err
		case c.get == nil || c.name == "bytes" || c.name == "library" || c.name == "runs" || c.name == "source" || strings.HasSuffix(c.name, "_us"):
			return s, fmt.Errorf("%s differs from row to row: want it in the file", c.name)
		}
		var r Row
		if err := c.set(&r, value); err != nil {
			return s, fmt.Errorf("%s=%w", c.name, err)
		}
		s.stated = append(s.stated, statement{c, c.get(&r)})
	}
	return s, nil
}

// WithoutFolder is what ParseSource takes, with the file's name alone.
func WithoutFolder(text string) string {
	file, rest, _ := strings.Cut(text, ",")
	name, path, named := strings.Cut(file, "=")
	if !named {
		name, path = "", file
	}
	s := path[strings.LastIndexAny(path, `/\`)+1:]
	if named {
		s = name + "=" + s
	}
	if rest != "" {
		s += "," + rest
	}
	return s
}

// ranks are those stated; 0: not stated.
func (s *Source) ranks() int {
	var r Row
	for _, st := range s.stated {
		if st.column.name == "ranks" {
			_ = st.column.set(&r, st.value) // ParseSource has set it before
		}
	}
	return r.Ranks
}

// errOther is the error of a row that is another library's.
var errOther = errors.New("another library's")

// Complete adds to a row what is stated. A row that says otherwise is an error.
func (s *Source) Complete(r *Row) error {
	if s.Library != "" {
		if r.Library != "" && r.Library != s.Library {
			return errOther
		}
		r.Library = s.Library
	}
	for _, st := range s.stated {
		has := st.column.get(r)
		switch {
		case has == "":
			if err := st.column.set(r, st.value); err != nil {
				return err
			}
		case has != st.value:
			return fmt.Errorf("%s is %s here, and stated as %s", st.column.name, has, st.value)
		}
	}
	return r.Finish()
}

// SourceOf is a line of a file, as a row's source has it: without its folder, with room for
// the line's number.
func SourceOf(file string, line int) string {
	return fmt.Sprintf("%s:%d", safeWord(path.Base(filepath.ToSlash(file)), maxWord-20), line)
}
