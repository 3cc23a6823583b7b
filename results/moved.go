package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MovedError says that a campaign's folder or its journal is no longer where it was
// opened: somebody renamed, removed or replaced it.
type MovedError struct {
	Dir  string // path at which the campaign was opened
	What string // the moved part: the folder, or its journal
	Now  string // the journal's present folder; empty: removed, or not known
}

// Error gives both paths, as far as they are known.
func (e *MovedError) Error() string {
	where := ""
	if e.Now != "" {
		where = ": what was measured is in " + e.Now
	}
	return fmt.Sprintf("campaign %s: %s was renamed, removed or replaced while it was written%s", e.Dir, e.What, where)
}

// checkNotMoved returns an error if the campaign's path no longer leads to the folder and the
// journal that are held open, or if another process changed the journal's size.
func (c *Campaign) checkNotMoved() error {
	if c.journal.file == nil {
		return nil
	}
	what := "the folder"
	same, err := sameFile(func() (fs.FileInfo, error) { return os.Stat(c.dir) }, func() (fs.FileInfo, error) { return c.folder.Stat(".") })
	if same && err == nil {
		what = journalFile
		same, err = sameFile(func() (fs.FileInfo, error) { return c.folder.Lstat(journalFile) }, c.journal.file.Stat)
	}
	switch {
	case err != nil:
		return fmt.Errorf("campaign %s: %w", c.dir, err)
	case !same:
		return &MovedError{c.dir, what, currentPath(c.journal.file)}
	}
	if err := c.journal.checkSize(); err != nil {
		return fmt.Errorf("campaign %s: %w", c.dir, err)
	}
	return nil
}

// sameFile reports whether two are the same file. A file that is not there is no
// other's.
func sameFile(one, other func() (fs.FileInfo, error)) (bool, error) {
	a, err := one()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	b, err := other()
	return err == nil && os.SameFile(a, b), err
}

// currentPath returns the folder that an open file is in now; empty if the file was
// removed, or the system does not say.
func currentPath(f *os.File) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil || strings.HasSuffix(path, " (deleted)") {
		return ""
	}
	return filepath.Dir(path)
}

// explainMove returns why a campaign can't be written: that it was moved, or else
// err.
func (c *Campaign) explainMove(err error) error {
	var moved *MovedError
	if errors.As(c.checkNotMoved(), &moved) {
		return moved
	}
	return err
}

func (c *Campaign) list(name string) ([]fs.DirEntry, error) { return list(c.folder, name) }

// list lists a folder below an open one.
func list(folder *os.Root, name string) ([]fs.DirEntry, error) {
	d, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.ReadDir(-1)
}
