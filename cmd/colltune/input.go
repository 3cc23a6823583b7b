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

// readFile reads a regular file that a user named, of at most maxBytes.
func readFile(ctx context.Context, path string, maxBytes int64) ([]byte, error) {
	return abandonable(ctx, func() ([]byte, error) {
		text, err := files.Read(path, maxBytes)
		if err != nil {
			return nil, usagef("%s: %w", path, err)
		}
		return text, nil
	})
}

// readFileOrInput reads a file, or standard input if path is "-". name is what
// errors should call it.
func readFileOrInput(cmd *cobra.Command, path string, maxBytes int64) (name string, text []byte, err error) {
	if path != "-" {
		text, err = readFile(cmd.Context(), path, maxBytes)
		return path, text, err
	}
	const input = "standard input"
	text, err = abandonable(cmd.Context(), func() ([]byte, error) { return files.ReadAll(cmd.InOrStdin(), maxBytes, 0) })
	if err != nil && cmd.Context().Err() == nil {
		err = usagef("%s: %w", input, err)
	}
	return input, text, err
}

// isFolder reports whether path is a folder, or a link to one.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// withoutOp drops the name of the system call from a file's error.
func withoutOp(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return fmt.Errorf("%s: %w", at.Path, at.Err)
	}
	return err
}
