package results

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// outputDir holds what executors printed before trials without a result.
const outputDir = "output"

// maxOutputs bounds how many of them are kept: a device that is broken fails
// every trial in the same words.
const maxOutputs = 100

// KeepOutput writes what an executor printed in a trial that came to no result
// into the campaign, and gives the file's name in it; none where there is
// nothing to keep, or enough is kept.
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
