package programs

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/internal/lazyregexp"
)

// File is a program that was read from a file, in any form.
type File struct {
	Name     string
	Format   string // ir, msccl-xml, mscclpp-json
	Protocol string // empty if the file does not name one
	Program  *ir.Program
	XML      *msccl.File   // of msccl-xml
	Plan     *mscclpp.Plan // of mscclpp-json, whose Program is nil
}

// ErrForm means that a file has no known form.
var ErrForm = errors.New("unknown format: want an IR in JSON, MSCCL XML or a MSCCL++ plan")

// ErrOther means that a file is a document that colltune writes beside programs.
var ErrOther = errors.New("not a program but another document of colltune")

// Parse reads the text of a file of any form. Errors begin with its name.
func Parse(name string, text []byte) (f *File, err error) {
	f = &File{Name: name}
	if bare := bytes.TrimPrefix(text, []byte("\ufeff")); len(bare) > 0 && bare[0] != '<' {
		text = bare // readers of JSON skip a byte order mark; the runtimes' XML readers do not
	}
	switch first := bytes.TrimLeft(text, " \t\r\n\ufeff"); {
	case len(first) == 0:
		return nil, fmt.Errorf("%s: empty: want an IR in JSON, MSCCL XML or a MSCCL++ plan", name)
	case first[0] == '{' && mscclpp.IsPlan(first):
		f.Format = "mscclpp-json"
		if f.Plan, err = mscclpp.Read(bytes.NewReader(text)); err == nil {
			f.Protocol = f.Plan.Protocol
		}
	case first[0] == '{' && isOtherDocument(first):
		return nil, fmt.Errorf("%s: %w: %w", name, ErrOther, ErrForm)
	case first[0] == '{':
		f.Format = "ir"
		if f.Program, err = ir.Decode(bytes.NewReader(text)); err == nil {
			f.Protocol = f.Program.Protocol
			_, err = collective.New(f.Program.Collective)
		}
	case first[0] == '<':
		f.Format = "msccl-xml"
		if f.XML, err = msccl.Read(bytes.NewReader(text)); err == nil {
			f.Protocol = f.XML.Proto
			f.Program, _, err = f.XML.Program(f.XML.Placements()[0])
		}
	default:
		return nil, fmt.Errorf("%s: %w", name, ErrForm)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// isOtherDocument reports whether a JSON document has a schema of colltune's other than
// the IR's, such as the ranges beside exported IRs.
func isOtherDocument(text []byte) bool {
	schema := otherSchema().FindSubmatch(text)
	return schema != nil && string(schema[1]) != "ir"
}

// otherSchema matches the beginning of a document of colltune's.
var otherSchema = lazyregexp.New(`^\{\s*"schema"\s*:\s*"colltune\.([a-z-]+)/v[0-9]+"`)
