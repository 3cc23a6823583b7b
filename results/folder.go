package results

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
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

// folder is where an export writes: whole files, all of them or none, and none
// left of an earlier export for the same calls, which a runtime would go on to
// load.
type folder struct {
	dir  string
	ours *regexp.Regexp // which files are an export's for these calls
	made map[string][]byte
}

// newFolder is an export's folder, which is made once all is known. tail is a
// pattern of how the names of this format go on after the calls.
func newFolder(dir string, p Plan, tail string) *folder {
	var served []string
	for _, placement := range placements(p) {
		served = append(served, regexp.QuoteMeta(calls(p, placement)))
	}
	// With a dot in front and more behind: what a killed export left half.
	ours := regexp.MustCompile(`^(colltune-(?:` + strings.Join(served, "|") + `)-` + tail + `|\.colltune-(?:` + strings.Join(served, "|") + `)-` + tail + `.*)$`)
	return &folder{dir: dir, ours: ours, made: map[string][]byte{}}
}

// add keeps a file to be written.
func (f *folder) add(name string, text []byte) { f.made[name] = text }

// write writes the files, removes what an earlier export for the same calls left
// and this one did not replace, and lists the files of others.
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

// alone waits for other exports into the folder, which would take what this one
// has half written for what a killed one left, and returns what lets them go on.
// A file system without locks has none.
func (f *folder) alone() (release func()) {
	dir, err := os.Open(f.dir)
	if err != nil {
		return func() {}
	}
	for errors.Is(syscall.Flock(int(dir.Fd()), syscall.LOCK_EX), syscall.EINTR) {
		continue
	}
	return func() { dir.Close() }
}

// swept are a report's notes on what was removed and what was found. Files of
// other exports are at home in the folder.
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
