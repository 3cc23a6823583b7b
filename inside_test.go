package colltune

import (
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateInside = flag.Bool("update-inside", false, "take from "+insideList+" the files that are gone")

// insideList has the test files that are inside the package that they test, a folder a
// line.
const insideList = "testdata/inside.txt"

// TestNewTestsAreOutside holds new test files to their package's public face, package
// foo_test: what they say then stays true when the inside changes. A file that is moved is
// moved in the list; the list only becomes shorter.
func TestNewTestsAreOutside(t *testing.T) {
	head, list, _ := strings.Cut(read(t, insideList), "\n\n")
	listed := map[string]bool{}
	for line := range strings.Lines(list) {
		folder, names, _ := strings.Cut(line, ": ")
		for _, name := range strings.Fields(names) {
			listed[path.Join(folder, name+"_test.go")] = true
		}
	}
	inside := testsInside(t)
	var left []string
	for _, file := range inside {
		if !listed[file] {
			t.Errorf("%s is a new test inside its package: write it from outside, as package …_test", file)
		} else {
			left = append(left, file)
		}
		delete(listed, file)
	}
	if *updateInside {
		if err := os.WriteFile(insideList, []byte(head+"\n\n"+byFolder(left)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, file := range slices.Sorted(maps.Keys(listed)) {
		t.Errorf("%s is not inside its package any more: go test . -run %s -update-inside", file, t.Name())
	}
}

// byFolder is the list of files, a folder a line.
func byFolder(files []string) string {
	names := map[string][]string{}
	for _, file := range files {
		folder, name := path.Split(file)
		names[path.Clean(folder)] = append(names[path.Clean(folder)], strings.TrimSuffix(name, "_test.go"))
	}
	var b strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintf(&b, "%s: %s\n", folder, strings.Join(names[folder], " "))
	}
	return b.String()
}

// testsInside are the test files that belong to the package of their folder. Commands,
// which nothing can import, and this folder are left out.
func testsInside(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file == ".git" || file == "out" || file == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go") || !strings.ContainsRune(file, filepath.Separator):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		if name := f.Name.Name; name != "main" && !strings.HasSuffix(name, "_test") {
			files = append(files, filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatal("no test is inside its package: this test looks in the wrong place, or can go")
	}
	return files
}
