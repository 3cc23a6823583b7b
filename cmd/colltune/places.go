package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// placesThere checks the folders that flags name before any work is done, so that
// the result of an hour's search is not lost because one is missing.
func placesThere(cmd *cobra.Command) error {
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
	return canWrite(path)
}

// canWrite is an error if no file could be made beside path to take its place. If
// path is no regular file, it is written as it is.
func canWrite(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".colltune-*")
	if err != nil {
		return fmt.Errorf("--out %w", named(path, err))
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return fmt.Errorf("--out %w", named(path, err))
	}
	return nil
}
