package results

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// outputDir holds what executors printed in trials that had no result.
const outputDir = "output"

// maxOutputs limits how many are kept, because a broken device fails every trial
// in the same words.
const maxOutputs = 100

// KeepOutput writes what an executor printed in a trial without a result into the
// campaign, and returns the file's name there; empty if there is nothing to keep,
// or enough is kept.
func (c *Campaign) KeepOutput(key string, attempt int, text string) (string, error) {
	if c.lock == nil {
		return "", fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	if text == "" || !isHash(key) {
		return "", nil
	}
	dir := filepath.Join(c.dir, outputDir)
	if kept, err := os.ReadDir(dir); err == nil && len(kept) >= maxOutputs {
		return "", nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("campaign %s: %w", c.dir, err)
	}
	name := filepath.Join(outputDir, fmt.Sprintf("%s-%d.txt", key[:16], attempt+1))
	err := writeWhole(filepath.Join(c.dir, name), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("output of a trial of campaign %s: %w", c.dir, err)
	}
	return filepath.ToSlash(name), nil
}
