package results

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/colltune/colltune/internal/atomicfile"
)

// outputDir holds what executors printed in trials that had no result.
const outputDir = "output"

// maxOutputs limits how many are kept, because a broken device fails every trial
// in the same words.
const maxOutputs = 100

// KeepOutput writes an executor's output in a trial without a result into the campaign,
// and returns the file's path there; empty if text is empty, or 100 are kept already.
// The error wraps ErrReadOnly, a *MovedError or the system's.
func (c *Campaign) KeepOutput(key string, attempt int, text string) (string, error) {
	if c.lock == nil {
		return "", fmt.Errorf("campaign %s: %w", c.dir, ErrReadOnly)
	}
	if text == "" || !isHash(key) {
		return "", nil
	}
	if kept, err := c.list(outputDir); err == nil && len(kept) >= maxOutputs {
		return "", nil
	}
	if err := c.folder.MkdirAll(outputDir, 0o755); err != nil {
		return "", c.explainMove(fmt.Errorf("campaign %s: %w", c.dir, err))
	}
	name := filepath.Join(outputDir, fmt.Sprintf("%s-%d.txt", key[:16], attempt+1))
	err := atomicfile.WriteIn(c.folder, name, 0o644, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return "", c.explainMove(fmt.Errorf("output of a trial of campaign %s: %w", c.dir, err))
	}
	return filepath.ToSlash(name), nil
}
