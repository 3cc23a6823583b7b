package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/colltune/colltune/templates"
)

var updateReadme = flag.Bool("update-readme", false, "write the output and the picture of README.md anew")

// columnsOf are some columns of a table in Markdown, the first that text has.
func columnsOf(t *testing.T, text string, names []string) string {
	t.Helper()
	var at []int
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line[0] != '|' {
			continue
		}
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), "|"), "|")[1:]
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if at == nil {
			for _, name := range names {
				column := slices.Index(cells, name)
				if column < 0 {
					t.Fatalf("the table has no column %q: %s", name, line)
				}
				at = append(at, column)
			}
		}
		for _, column := range at {
			b.WriteString("| " + cells[column] + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// asked is a row of README.md's table of questions, with its command.
var asked = regexp.MustCompile("(?m)^\\|.*`colltune ([^`]*)` \\|$")

// TestReadme runs README.md's commands, in their order, in a folder that has the repository's
// docs, and holds the page and its picture to what they print. Each ends with exit code 0.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if families := fmt.Sprintf("%d families", len(templates.Builtin())); !strings.Contains(page, families) {
		t.Errorf("README.md does not say that there are %s", families)
	}
	dir := t.TempDir()
	for _, folder := range []string{"samples", "tutorial"} {
		if err := os.CopyFS(filepath.Join(dir, "docs", folder), os.DirFS(filepath.Join(root, "docs", folder))); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	now, blocks, outputs := readAloud(t, "README.md", page)
	if blocks < 3 || outputs < 3 {
		t.Errorf("%d blocks of commands and %d of output: too few to be all of them", blocks, outputs)
	}
	holdTo(t, filepath.Join(root, "README.md"), now, *updateReadme, "update-readme")
	var out bytes.Buffer
	if code := Main([]string{"results", "alltoall", "-o", "json"}, strings.NewReader(""), &out, &out); code != exitDone {
		t.Fatalf("no campaign for the picture: %s", &out)
	}
	var results pictureTable
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		t.Fatal(err)
	}
	picture, err := results.picture()
	if err != nil {
		t.Fatal(err)
	}
	holdTo(t, filepath.Join(root, "docs", "alltoall.svg"), picture, *updateReadme, "update-readme")
	questions := asked.FindAllStringSubmatch(page, -1)
	if len(questions) < 5 {
		t.Errorf("%d questions with a command", len(questions))
	}
	for _, q := range questions {
		if err := (example{args: strings.Fields(q[1])}).read(t.Context()); err != nil {
			t.Errorf("colltune %s: %v", q[1], err)
		}
	}
}

// holdTo compares a file with the text that it should have, or writes that.
func holdTo(t *testing.T, file, want string, write bool, how string) {
	t.Helper()
	text, err := os.ReadFile(file)
	switch {
	case err == nil && string(text) == want:
	case write:
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		t.Fatal(err)
	default:
		t.Errorf("%s is not what is printed now (go test -%s writes it anew):\n%s", filepath.Base(file), how, want)
	}
}
