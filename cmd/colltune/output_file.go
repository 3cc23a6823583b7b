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

// checkOutputPaths checks the folders that flags name before any work is done, so that
// the result of an hour's search is not lost because one is missing.
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
			return usagef("--out %s: is no folder", path)
		}
		return nil
	}
	if isFolder(path) {
		return usagef("--out %s: is a folder: want a file", path)
	}
	if dir := filepath.Dir(path); !isFolder(dir) {
		if _, err := os.Stat(dir); err == nil {
			return usagef("--out %s: %s is no folder", path, dir)
		}
		return fmt.Errorf("--out %s: no such folder: %s", path, dir)
	}
	return checkWritable(path)
}

// checkWritable is an error if no file could be made beside path to take its place. If
// path is no regular file, it is written as it is.
func checkWritable(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".colltune-*")
	if err != nil {
		return fmt.Errorf("--out %w", withPath(path, err))
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("--out %w", withPath(path, err))
	}
	return nil
}

// writeOut writes a result to standard output, or to --out in one piece.
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
// or not at all, and keeps its permissions; a pipe or a device is written to as it is.
func writeFile(path string, write func(io.Writer) error) error {
	// A link is kept, and the file that it leads to is written.
	if end, err := filepath.EvalSymlinks(path); err == nil {
		path = end
	}
	info, err := os.Lstat(path)
	there, perm := err == nil, fs.FileMode(0o644)
	switch {
	case there && info.IsDir():
		return usagef("--out %s: is a folder: want a file", path)
	case there && !info.Mode().IsRegular():
		return writeSpecial(path, write)
	case there:
		perm = info.Mode().Perm()
	}
	f, err := atomicfile.New(path, perm)
	if err != nil {
		return withPath(path, err)
	}
	defer f.Discard()
	if there {
		if err := f.Chmod(perm); err != nil { // whatever the umask
			return withPath(path, err)
		}
	}
	if err := write(f); err != nil {
		return withPath(path, err)
	}
	return withPath(path, f.Commit())
}

// withPath makes an error name the file that was asked for, and not the temporary one
// that was to replace it.
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

// writeSpecial writes a complete result into what can't be replaced because it is no
// regular file: a pipe, a device, or a link to a file that does not exist yet.
func writeSpecial(path string, write func(io.Writer) error) error {
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
