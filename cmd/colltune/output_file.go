package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/atomicfile"
	"github.com/colltune/colltune/internal/safe"
)

// checkOutputPaths checks the folders of --out and --plugin-dir before any work is
// done, so that an hour's search is not lost because one is missing.
func checkOutputPaths(cmd *cobra.Command) error {
	if dirs, err := cmd.Flags().GetStringSlice("plugin-dir"); err == nil && typed(cmd, "plugin-dir") {
		for _, dir := range dirs {
			if !isFolder(dir) {
				return usagef("--plugin-dir %s: no such folder", dir)
			}
		}
	}
	f := cmd.Flags().Lookup("out")
	if f == nil || f.Value.String() == "" {
		return nil
	}
	path := f.Value.String()
	if cmd.Name() == "export" { // export makes its folder
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return usagef("--out %s: not a folder", path)
		}
		return nil
	}
	return checkOutputFile("out", path)
}

// checkOutputFile returns an error if the file that a flag names could not be written.
func checkOutputFile(flag, path string) error {
	if isFolder(path) {
		return usagef("--%s %s: is a folder: want a file", flag, path)
	}
	if dir := filepath.Dir(path); !isFolder(dir) {
		if _, err := os.Stat(dir); err == nil {
			return usagef("--%s %s: %s is not a folder", flag, path, dir)
		}
		return fmt.Errorf("--%s %s: no such folder: %s", flag, path, dir)
	}
	return checkWritable(flag, path)
}

// checkWritable returns an error if no file can be made beside path to replace it.
// It accepts a path that is not a regular file, which is written in place.
func checkWritable(flag, path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".colltune-*")
	if err != nil {
		return fmt.Errorf("--%s %w", flag, withPath(path, err))
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("--%s %w", flag, withPath(path, err))
	}
	return nil
}

// writeOut calls write with standard output, or with the file that --out names.
func writeOut(cmd *cobra.Command, write func(io.Writer) error) error {
	path, _ := cmd.Flags().GetString("out")
	if path == "" {
		return write(cmd.OutOrStdout())
	}
	return writeFile(path, func(w io.Writer) error {
		printed := safe.NewWriter(w)
		return errors.Join(write(printed), printed.Close())
	})
}

// writeFile writes the file that --out names. A new or regular file is written whole
// or not at all, and keeps its permissions; a pipe or a device is written in place.
func writeFile(path string, write func(io.Writer) error) error {
	// Follow links: the file they lead to is written, and the links stay.
	if end, err := filepath.EvalSymlinks(path); err == nil {
		path = end
	}
	info, err := os.Lstat(path)
	exists, perm := err == nil, fs.FileMode(0o644)
	switch {
	case exists && info.IsDir():
		return usagef("--out %s: is a folder: want a file", path)
	case exists && !info.Mode().IsRegular():
		return writeInPlace(path, write)
	case exists:
		perm = info.Mode().Perm()
	}
	f, err := atomicfile.New(path, perm)
	if err != nil {
		return withPath(path, err)
	}
	defer f.Discard()
	if exists {
		if err := f.Chmod(perm); err != nil { // whatever the umask
			return withPath(path, err)
		}
	}
	if err := write(f); err != nil {
		return withPath(path, err)
	}
	return withPath(path, f.Commit())
}

// withPath makes a file's error name path instead of the temporary file.
func withPath(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", path, at.Err)
	}
	var moved *os.LinkError
	if errors.As(err, &moved) {
		return fmt.Errorf("%s: %w", path, moved.Err)
	}
	return err
}

// writeInPlace writes a complete result to a file that cannot be replaced: a pipe, a
// device, or a link to a file that does not exist yet.
func writeInPlace(path string, write func(io.Writer) error) error {
	var whole bytes.Buffer
	if err := write(&whole); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return withoutOp(err)
	}
	_, err = f.Write(whole.Bytes())
	return errors.Join(err, f.Close())
}
