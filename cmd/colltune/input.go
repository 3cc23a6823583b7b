package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/colltune/colltune/internal/files"
)

// readFile reads a regular file that a user named, of at most the given number of
// bytes.
func readFile(ctx context.Context, path string, most int64) ([]byte, error) {
	return abandonable(ctx, func() ([]byte, error) {
		text, err := files.Read(path, most)
		if err != nil {
			return nil, usagef("%s: %w", path, err)
		}
		return text, nil
	})
}

// readFileOrInput reads a file, or standard input if path is "-". It also returns
// the name to use in errors.
func readFileOrInput(cmd *cobra.Command, path string, most int64) (name string, text []byte, err error) {
	if path != "-" {
		text, err = readFile(cmd.Context(), path, most)
		return path, text, err
	}
	const input = "standard input"
	text, err = abandonable(cmd.Context(), func() ([]byte, error) { return files.ReadAll(cmd.InOrStdin(), most, 0) })
	if err != nil && cmd.Context().Err() == nil {
		err = usagef("%s: %w", input, err)
	}
	return input, text, err
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// human drops the name of the system call from a file's error.
func withoutOp(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}
