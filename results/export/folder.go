package export

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/colltune/colltune/internal/atomicfile"
	"github.com/colltune/colltune/internal/filelock"
	"github.com/colltune/colltune/internal/lists"
	"github.com/colltune/colltune/results"
	"github.com/colltune/colltune/results/tuning"
)

// callName names the calls that an export serves: one collective over the plan's ranks,
// in or out of place. It is part of every exported file's name.
//
//	colltune-allreduce-8r-in-01-1K-2K-ring-LL.xml
//	         ^^^^^^^^^^^^^^^
func callName(p results.Plan, placement string) string {
	return fmt.Sprintf("%s-%dr-%s", tuning.FileWord(p.Collective), p.Topology.Ranks, placement)
}

// folder is where an export writes its files, all of them or none. Files of an
// earlier export of the same calls go, because a runtime would still load them. A
// file is an earlier export's if its name is, and its text says that colltune made
// it (isExport); any other is the user's.
type folder struct {
	dir  string
	ours *regexp.Regexp // names of all files that exports of these calls could have
	torn *regexp.Regexp // of files that an export was writing when it was killed
	made map[string][]byte
}

// newFolder describes an export's folder. tail is a pattern for the part of this format's
// file names that comes after the calls.
func newFolder(dir string, p results.Plan, tail string) *folder {
	served := lists.Map(p.Placements(), func(placement string) string { return regexp.QuoteMeta(callName(p, placement)) })
	return folderOf(dir, `colltune-(?:`+strings.Join(served, "|")+`)-`+tail)
}

// folderOf describes the folder of an export whose files' names are pattern's. It is only
// made once all its files are known.
func folderOf(dir, pattern string) *folder {
	return &folder{
		dir: dir, made: map[string][]byte{},
		ours: regexp.MustCompile(`^` + pattern + `$`), torn: regexp.MustCompile(`^\.` + pattern + `[0-9]+$`), // as package atomicfile names them
	}
}

// add keeps a file for write to write.
func (f *folder) add(name string, text []byte) { f.made[name] = text }

// write writes the files, removes those that an earlier export of the same calls
// left and this one did not replace, and notes these and other people's. If it would
// replace one of those, it is a *ForeignFileError, and nothing is written.
func (f *folder) write() (notes []string, err error) {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, fmt.Errorf("export folder: %w", err)
	}
	defer f.lockDir()()
	names := slices.Sorted(maps.Keys(f.made))
	for _, name := range names {
		path := filepath.Join(f.dir, name)
		if info, err := os.Lstat(path); err == nil && !isExport(path, info, false) {
			return nil, &ForeignFileError{path}
		}
	}
	// All are written before the first takes its name, so that a full disk leaves none.
	var written []*atomicfile.File
	defer func() {
		for _, w := range written {
			w.Discard()
		}
	}()
	for _, name := range names {
		w, err := atomicfile.New(filepath.Join(f.dir, name), 0o644)
		if err != nil {
			return nil, err
		}
		written = append(written, w)
		if _, err := w.Write(f.made[name]); err != nil {
			return nil, err
		}
	}
	for _, w := range written {
		if err := w.Commit(); err != nil {
			return nil, err
		}
	}
	return f.tidy()
}

// WriteFiles writes the files of an export into a folder, as Write does: all or none, in the
// place of those of an earlier one, whose names are pattern's. The notes say what else is
// there. The error may be a *ForeignFileError.
func WriteFiles(dir, pattern string, files []tuning.File) (notes []string, err error) {
	f := folderOf(dir, pattern)
	for _, file := range files {
		f.add(file.Name, file.Text)
	}
	return f.write()
}

// Check returns a *ForeignFileError if dir has a file that is named as an export of the plan's
// calls and that no export wrote, whether or not one would replace it. It writes nothing.
func Check(dir string, p results.Plan) error { return newFolder(dir, p, `.*`).check() }

// CheckFiles is Check for names of a pattern.
func CheckFiles(dir, pattern string) error { return folderOf(dir, pattern).check() }

func (f *folder) check() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export folder: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(f.dir, e.Name())
		if info, err := os.Lstat(path); f.ours.MatchString(e.Name()) && err == nil && !isExport(path, info, false) {
			return &ForeignFileError{path}
		}
	}
	return nil
}

// Provenance begins the provenance of every file that WriteFiles writes.
func Provenance(version string) string { return madeBy + version }

// tidy removes what the export did not replace. It notes what it removed, and which files
// it found. Files of other exports belong there and are not mentioned.
func (f *folder) tidy() (notes []string, err error) {
	var alike, others []string
	defer func() { notes = slices.Concat(notes, alike, others) }()
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := e.Name()
		torn := f.torn.MatchString(name)
		if _, made := f.made[name]; made || e.IsDir() {
			continue
		}
		if !torn && !f.ours.MatchString(name) {
			if !strings.HasPrefix(name, "colltune-") {
				others = append(others, name+" is in the folder too, and is not of an export")
			}
			continue
		}
		path := filepath.Join(f.dir, name)
		if info, err := os.Lstat(path); err != nil || !isExport(path, info, torn) {
			alike = append(alike, name+" stays: it is named as an export for the same calls, but colltune did not write it")
			continue
		}
		if err := os.Remove(path); err != nil {
			return notes, err
		}
		notes = append(notes, name+" is removed: an earlier export for the same calls left it")
	}
	return notes, nil
}

// ForeignFileError reports that an export would replace a file that is not colltune's.
type ForeignFileError struct{ Path string }

// Error names the file.
func (e *ForeignFileError) Error() string {
	return fmt.Sprintf("%s: colltune did not write this, and the export would replace it: move it, or give another folder", e.Path)
}

// madeBy begins the provenance of every exported file, and is how it is known again.
const madeBy = "made by colltune "

// isExport reports whether a file is one that an export wrote: regular, and with the
// provenance where all formats have it, at the beginning or in a string near it. One
// that an export was killed over may still be empty.
func isExport(path string, info fs.FileInfo, torn bool) bool {
	if !info.Mode().IsRegular() {
		return false
	}
	if info.Size() == 0 {
		return torn
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	head = head[:n]
	return bytes.HasPrefix(head, []byte("<!-- "+madeBy)) || bytes.HasPrefix(head, []byte("# "+madeBy)) ||
		head[0] == '{' && bytes.Contains(head, []byte(`"`+madeBy))
}

// lockDir waits until no other export writes to the folder, which might take this one's
// unfinished files for those of a killed one. release lets the others go on. On a file
// system without locks it does nothing.
func (f *folder) lockDir() (release func()) {
	dir, err := os.Open(f.dir)
	if err != nil {
		return func() {}
	}
	_ = filelock.Wait(dir)
	return func() { dir.Close() }
}
