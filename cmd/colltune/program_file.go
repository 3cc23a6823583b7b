package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/collective"
	"github.com/colltune/colltune/compiler/ir"
	"github.com/colltune/colltune/compiler/msccl"
	"github.com/colltune/colltune/compiler/mscclpp"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/templates"
)

// programFile is a program read from a file, in any format.
type programFile struct {
	name     string
	format   string // ir, msccl-xml, mscclpp-json
	protocol string // as the file says; empty if it does not
	program  *ir.Program
	xml      *msccl.File   // of msccl-xml
	plan     *mscclpp.Plan // of mscclpp-json, which has no program
}

// errFormat says that a file is no program of any kind.
var errFormat = errors.New("unknown format: want an IR in JSON, MSCCL XML or a MSCCL++ plan")

// errNotProgram says that a file is one that colltune writes beside programs.
var errNotProgram = errors.New("a document of colltune's, but no program")

// maxProgram limits the size of a program's file.
const maxProgram = 1 << 30

// memoryPerByte is what reading and verifying a program takes for each byte of its
// file, at most.
const memoryPerByte = 8

// checkProgramMemory refuses a program's file that there is no memory to verify.
func checkProgramMemory(cmd *cobra.Command, path string) error {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // which reading it reports
	}
	if limit := memoryLimit(cmd); info.Size() <= maxProgram && info.Size() > limit/memoryPerByte {
		return &limitError{fmt.Errorf("%s: %d bytes, and about %d times that of memory to verify it: the limit is %v (--memory)", path, info.Size(), memoryPerByte, units.Bytes(limit))}
	}
	return nil
}

// readProgram reads a program's file, whatever wrote it; "-" is standard input.
func readProgram(cmd *cobra.Command, path string) (*programFile, error) {
	if err := checkProgramMemory(cmd, path); err != nil {
		return nil, err
	}
	path, text, err := readFileOrInput(cmd, path, maxProgram)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, suggestFamily(cmd.Name(), path, err)
	}
	if err != nil {
		return nil, err
	}
	f := &programFile{name: path}
	if bare := bytes.TrimPrefix(text, []byte("\ufeff")); len(bare) > 0 && bare[0] != '<' {
		text = bare // readers of JSON skip a byte order mark; the runtimes' XML readers do not
	}
	switch first := bytes.TrimLeft(text, " \t\r\n\ufeff"); {
	case len(first) == 0:
		return nil, usagef("%s: is empty: want an IR in JSON, MSCCL XML or a MSCCL++ plan", path)
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

// suggestFamily explains, if a program's file does not exist but a family has its name,
// how the command is given a family.
func suggestFamily(command, name string, err error) error {
	f, unknown := templates.Find(templates.Builtin(), name, "")
	if unknown != nil {
		return err
	}
	return usagef("%w: %s is a family: colltune compile %s -t TOPOLOGY -c COLLECTIVE | colltune %s -", err, f.Name, f.Name, command)
}

// isOtherDocument tells by its schema whether a JSON document is one of colltune's
// that is not a program, such as the ranges beside exported IRs.
func isOtherDocument(text []byte) bool {
	schema := otherSchema.FindSubmatch(text)
	return schema != nil && string(schema[1]) != "ir"
}

var otherSchema = regexp.MustCompile(`^\{\s*"schema"\s*:\s*"colltune\.([a-z-]+)/v[0-9]+"`)
