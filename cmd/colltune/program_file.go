package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/internal/lazyregexp"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/templates"
)

// programFile is a program that was read from a file, in any format.
type programFile struct {
	name     string
	input    bool   // from standard input
	format   string // ir, msccl-xml, mscclpp-json
	protocol string // empty if the file does not name one
	program  *ir.Program
	xml      *msccl.File   // of msccl-xml
	plan     *mscclpp.Plan // of mscclpp-json, whose program is nil
}

// errFormat means that a file has no known format.
var errFormat = errors.New("unknown format: want an IR in JSON, MSCCL XML or a MSCCL++ plan")

// errNotProgram means that a file is a document that colltune writes beside programs.
var errNotProgram = errors.New("not a program but another document of colltune")

// maxProgram is the largest program file, in bytes.
const maxProgram = 1 << 30

// memoryPerByte is the most memory that reading and verifying a program takes, in bytes
// for each byte of its file.
const memoryPerByte = 8

// checkProgramMemory refuses a file that takes more memory to verify than the limit.
func checkProgramMemory(cmd *cobra.Command, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // reading it reports the error
	}
	if limit := memoryLimit(cmd); info.Size() <= maxProgram && info.Size() > limit/memoryPerByte {
		return &limitError{fmt.Errorf("%s: %d bytes: verifying it takes about %d times as much memory, and the limit is %v (--memory)", path, info.Size(), memoryPerByte, units.Bytes(limit))}
	}
	return nil
}

// readProgram reads a program from a file of any format, or from standard input if path
// is "-". It returns an error with errFormat or errNotProgram for other files.
func readProgram(cmd *cobra.Command, path string) (*programFile, error) {
	if err := checkProgramMemory(cmd, path); err != nil {
		return nil, err
	}
	input := path == "-"
	path, text, err := readFileOrInput(cmd, path, maxProgram)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, suggestFamily(cmd.Name(), path, err)
	}
	if err != nil {
		return nil, err
	}
	f := &programFile{name: path, input: input}
	if bare := bytes.TrimPrefix(text, []byte("\ufeff")); len(bare) > 0 && bare[0] != '<' {
		text = bare // readers of JSON skip a byte order mark; the runtimes' XML readers do not
	}
	switch first := bytes.TrimLeft(text, " \t\r\n\ufeff"); {
	case len(first) == 0:
		return nil, usagef("%s: empty: want an IR in JSON, MSCCL XML or a MSCCL++ plan", path)
	case first[0] == '{' && mscclpp.IsPlan(first):
		f.format = "mscclpp-json"
		if f.plan, err = mscclpp.Read(bytes.NewReader(text)); err == nil {
			f.protocol = f.plan.Protocol
		}
	case first[0] == '{' && isOtherDocument(first):
		return nil, usagef("%s: %w: %w", path, errNotProgram, errFormat)
	case first[0] == '{':
		f.format = "ir"
		if f.program, err = ir.Decode(bytes.NewReader(text)); err == nil {
			f.protocol = f.program.Protocol
			_, err = collective.New(f.program.Collective)
		}
	case first[0] == '<':
		f.format = "msccl-xml"
		if f.xml, err = msccl.Read(bytes.NewReader(text), msccl.Limits{}); err == nil {
			f.protocol = f.xml.Proto
			f.program, _, err = f.xml.Program(f.xml.Placements()[0])
		}
	default:
		return nil, usagef("%s: %w", path, errFormat)
	}
	if err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return f, nil
}

// suggestFamily adds to err, which says that a file does not exist, how to give the
// command the program of a family, if name is one.
func suggestFamily(command, name string, err error) error {
	f, unknown := templates.FindBuiltin(name, "")
	if unknown != nil {
		return err
	}
	return usagef("%w: %s is a family: colltune compile %s -t TOPOLOGY -c COLLECTIVE | colltune %s -", err, f.Name, f.Name, command)
}

// isOtherDocument reports whether a JSON document has a schema of colltune's other than
// the IR's, such as the ranges beside exported IRs.
func isOtherDocument(text []byte) bool {
	schema := otherSchema().FindSubmatch(text)
	return schema != nil && string(schema[1]) != "ir"
}

// otherSchema matches the beginning of a document of colltune's.
var otherSchema = lazyregexp.New(`^\{\s*"schema"\s*:\s*"colltune\.([a-z-]+)/v[0-9]+"`)
