package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/compiler/programs"
	"github.com/colltune/colltune/internal/units"
	"github.com/colltune/colltune/templates"
)

type programFile struct {
	*programs.File
	input bool // from standard input
}

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
// is "-". Errors about its text are those of programs.Parse.
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
	f, err := programs.Parse(path, text)
	if err != nil {
		return nil, usage(err)
	}
	return &programFile{f, input}, nil
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
