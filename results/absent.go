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

// absentError says that a place holds no campaign. It is an fs.ErrNotExist.
type absentError struct{ dir, why string }

func (e *absentError) Error() string        { return fmt.Sprintf("no campaign in %s: %s", e.dir, e.why) }
func (e *absentError) Is(target error) bool { return target == fs.ErrNotExist }

// mostNamed is how many campaigns below a folder an error names.
const mostNamed = 4

// present is an error if dir holds no campaign; it says what is there instead.
func present(dir string) error {
	_, err := os.Stat(filepath.Join(dir, planFile))
	if err == nil {
		return nil
	}
	info, at := os.Stat(dir)
	switch {
	case errors.Is(at, fs.ErrNotExist):
		return &absentError{dir, "no such folder"}
	case at == nil && !info.IsDir():
		return &absentError{dir, "it is a file: want the campaign's folder" + ofFile(dir)}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no campaign in %s: %w", dir, err)
	}
	why := "the folder has no " + planFile
	if below := campaignsIn(dir); len(below) > 0 {
		why += ": want one of " + strings.Join(below, ", ")
	}
	return &absentError{dir, why}
}

// ofFile names the campaign that a file belongs to.
func ofFile(path string) string {
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
	if len(below) > mostNamed {
		below = append(below[:mostNamed], "…")
	}
	return below
}
