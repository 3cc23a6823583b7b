package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// notFoundError reports that a path holds no campaign. It is an fs.ErrNotExist.
type notFoundError struct{ dir, why string }

func (e *notFoundError) Error() string        { return fmt.Sprintf("no campaign in %s: %s", e.dir, e.why) }
func (e *notFoundError) Is(target error) bool { return target == fs.ErrNotExist }

// maxNamed is how many campaigns below a folder an error names.
const maxNamed = 4

// checkPresent returns an error if dir holds no campaign; it says what is there instead.
func checkPresent(dir string) error {
	_, err := os.Stat(filepath.Join(dir, planFile))
	if err == nil {
		return nil
	}
	info, at := os.Stat(dir)
	switch {
	case errors.Is(at, fs.ErrNotExist):
		return &notFoundError{dir, "no such folder"}
	case at == nil && !info.IsDir():
		return &notFoundError{dir, "it is a file: want the campaign's folder" + enclosingCampaign(dir)}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no campaign in %s: %w", dir, err)
	}
	why := "the folder has no " + planFile
	if below := campaignsIn(dir); len(below) > 0 {
		why += ": want one of " + strings.Join(below, ", ")
	}
	return &notFoundError{dir, why}
}

// enclosingCampaign names the campaign that a file belongs to.
func enclosingCampaign(path string) string {
	dir := filepath.Dir(path)
	if _, err := os.Stat(filepath.Join(dir, planFile)); err != nil {
		return ""
	}
	return ", " + dir
}

// campaignsIn names some of the campaigns that lie in a folder.
func campaignsIn(dir string) (below []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(at, planFile)); err == nil {
			below = append(below, at)
		}
	}
	slices.Sort(below)
	if len(below) > maxNamed {
		below = append(below[:maxNamed], "…")
	}
	return below
}
