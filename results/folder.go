package results

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/filelock"
)

// calls names what an export is for: all programs that serve one collective
// over so many ranks, in or out of place. It is part of every exported file's
// name, which says so whose the file is.
//
//	colltune-allreduce-8r-in-01-1K-2K-ring-LL.xml
//	         ^^^^^^^^^^^^^^^
func calls(p Plan, placement string) string {
	return fmt.Sprintf("%s-%dr-%s", fileWord(p.Collective), p.Topology.Ranks, placement)
}

// folder is where an export writes its files, all of them or none. Files of an
// earlier export of the same calls go, because a runtime would still load them.
type folder struct {
	dir  string
	ours *regexp.Regexp // names of all files that exports of these calls could have
	made map[string][]byte
}

// newFolder describes an export's folder, which is only made once all its files
// are known. tail is a pattern for the part of this format's file names that comes
// after the calls.
func newFolder(dir string, p Plan, tail string) *folder {
	var served []string
	for _, placement := range placements(p) {
		served = append(served, regexp.QuoteMeta(calls(p, placement)))
	}
	// The dot and the tail are of files that an export was writing when it was
	// killed.
	ours := regexp.MustCompile(`^(colltune-(?:` + strings.Join(served, "|") + `)-` + tail + `|\.colltune-(?:` + strings.Join(served, "|") + `)-` + tail + `.*)$`)
	return &folder{dir: dir, ours: ours, made: map[string][]byte{}}
}

// add keeps a file for write to write.
func (f *folder) add(name string, text []byte) { f.made[name] = text }

// write writes the files, removes those that an earlier export of the same calls
// left and this one did not replace, and lists other people's.
func (f *folder) write() (removed, others []string, err error) {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, nil, fmt.Errorf("export folder: %w", err)
	}
	defer f.alone()()
	for _, name := range slices.Sorted(maps.Keys(f.made)) {
		if err := writeText(filepath.Join(f.dir, name), f.made[name]); err != nil {
			return nil, nil, err
		}
	}
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		name := e.Name()
		_, made := f.made[name]
		switch {
		case made || e.IsDir():
		case !f.ours.MatchString(name):
			others = append(others, name)
		default:
			if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
				return removed, others, err
			}
			removed = append(removed, name)
		}
	}
	return removed, others, nil
}

// alone waits until no other export writes to the folder, which might take this
// one's unfinished files for those of a killed one. It returns what lets the
// others go on. On a file system without locks it does nothing.
func (f *folder) alone() (release func()) {
	dir, err := os.Open(f.dir)
	if err != nil {
		return func() {}
	}
	_ = filelock.Wait(dir)
	return func() { dir.Close() }
}

// swept reports what was removed, and which files were found there. Files of other
// exports belong there and are not mentioned.
func swept(removed, others []string) (notes []string) {
	for _, name := range removed {
		notes = append(notes, fmt.Sprintf("%s is removed: an earlier export for the same calls left it", name))
	}
	for _, name := range others {
		if !strings.HasPrefix(name, "colltune-") {
			notes = append(notes, fmt.Sprintf("%s is in the folder too, and is not of an export", name))
		}
	}
	return notes
}
