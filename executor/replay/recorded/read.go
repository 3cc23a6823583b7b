package recorded

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/colltune/colltune/internal/files"
)

// maxFile is how many bytes a file may have; maxFiles how many files a folder.
const (
	maxFile  = 64 << 20
	maxFiles = 4096
)

// Read reads recorded times of CSV files, all into one table. Of a folder it reads the files
// that end in .csv, in the order of their names. An error names the file and, of what is in
// it, line and column.
func Read(paths ...string) (*Table, error) {
	b, sum := builder{byCall: map[Call]*callRows{}}, sha256.New()
	for _, path := range paths {
		inside, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		for _, file := range inside {
			text, err := files.Read(file, maxFile)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			sum.Write(text)
			if err := b.readCSV(file, text); err != nil {
				return nil, err
			}
		}
	}
	t, err := b.table()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(paths, ", "), err)
	}
	t.Hash = hex.EncodeToString(sum.Sum(nil))
	return t, nil
}

// filesOf returns a file, or those of a folder.
func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return []string{path}, nil // files.Read says what is wrong
	}
	entries, err := os.ReadDir(path) // sorted
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasSuffix(name, ".csv") {
			all = append(all, filepath.Join(path, name))
		}
	}
	if len(all) == 0 || len(all) > maxFiles {
		return nil, fmt.Errorf("%s: %d files that end in .csv: want 1 to %d", path, len(all), maxFiles)
	}
	return all, nil
}

func fault(file string, line, column int, err error) error {
	return fmt.Errorf("%s:%d:%d: %w", file, line, column, err)
}
