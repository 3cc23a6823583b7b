package colltune

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	mention = regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b`)
	fenced  = regexp.MustCompile("(?s)```.*?```")
)

// TestPagesLeadToPages follows every link of a page to a file or heading of the
// repository, and looks for every page that a file mentions.
func TestPagesLeadToPages(t *testing.T) {
	links, mentions := 0, 0
	for _, file := range textFiles(t) {
		text := read(t, file)
		for _, page := range mention.FindAllString(text, -1) {
			mentions++
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s mentions %s, which is not there", file, page)
			}
		}
		if filepath.Ext(file) != ".md" {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			path, heading, _ := strings.Cut(m[1], "#")
			to := file
			if path != "" {
				to = filepath.Join(filepath.Dir(file), path)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s links to %s, which is not there", file, m[1])
			} else if heading != "" && !slices.Contains(headings(read(t, to)), heading) {
				t.Errorf("%s links to %s: no such heading in %s", file, m[1], to)
			}
		}
	}
	if links < 20 || mentions < 20 {
		t.Errorf("%d links and %d mentions: too few to be all of them", links, mentions)
	}
}

// textFiles are the files that people write.
func textFiles(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == ".git" || path == "out" || path == "bin" || d.Name() == "testdata"):
			return fs.SkipDir
		case slices.Contains([]string{".md", ".go", ".toml", ".star", ".proto", ".h"}, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// headings are the names by which a page's headings are linked to, as GitHub makes
// them.
func headings(page string) (all []string) {
	for line := range strings.Lines(fenced.ReplaceAllString(page, "")) {
		title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		if !ok || line[0] != '#' {
			continue
		}
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title)))
	}
	return all
}

// TestPagesAreOnAShelf holds docs/README.md and that of measurements to the pages there are.
func TestPagesAreOnAShelf(t *testing.T) {
	listed := map[string]bool{"docs/README.md": true}
	for _, shelf := range []string{"docs/README.md", "docs/measurements/README.md"} {
		for _, m := range link.FindAllStringSubmatch(read(t, shelf), -1) {
			path, _, _ := strings.Cut(m[1], "#")
			listed[filepath.ToSlash(filepath.Join(filepath.Dir(shelf), path))] = true
		}
	}
	for _, file := range textFiles(t) {
		if file = filepath.ToSlash(file); strings.HasPrefix(file, "docs/") && strings.HasSuffix(file, ".md") && !listed[file] {
			t.Errorf("%s is on no shelf: docs/README.md lists the pages", file)
		}
	}
}
